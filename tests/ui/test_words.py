"""The words on the screen, as functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.fake_core import instance, story
from tui.app.core import StopOutcome
from tui.app.notices import Kind, Notice, add_notice, is_under_way, stop_notice, unfinished
from tui.app.words import ASCII, UNICODE, farewell, format_indices, short_gpu_name, state_words
from tui.diagnosis.progress import Progress, Stage
from tui.keeper.states import State


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.sampled_from([ASCII, UNICODE]))
@example("\x1b[31m\r\n\t\x00\x9b\u202e\udc80", ASCII)
def test_text_from_outside_is_printable_and_on_one_line(text: str, glyphs: object) -> None:
    chosen = ASCII if glyphs is ASCII else UNICODE
    shown = chosen.plain(text)
    assert shown.isprintable()
    assert shown.isascii() or not chosen.ascii_only


def test_escapes_are_shown_literally() -> None:
    assert UNICODE.plain("a\x1b[31mb") == r"a\x1b[31mb"
    assert UNICODE.plain("two\nlines\r\n[/x]") == "two lines [/x]"
    assert ASCII.plain("naïve") == r"na\xefve"


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab 1.2漢"), max_size=30), st.integers(0, 30))
def test_what_is_cut_fits_and_cuts_no_number(text: str, width: int) -> None:
    cut = UNICODE.fit(text, width)
    assert cell_len(cut) <= width
    if cut != text and len(cut) > 1:
        kept = cut.removesuffix("…")
        assert text.startswith(kept)
        assert not (kept[-1:].isdigit() and text[len(kept) :][:1].isdigit())


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("512 requests need 294 GiB", 30, "512 requests need 294 GiB"),
        ("512 requests need 294 GiB", 20, "512 requests need…"),
        ("512 requests need 294 GiB", 22, "512 requests need 294…"),
        ("qwen36-512-mtp", 9, "qwen36-…"),
        ("qwen36-mtp", 9, "qwen36-m…"),
        ("word", 1, "…"),
        ("word", 0, ""),
    ],
)
def test_cuts_by_hand(text: str, width: int, cut: str) -> None:
    assert UNICODE.fit(text, width) == cut


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("Tesla T4", "Tesla T4"),
        ("NVIDIA Graphics", "NVIDIA Graphics"),
        ("", ""),
    ],
)
def test_gpu_names_lose_what_all_of_them_have(name: str, short: str) -> None:
    assert short_gpu_name(name) == short


def test_indices_are_joined_in_runs() -> None:
    assert format_indices([]) == ""
    assert format_indices([0]) == "0"
    assert format_indices([1, 0]) == "0,1"
    assert format_indices(range(8)) == "0-7"
    assert format_indices([0, 1, 2, 3, 6]) == "0-3,6"


def test_states_in_words() -> None:
    graphs = Progress(Stage.CUDA_GRAPH_CAPTURE, 3, 23)
    assert state_words(instance("a", State.LOADING, progress=graphs)) == "loading 3/23"
    assert state_words(instance("a", State.LOADING)) == "loading"
    assert state_words(instance("a", State.READY, progress=graphs)) == "ready"
    assert state_words(instance("a", State.FAILED, progress=graphs)) == "FAILED graphs"
    assert state_words(instance("a", State.FAILED)) == "FAILED"


def test_farewell_names_who_goes_on(tmp_path: Path) -> None:
    words = farewell(story(tmp_path).instances, UNICODE)
    assert words == "qwen36-mtp, llama8b go on running; `sgltui` shows and stops them."
    assert farewell(story(tmp_path).instances[:1], UNICODE).startswith("qwen36-mtp goes on running")
    assert farewell([instance("far", State.READY, local=False)], UNICODE) == ""


def test_notices_replace_their_own_and_keep_what_is_under_way() -> None:
    work = Notice("a", Kind.WORKING, "stopping a")
    notices = add_notice((), work)
    for about in "bcdef":
        notices = add_notice(notices, Notice(about, Kind.DONE, about))
    assert [notice.about for notice in notices] == ["a", "e", "f"]
    assert is_under_way(notices, "a")
    assert unfinished(notices) == (work,)
    notices = add_notice(notices, Notice("a", Kind.DONE, "a stopped"))
    assert [notice.text for notice in notices] == ["e", "f", "a stopped"]
    assert not is_under_way(notices, "a")


def test_a_stop_without_readable_gpus() -> None:
    outcome = StopOutcome("a", (), None, None, None, 3.0)
    notice = stop_notice(outcome, UNICODE, kill=True)
    assert notice.kind is Kind.DONE
    assert notice.text == "a killed after 3.0 s: GPU memory can't be read; no process left"
