"""Textual's themes and ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.theme import BUILTIN_THEMES, Theme

from tui.app import colors

THEMES = tuple(Theme(**palette) for palette in colors.PALETTES.values())
DARK, LIGHT, ANSI_DARK, ANSI_LIGHT, *_ = THEMES

ANSI_NAMES = (ANSI_DARK.name, ANSI_LIGHT.name)

THEME_NAMES = tuple(dict.fromkeys([*(colors.without_mono(theme.name) for theme in THEMES), *BUILTIN_THEMES]))
"""What settings may name; those of Textual that are called like ours are ours."""


def starting_theme(environ: Mapping[str, str], wished: Iterable[str | None] = ()) -> str:
    """The theme to start with: `TEXTUAL_THEME`, the first wish that there is, else by the terminal."""
    wishes = (environ.get("TEXTUAL_THEME"), *wished, colors.usual(environ))
    return colors.as_colourful(next(one for one in wishes if one in THEME_NAMES), environ)
