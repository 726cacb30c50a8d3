"""Lines by their numbers, whatever their length, and wherever blocks end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.logs import numbered
from tui.logs.numbered import find_numbered


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=30), st.booleans(), st.data())
def test_the_same_lines_as_splitting_all_of_it(
    shared_folder: Path, lines: list[bytes], ended: bool, data: st.DataObject
) -> None:
    log = shared_folder / "server.log"
    text = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    log.write_bytes(text)
    there = text.removesuffix(b"\n").split(b"\n") if text else []
    wanted = data.draw(st.sets(st.integers(1, 35)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbered, "_BLOCK_BYTES", data.draw(st.integers(1, 40)))
        found = find_numbered(log, wanted)
    assert {number: line for number, (_, line) in found.items()} == {
        number: there[number - 1] for number in sorted(wanted) if number <= len(there)
    }
    for offset, line in found.values():
        assert text[offset:].startswith(line)


def test_a_log_that_isn_t_there_has_no_lines(tmp_path: Path) -> None:
    assert find_numbered(tmp_path / "server.log", [1]) == {}
