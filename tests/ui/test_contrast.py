"""Our themes by the numbers: contrast as WCAG 2.1 defines it (1.4.3 for text, 1.4.11 for signs)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textual.color import Color
from textual.theme import Theme

from tui.app.colors import HOLDER_COLOURS
from tui.app.theme import ANSI_DARK, ANSI_LIGHT, DARK, LIGHT

TEXT, SIGN = 4.5, 3.0
GROUNDS = ("background", "surface", "panel")
SPOKEN = ("foreground", "quiet", "primary", "accent", "success", "warning", "error", "footer-key-foreground")
HOLDERS = [*(f"holder-{number}" for number in range(1, HOLDER_COLOURS + 1)), "foreign", "reserved"]
PARTS = [f"part-{number}" for number in range(HOLDER_COLOURS + 1, HOLDER_COLOURS + 4)]


def luminance(colour: str) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    channels = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21, https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def colours(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


def test_the_measure() -> None:
    # The two ends of the scale, and a grey that WCAG's own material gives as just enough on white.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_text_can_be_read_on_every_ground(theme: Theme) -> None:
    of = colours(theme)
    weak = {
        (role, ground): round(contrast(of[role], of[ground]), 2)
        for role in SPOKEN
        for ground in GROUNDS
        if contrast(of[role], of[ground]) < TEXT
    }
    assert not weak


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_the_line_under_the_cursor_can_be_read(theme: Theme) -> None:
    of = colours(theme)
    for ground in ("block-cursor-background", "block-cursor-blurred-background"):
        for role in ("block-cursor-foreground", "success", "warning", "error"):
            assert contrast(of[role], of[ground]) >= TEXT, (role, ground)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_letters_can_be_read_on_their_segments(theme: Theme) -> None:
    of = colours(theme)
    weak = {role: round(contrast(of["ink"], of[role]), 2) for role in (*HOLDERS, *PARTS)}
    assert not {role: ratio for role, ratio in weak.items() if ratio < SIGN}
    for role in ("warning", "error", "success", "quiet"):  # SIMULATED, read-only, FITS and the like
        assert contrast(of["ink"], of[role]) >= TEXT, role


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_segments_stand_out_from_the_ground_and_from_their_neighbours(theme: Theme) -> None:
    of = colours(theme)
    for role in (*HOLDERS, *PARTS):
        assert contrast(of[role], of["background"]) >= SIGN, role
    assert all(of[one] != of[other] for one, other in pairwise(HOLDERS))


@pytest.mark.parametrize("theme", [ANSI_DARK, ANSI_LIGHT], ids=lambda theme: theme.name)
def test_the_terminals_own_colours_alone(theme: Theme) -> None:
    ours = {**theme.variables, **{role: getattr(theme, role) for role in ("primary", "error", "background")}}
    assert all(colour.startswith("ansi_") for colour in ours.values()), ours
    assert theme.ansi
