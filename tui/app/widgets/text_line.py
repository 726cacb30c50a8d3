"""A line of text that is repainted only when it reads differently."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static


class TextLine(Static):
    """Shows one `Content`, or nothing and takes no room."""

    DEFAULT_CSS = """
    TextLine { height: auto; width: 1fr; }
    TextLine.-empty { display: none; }
    """

    ALLOW_SELECT = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 Textual's own name
        super().__init__(Content(), id=id, classes=classes, markup=False)
        self._shown = Content()
        self.add_class("-empty")

    def show(self, content: Content) -> None:
        """Show this; does nothing when it is already there. A new layout only where the lines differ in number."""
        if content.is_same(self._shown):
            return
        layout = content.plain.count("\n") != self._shown.plain.count("\n") or self._wraps(content)
        self._shown = content
        self.set_class(not content.plain, "-empty")
        self.update(content, layout=layout)

    def _wraps(self, content: Content) -> bool:
        """Either the old or the new text may take more than its own number of lines."""
        width = self.size.width
        return not width or max(_widest(content), _widest(self._shown)) > width


def _widest(content: Content) -> int:
    return max(map(cell_len, content.plain.split("\n")))
