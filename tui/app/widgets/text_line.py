"""Lines of text of which only those cells are repainted that read differently."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from tui.app.widgets.changed_cells import changed_regions


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

    def render(self) -> Content:
        """What is shown."""
        return self._shown

    def show(self, content: Content) -> None:
        """Show this; does nothing when it is already there. A new layout only where the lines differ in number."""
        if content.is_same(self._shown):
            return
        old, self._shown = self._shown, content
        self.set_class(not content.plain, "-empty")
        if content.plain.count("\n") != old.plain.count("\n") or self._wraps(old, content):
            self.refresh(layout=True)
        elif self.styles.content_align == ("left", "top"):
            self.refresh(*changed_regions(old, content))
        else:
            self.refresh()

    def _wraps(self, old: Content, new: Content) -> bool:
        """Either the old or the new text may take more than its own number of lines."""
        width = self.size.width
        return not width or max(_widest(new), _widest(old)) > width


def _widest(content: Content) -> int:
    return max(map(cell_len, content.plain.split("\n")))
