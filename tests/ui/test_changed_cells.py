"""What of a text is painted again when it reads differently."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Region

from tui.app.widgets.changed_cells import changed_regions

PIECES = st.lists(st.tuples(st.text("ab ·█漢", max_size=6), st.sampled_from(["", "bold", "$quiet"])), max_size=6)


def test_only_what_differs() -> None:
    old = Content("name  AAAA····   73.2 / 95.6 GiB    97 %")
    new = Content("name  AAAA····   73.2 / 95.6 GiB    98 %")
    assert changed_regions(old, new) == [Region(37, 0, 1, 1)]
    two = Content("name  AAAAA···   73.2 / 95.6 GiB    98 %")
    assert changed_regions(old, two) == [Region(10, 0, 1, 1), Region(37, 0, 1, 1)]
    assert changed_regions(Content("one\ntwo\n"), Content("one\ntoo\n")) == [Region(1, 1, 1, 1)]


def test_another_style_is_another_cell() -> None:
    old = Content.assemble("a ", ("bc", "bold"), " d")
    assert changed_regions(old, Content.assemble("a ", ("bc", "$error"), " d")) == [Region(2, 0, 2, 1)]


def test_what_is_wider_or_longer_is_painted_to_its_end() -> None:
    assert changed_regions(Content("ab漢cd"), Content("ab字cd")) == [Region(2, 0, 4, 1)]
    assert changed_regions(Content("abcd"), Content("ab")) == [Region(2, 0, 2, 1)]
    assert changed_regions(Content(""), Content("ab")) == [Region(0, 0, 2, 1)]


@given(PIECES, PIECES)
def test_every_cell_that_differs_is_in_a_region(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    old, new = Content.assemble(*before), Content.assemble(*after)
    regions = changed_regions(old, new)
    covered = {x for region in regions for x in range(region.x, region.right)}
    shown, then = _by_cell(old), _by_cell(new)
    assert {x for x in shown.keys() | then.keys() if shown.get(x) != then.get(x)} <= covered


def _by_cell(content: Content) -> dict[int, tuple[str, tuple[object, ...]]]:
    cells: dict[int, tuple[str, tuple[object, ...]]] = {}
    x = 0
    for place, character in enumerate(content.plain):
        styles = tuple(span.style for span in content.spans if span.start <= place < span.end)
        for cell in range(cell_len(character)):
            cells[x + cell] = character, styles
        x += cell_len(character)
    return cells
