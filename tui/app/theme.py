"""Two calm themes, and what they become without colour.

Their colours are exact in the 256-colour palette, so that nothing shifts in a plain terminal.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from textual.theme import Theme

HOLDER_COLOURS = 6

# Blue, ochre, green, pink, teal, violet: neighbours differ in lightness or hue for colour-blind eyes too,
# and the letter in the cell says it without colour.
_HOLDERS_DARK = ("#87afd7", "#d7af5f", "#87af87", "#d787af", "#5fafaf", "#af87d7")
_HOLDERS_LIGHT = ("#5f87af", "#af8700", "#5f875f", "#af5f87", "#008787", "#875faf")
# A budget has more parts than a machine has servers: clay, pale teal, khaki go on from there.
_PARTS_DARK = ("#af875f", "#87d7d7", "#afaf87")
_PARTS_LIGHT = ("#875f5f", "#5f8787", "#87875f")


def _bar_variables(
    holders: tuple[str, ...], parts: tuple[str, ...], foreign: str, reserved: str, free: str
) -> dict[str, str]:
    numbered = {f"holder-{number}": colour for number, colour in enumerate(holders, start=1)}
    further = {f"part-{number}": colour for number, colour in enumerate(parts, start=HOLDER_COLOURS + 1)}
    return {**numbered, **further, "foreign": foreign, "reserved": reserved, "free": free}


def _scrollbar_variables(thumb: str, active: str, track: str) -> dict[str, str]:
    thumbs = {"scrollbar": thumb, "scrollbar-hover": active, "scrollbar-active": active}
    tracks = dict.fromkeys(("", "-hover", "-active"), track)
    return {**thumbs, **{f"scrollbar-background{state}": colour for state, colour in tracks.items()}}


DARK = Theme(
    name="sgltui-dark",
    dark=True,
    primary="#87afd7",
    secondary="#5f87af",
    accent="#d7af87",
    success="#87af87",
    warning="#d7af5f",
    error="#d75f5f",
    foreground="#d0d0d0",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    variables={
        **_bar_variables(_HOLDERS_DARK, _PARTS_DARK, foreign="#9e9e9e", reserved="#767676", free="#444444"),
        **_scrollbar_variables(thumb="#444444", active="#767676", track="#1c1c1c"),
        "quiet": "#8a8a8a",
        "border": "#87afd7",
        "border-blurred": "#444444",
        "block-cursor-foreground": "#eeeeee",
        "block-cursor-background": "#303030",
        "block-cursor-blurred-background": "#262626",
        "block-hover-background": "#1c1c1c",
        "footer-key-foreground": "#87afd7",
        "input-selection-background": "#5f87af",
    },
)

LIGHT = Theme(
    name="sgltui-light",
    dark=False,
    primary="#005f87",
    secondary="#5f87af",
    accent="#875f00",
    success="#005f00",
    warning="#875f00",
    error="#af0000",
    foreground="#303030",
    background="#eeeeee",
    surface="#e4e4e4",
    panel="#dadada",
    variables={
        **_bar_variables(_HOLDERS_LIGHT, _PARTS_LIGHT, foreign="#767676", reserved="#9e9e9e", free="#b2b2b2"),
        **_scrollbar_variables(thumb="#b2b2b2", active="#8a8a8a", track="#e4e4e4"),
        "quiet": "#626262",
        "border": "#005f87",
        "border-blurred": "#b2b2b2",
        "block-cursor-foreground": "#121212",
        "block-cursor-background": "#d0d0d0",
        "block-cursor-blurred-background": "#dadada",
        "block-hover-background": "#e4e4e4",
        "footer-key-foreground": "#005f87",
        "input-selection-background": "#afd7ff",
    },
)


def _without_colour(theme: Theme, strong: str, plain: str) -> Theme:
    """For NO_COLOR: what warns is what stands out most, where its hue would have made it a darker grey."""
    return replace(
        theme,
        name=f"{theme.name}-mono",
        primary=strong,
        error=strong,
        warning=strong,
        success=plain,
        accent=plain,
    )


THEMES = (
    DARK,
    LIGHT,
    _without_colour(DARK, strong="#ffffff", plain="#d0d0d0"),
    _without_colour(LIGHT, strong="#000000", plain="#303030"),
)


def own_variables() -> dict[str, str]:
    """The colours that only this UI knows, for themes that don't set them."""
    own = ("holder-", "part-", "foreign", "reserved", "free", "quiet")
    return {name: colour for name, colour in DARK.variables.items() if name.startswith(own)}


def default_theme(environ: Mapping[str, str], known: Container[str]) -> str:
    """The theme to start with: `TEXTUAL_THEME` where it names one, else by the terminal's own background.

    Many terminals tell it in `COLORFGBG` (`15;0`: white on black); palette entries 7 and 15 are light.
    """
    chosen = environ.get("TEXTUAL_THEME")
    if chosen is not None and chosen in known:
        return chosen
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    name = LIGHT.name if background in ("7", "15") else DARK.name
    return f"{name}-mono" if "NO_COLOR" in environ else name
