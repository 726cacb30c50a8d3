"""A box over the dashboard, which is seen behind it and goes on."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.css.styles import RulesMap
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from tui.app.composing import SparingCompositor
from tui.app.glyphs import Glyphs


class Dialog(ModalScreen[ScreenResultType]):
    """What a person has to answer, or to close, before the dashboard has the keys again."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii_only else None)
        self._compositor = SparingCompositor()
        self._glyphs = glyphs

    def render(self) -> RenderableType:
        """What is behind it, in its own way: each frame draws that again."""
        behind = super().render()
        return cast("RenderableType", _Behind(behind)) if isinstance(behind, BackgroundScreen) else behind


class _Behind(Visual):
    """The rows of another screen in a tint, as Textual's own renderable shows it in three times the time."""

    def __init__(self, behind: BackgroundScreen) -> None:
        self._behind = behind

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """As many rows as that screen has."""
        del width, height, style, options
        rows = self._behind.screen._compositor.render_strips()  # noqa: SLF001 - as Textual's own renderable does it
        return [_tinted(row, self._behind.color) for row in rows]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All there is."""
        del rules
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """That screen's."""
        del rules, width
        return self._behind.screen.size.height


def _tinted(row: Strip, color: Color) -> Strip:
    segments = (
        segment if segment.control else Segment(segment.text, _tint(segment.style or RichStyle.null(), color))
        for segment in row
    )
    return Strip(segments, row.cell_length)


@lru_cache(maxsize=1024)
def _tint(style: RichStyle, color: Color) -> RichStyle:
    """A style under a colour that lets it through; what is behind answers no mouse."""
    plain = style.clear_meta_and_links()
    if color.a == 0:
        return plain
    over, under = (
        None if one is None else (Color.from_rich_color(one) + color).rich_color for one in (plain.color, plain.bgcolor)
    )
    return plain + RichStyle.from_color(over, under)
