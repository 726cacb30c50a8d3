"""The colours of our themes: two calm ones, what they become without colour, and two in the terminal's own colours.

Those of the first two are exact in the 256-colour palette, so that nothing shifts in a plain terminal. Apart from
Textual's themes, which take most of Textual with them: the first frame is painted before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.design import ColorSystem

Palette = dict[str, Any]
"""What `textual.theme.Theme` is made with."""

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


DARK: Palette = {
    "name": "sgltui-dark",
    "dark": True,
    "primary": "#87afd7",
    "secondary": "#5f87af",
    "accent": "#d7af87",
    "success": "#87af87",
    "warning": "#d7af5f",
    "error": "#ff5f5f",
    "foreground": "#d0d0d0",
    "background": "#121212",
    "surface": "#1c1c1c",
    "panel": "#262626",
    "variables": {
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
}

LIGHT: Palette = {
    "name": "sgltui-light",
    "dark": False,
    "primary": "#005f87",
    "secondary": "#5f87af",
    "accent": "#875f00",
    "success": "#005f00",
    "warning": "#875f00",
    "error": "#af0000",
    "foreground": "#303030",
    "background": "#ffffff",
    "surface": "#eeeeee",
    "panel": "#e4e4e4",
    "variables": {
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
}


def _of_the_terminal(
    name: str, *, dark: bool, quiet: str, cursor: str, strong: str, warning: str, accent: str
) -> Palette:
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
    return {
        "name": name,
        "ansi": True,
        "dark": dark,
        "primary": strong,
        "secondary": "ansi_cyan",
        "accent": accent,
        "success": "ansi_green",
        "warning": warning,
        "error": "ansi_red",
        "foreground": "ansi_default",
        "background": "ansi_default",
        "surface": "ansi_default",
        "panel": "ansi_default",
        "boost": "ansi_default",
        "variables": {
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
    }


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


def _without_colour(palette: Palette, strong: str, plain: str) -> Palette:
    """For NO_COLOR: what warns is what stands out most, where its hue would have made it a darker grey."""
    return dict(
        palette,
        name=palette["name"] + _MONO,
        primary=strong,
        error=strong,
        warning=strong,
        success=plain,
        accent=plain,
        variables={**palette["variables"], "footer-key-foreground": strong},
    )


PALETTES = {
    palette["name"]: palette
    for palette in (
        DARK,
        LIGHT,
        ANSI_DARK,
        ANSI_LIGHT,
        _without_colour(DARK, strong="#ffffff", plain="#d0d0d0"),
        _without_colour(LIGHT, strong="#000000", plain="#303030"),
    )
}
"""By name."""

_COLOURLESS = {
    **{palette["name"]: DARK["name"] + _MONO for palette in (DARK, ANSI_DARK)},
    **{palette["name"]: LIGHT["name"] + _MONO for palette in (LIGHT, ANSI_LIGHT)},
}


def own_variables() -> dict[str, str]:
    """The colours that only this UI knows, for themes that don't set them."""
    own = ("holder-", "part-", "foreign", "reserved", "free", "quiet", "ink")
    return {name: colour for name, colour in DARK["variables"].items() if name.startswith(own)}


def variables_of(palette: Palette) -> dict[str, str]:
    """What the style sheets call its colours, as Textual works them out; for what is painted before it does."""
    system = ColorSystem(**{name: value for name, value in palette.items() if name != "name"})
    return {**own_variables(), **system.generate(), **palette["variables"]}


def usual(environ: Mapping[str, str]) -> str:
    """The theme where nobody wishes for another one: by the terminal's own background.

    Many terminals tell it in `COLORFGBG` (`15;0`: white on black); palette entries 7 and 15 are light.
    """
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return str((LIGHT if background in ("7", "15") else DARK)["name"])


def as_colourful(name: str, environ: Mapping[str, str]) -> str:
    """The theme itself, or what it becomes for NO_COLOR: ours have a variant of their own."""
    return _COLOURLESS.get(name, name) if "NO_COLOR" in environ else name


def without_mono(name: str) -> str:
    """The theme that a person chose, where NO_COLOR took its colours."""
    return name.removesuffix(_MONO)
