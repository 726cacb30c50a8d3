"""Two calm themes, what they become without colour, and two in the terminal's own colours.

The colours of the first two are exact in the 256-colour palette, so that nothing shifts in a plain terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

HOLDER_COLOURS = 6
_MONO = "-mono"

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
    error="#ff5f5f",
    foreground="#d0d0d0",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    variables={
        **_bar_variables(_HOLDERS_DARK, _PARTS_DARK, foreign="#9e9e9e", reserved="#767676", free="#444444"),
        **_scrollbar_variables(thumb="#444444", active="#767676", track="#1c1c1c"),
        "quiet": "#949494",
        "ink": "#121212",
        "border": "#87afd7",
        "border-blurred": "#444444",
        "block-cursor-foreground": "#eeeeee",
        "block-cursor-background": "#262626",
        "block-cursor-blurred-background": "#1c1c1c",
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
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    variables={
        **_bar_variables(_HOLDERS_LIGHT, _PARTS_LIGHT, foreign="#767676", reserved="#8a8a8a", free="#b2b2b2"),
        **_scrollbar_variables(thumb="#b2b2b2", active="#8a8a8a", track="#eeeeee"),
        "quiet": "#585858",
        "ink": "#ffffff",
        "border": "#005f87",
        "border-blurred": "#b2b2b2",
        "block-cursor-foreground": "#121212",
        "block-cursor-background": "#e4e4e4",
        "block-cursor-blurred-background": "#eeeeee",
        "block-hover-background": "#eeeeee",
        "footer-key-foreground": "#005f87",
        "input-selection-background": "#afd7ff",
    },
)


def _of_the_terminal(
    name: str, *, dark: bool, quiet: str, cursor: str, strong: str, warning: str, accent: str
) -> Theme:
    """The sixteen colours that a person gave the terminal, and its own foreground and background."""
    holders = (
        "ansi_bright_blue",
        "ansi_yellow",
        "ansi_green",
        "ansi_bright_magenta",
        "ansi_cyan",
        "ansi_bright_yellow",
    )
    parts = ("ansi_bright_green", "ansi_bright_cyan", "ansi_magenta")
    return Theme(
        name=name,
        ansi=True,
        dark=dark,
        primary=strong,
        secondary="ansi_cyan",
        accent=accent,
        success="ansi_green",
        warning=warning,
        error="ansi_red",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables={
            **_bar_variables(holders, parts, foreign="ansi_white", reserved="ansi_bright_black", free=quiet),
            **_scrollbar_variables(thumb=quiet, active=strong, track="ansi_default"),
            "surface": "ansi_default",
            "panel": "ansi_default",
            "quiet": quiet,
            "ink": "ansi_black",
            "ansi-background": "ansi_black" if dark else "ansi_white",  # Textual's own style sheet wants these
            "ansi-foreground": "ansi_white" if dark else "ansi_black",
            "border": strong,
            "border-blurred": quiet,
            "block-cursor-foreground": "ansi_default",
            "block-cursor-background": cursor,
            "block-cursor-blurred-background": "ansi_default",
            "block-hover-background": "ansi_default",
            "footer-key-foreground": strong,
            "input-selection-background": "ansi_cyan",
        },
    )


# Quiet isn't bright black where it is dark: some palettes make that their background.
ANSI_DARK = _of_the_terminal(
    "ansi-dark",
    dark=True,
    quiet="ansi_white",
    cursor="ansi_black",
    strong="ansi_bright_blue",
    warning="ansi_yellow",
    accent="ansi_bright_yellow",
)
ANSI_LIGHT = _of_the_terminal(
    "ansi-light",
    dark=False,
    quiet="ansi_bright_black",
    cursor="ansi_white",
    strong="ansi_blue",
    warning="ansi_magenta",
    accent="ansi_magenta",
)


def _without_colour(theme: Theme, strong: str, plain: str) -> Theme:
    """For NO_COLOR: what warns is what stands out most, where its hue would have made it a darker grey."""
    return replace(
        theme,
        name=theme.name + _MONO,
        primary=strong,
        error=strong,
        warning=strong,
        success=plain,
        accent=plain,
        variables={**theme.variables, "footer-key-foreground": strong},
    )


THEMES = (
    DARK,
    LIGHT,
    ANSI_DARK,
    ANSI_LIGHT,
    _without_colour(DARK, strong="#ffffff", plain="#d0d0d0"),
    _without_colour(LIGHT, strong="#000000", plain="#303030"),
)

ANSI_NAMES = (ANSI_DARK.name, ANSI_LIGHT.name)
_COLOURLESS = {
    **{theme.name: DARK.name + _MONO for theme in (DARK, ANSI_DARK)},
    **{theme.name: LIGHT.name + _MONO for theme in (LIGHT, ANSI_LIGHT)},
}

THEME_NAMES = tuple(dict.fromkeys([*(theme.name for theme in THEMES if _MONO not in theme.name), *BUILTIN_THEMES]))
"""What settings may name; those of Textual that are called like ours are ours."""


def own_variables() -> dict[str, str]:
    """The colours that only this UI knows, for themes that don't set them."""
    own = ("holder-", "part-", "foreign", "reserved", "free", "quiet", "ink")
    return {name: colour for name, colour in DARK.variables.items() if name.startswith(own)}


def starting_theme(environ: Mapping[str, str], wished: Iterable[str | None] = ()) -> str:
    """The theme to start with: `TEXTUAL_THEME`, the first wish that there is, else by the terminal's own background.

    Many terminals tell it in `COLORFGBG` (`15;0`: white on black); palette entries 7 and 15 are light. For NO_COLOR
    ours have a variant of their own.
    """
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    usual = LIGHT.name if background in ("7", "15") else DARK.name
    name = next(one for one in (environ.get("TEXTUAL_THEME"), *wished, usual) if one in THEME_NAMES)
    return _COLOURLESS.get(name, name) if "NO_COLOR" in environ else name


def without_mono(name: str) -> str:
    """The theme that a person chose, where NO_COLOR took its colours."""
    return name.removesuffix(_MONO)
