"""The words on the screen, as functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from tests.support.fake_core import instance, story
from tests.support.logs import FIXTURES, read_log
from tui.app.core import StopOutcome
from tui.app.glyphs import ASCII, UNICODE, Glyphs
from tui.app.notices import Kind, Notice, add_notice, is_under_way, stop_notice, unfinished
from tui.app.words import brief, farewell, format_indices, last_word, short_gpu_name, state_words, without_folders
from tui.diagnosis.progress import Progress, Stage
from tui.keeper.states import State
from tui.launch.progress import ProgressReader
from tui.units import GIB


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
        ("512 requests need 294 GiB", 23, "512 requests need 294…"),  # a whole word, and the gap behind it
        ("512 requests need 294 GiB of state", 27, "512 requests need 294 GiB…"),
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
    now = story(tmp_path)
    assert farewell(now, UNICODE) == "qwen36-mtp, llama8b go on running; `sgltui` shows and stops them."
    alone = replace(now, instances=now.instances[:1], gpus=replace(now.gpus, simulated=True))
    assert farewell(alone, UNICODE) == "qwen36-mtp goes on running; `sgltui demo` shows and stops it."
    others = (instance("far", State.READY, local=False), instance("going", State.STOPPING))
    assert farewell(replace(now, instances=others), UNICODE) == ""
    assert farewell(None, UNICODE) == ""


def test_a_stop_says_what_it_waits_for() -> None:
    draining = instance("a", State.STOPPING, phase="draining", phase_s=12.9)
    assert last_word(draining) == "draining 12 s"
    waiting = instance("a", State.STOPPING, phase="waiting for its memory", phase_s=3.0, attended=False)
    assert last_word(waiting) == "waiting for its memory 3 s, not attended (sgltui adopt)"
    assert last_word(instance("a", State.STOPPING)) == ""
    left = instance("a", State.STOPPED, cause="pid 77 survived")
    assert last_word(left) == "pid 77 survived"


def _cause_in(log: str) -> str:
    reader = ProgressReader(FIXTURES / "real" / log)
    cause = reader.catch_up().exception
    reader.close()
    assert cause is not None
    return cause


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("0.5.11/badflag.log", "unrecognized arguments: --no-such-flag 3"),
        ("0.5.11/badvalue.log", "argument --mem-fraction-static: invalid float value: 'abc'"),
        ("0.5.11/killstart.log", "Broken pipe"),
        ("0.5.11/mamba-q3next.log", "sgl_kernel.mamba.causal_conv1d_fn_cpu: the kernel package is a stand-in here"),
        ("0.5.11/nogpu.log", "No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available."),
        ("0.5.11/notenough.log", "Not enough memory. Please try to increase --mem-fraction-static."),
        (
            "0.5.11/portinuse.log",
            "error while attempting to bind on address ('127.0.0.1', 31011): address already in use",
        ),
    ],
)
def test_recorded_causes_begin_with_what_helps(log: str, words: str) -> None:
    assert brief(_cause_in(log)) == words


def test_a_cause_from_a_container_begins_with_what_helps() -> None:
    cause = read_log("fragments/prefixes.log")[13].partition("| ")[2]
    assert cause.startswith("Exception: ")
    assert brief(cause).startswith("Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.50 GiB.")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity",
            "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity",
        ),
        ("Exception: Capture cuda graph failed: CUDA out of memory.", "Capture cuda graph failed: CUDA out of memory."),
        ("RuntimeError: CUDA error: out of memory", "CUDA error: out of memory"),
        ("RuntimeError: ValueError: both were said", "both were said"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory", "out of resource: shared memory"),
        ("launch_server.py: error: the following arguments are required", "the following arguments are required"),
        # A word alone means nothing without its class.
        ("KeyError: 'qwen3_next'", "KeyError: 'qwen3_next'"),
        ("AssertionError", "AssertionError"),
        ("AssertionError: ", "AssertionError: "),
        # What only looks like a class.
        ("GPU 0: 3 GiB free", "GPU 0: 3 GiB free"),
        ("ended with status 2 during args", "ended with status 2 during args"),
        ("512 requests need 294 GiB of state, the pool has 38", "512 requests need 294 GiB of state, the pool has 38"),
    ],
)
def test_causes_begin_with_what_helps(cause: str, words: str) -> None:
    assert brief(cause) == words


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
@example("a." * 2000 + "Error: " * 500 + "x")
def test_a_brief_cause_is_its_end(cause: str) -> None:
    assert cause.endswith(brief(cause))


@pytest.mark.parametrize(
    ("message", "short"),
    [
        (
            "/home/me/sgltui/instances/a/20261101T000000Z-0001/launch.json isn't a record of ours: truncated",
            "launch.json isn't a record of ours: truncated",
        ),
        ("can't read '/a/b/state.json': EIO", "can't read 'state.json': EIO"),
        ("expected 3 / 4 and http://x/y", "expected 3 / 4 and http://x/y"),
        ("/top is full", "/top is full"),
    ],
)
def test_files_without_their_folders(message: str, short: str) -> None:
    assert without_folders(message) == short


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_every_state_has_a_sign_of_its_own(glyphs: Glyphs) -> None:
    signs = glyphs.states
    assert set(signs) == set(State)
    assert len(set(signs.values())) == len(State)
    assert not {*signs.values()} & {glyphs.pointer, glyphs.ellipsis}


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


def test_a_failure_outlasts_successes() -> None:
    notices = add_notice((), Notice("a", Kind.PROBLEM, "a failed"))
    for about in "bcdef":
        notices = add_notice(notices, Notice(about, Kind.DONE, about))
    assert [notice.text for notice in notices] == ["a failed", "e", "f"]
    for about in "ghi":
        notices = add_notice(notices, Notice(about, Kind.PROBLEM, about))
    assert [notice.text for notice in notices] == ["g", "h", "i"]


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        (StopOutcome("a", (), True, 7 * GIB, 0, 5.4), Kind.DONE, "a stopped after 5 s; 7.0 GiB came back"),
        (
            StopOutcome("a", (), True, 7 * GIB, GIB // 10, 0.4),
            Kind.DONE,
            "a stopped after less than 1 s; 6.9 GiB came back",
        ),
        (
            StopOutcome("a", (), True, None, None, 61.0),
            Kind.DONE,
            "a stopped after 1 min; none of its GPU memory is left",
        ),
        (StopOutcome("a", (), True, 0, 0, 3.0), Kind.DONE, "a stopped after 3 s; it held no GPU memory"),
        (
            StopOutcome("a", (), None, None, None, 3.0),
            Kind.DONE,
            "a stopped after 3 s; nobody can tell whether its GPU memory came back",
        ),
        (
            StopOutcome("a", (), False, 7 * GIB, 7 * GIB, 95.0),
            Kind.PROBLEM,
            "a stopped after 1 min; 7.0 GiB did NOT come back",
        ),
        (
            StopOutcome("a", (77, 78), False, 7 * GIB, 3 * GIB, 95.0),
            Kind.PROBLEM,
            "a not stopped, pid 77, pid 78 still there after 1 min; 3.0 GiB did NOT come back",
        ),
    ],
)
def test_how_a_stop_ended(outcome: StopOutcome, kind: Kind, text: str) -> None:
    notice = stop_notice(outcome, kill=False)
    assert (notice.kind, notice.text) == (kind, text)
    assert bool(notice.hint) == (kind is Kind.PROBLEM)
    assert stop_notice(outcome, kill=True).text == text.replace("stopped", "killed")
