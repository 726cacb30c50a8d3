"""The exception that ended a launch, among all that its log tells of exceptions."""

from __future__ import annotations

import pytest

from tests.support.stages import FIRED_UP, FRAME, MAIN_FRAME, ORPHAN, PLAIN, SHARDS, follow
from tui.diagnosis.progress import Stage

SCHEDULER = "[2026-11-29 17:00:00{}] Scheduler hit an exception: Traceback (most recent call last):"
CLOSED = "Exception: Capture cuda graph failed: pair.cc:534] Connection closed by peer [127.0.0.1]:41873"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 768.00 MiB."


def test_of_a_chain_the_last_counts() -> None:
    chain = "During handling of the above exception, another exception occurred:"
    lines = [SCHEDULER.format(""), FRAME, OUT_OF_MEMORY, "", chain, "", PLAIN, FRAME, "Exception: Capture failed"]
    assert follow(*lines[:6]).exception == OUT_OF_MEMORY
    assert follow(*lines, "Possible solutions:", "1. set").exception == "Exception: Capture failed"


def test_the_first_rank_s_exception_counts() -> None:
    lines = [SCHEDULER.format(" TP1"), FRAME, OUT_OF_MEMORY, "", SCHEDULER.format(" TP0"), FRAME, "ValueError: x"]
    assert follow(*lines).exception == OUT_OF_MEMORY


def test_unless_it_is_only_about_the_other_one_being_gone() -> None:
    first = [SCHEDULER.format(" TP0"), FRAME, CLOSED, ""]
    second = [SCHEDULER.format(" TP1"), FRAME, OUT_OF_MEMORY]
    assert follow(*first).exception == CLOSED
    assert follow(*first, *second).exception == OUT_OF_MEMORY
    assert follow(*second, *first).exception == OUT_OF_MEMORY
    assert follow(*first, SCHEDULER.format(" TP1"), FRAME, ORPHAN).exception == CLOSED


def test_further_lines_of_its_text_aren_t_its_head() -> None:
    assert follow(SCHEDULER.format(""), FRAME, "OSError: no file", "Details: see above").exception == "OSError: no file"


def test_a_port_that_is_taken_too_comes_second() -> None:
    taken = "[2026-11-29 17:00:00] ERROR:    [Errno 98] error while attempting to bind on address ('::', 1): in use"
    assert follow(SCHEDULER.format(""), FRAME, OUT_OF_MEMORY, taken).exception == OUT_OF_MEMORY


def test_a_chain_that_was_cut_doesn_t_swallow_the_next_traceback() -> None:
    chain = "The above exception was the direct cause of the following exception:"
    lived_through = [PLAIN, '  File "x/http_server.py", line 9, in answer', "KeyError: 'x'", "", chain]
    assert follow(*lived_through, SCHEDULER.format(""), FRAME, OUT_OF_MEMORY).exception == OUT_OF_MEMORY


def test_other_ranks_lines_and_bars_may_stand_inside_a_traceback() -> None:
    lines = [
        SHARDS.format(1) + SCHEDULER.format(" TP2"),
        FRAME,
        "[2026-11-29 17:00:00 TP0] Using default MoE kernel config. Config file not found: E=128,N=384.json",
        '  File "x/model_runn\r' + SHARDS.format(2) + 'er.py", line 1390, in load_model',
        "    self.model = get_model(",
        OUT_OF_MEMORY,
    ]
    assert follow(*lines).exception == OUT_OF_MEMORY


@pytest.mark.parametrize(
    "frame",
    [
        MAIN_FRAME,
        '  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main',
        '  File "/opt/venv/bin/sglang", line 8, in <module>',
        '  File "/usr/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap',
    ],
)
def test_an_exception_that_nobody_caught_ends_the_launch(frame: str) -> None:
    assert follow(PLAIN, frame, "    run()", "ImportError: no libcuda.so.1").exception == "ImportError: no libcuda.so.1"


@pytest.mark.parametrize(
    "lines",
    [
        [PLAIN, '  File "x/uvicorn/h11_impl.py", line 411, in run_asgi', "AttributeError: no path"],
        [PLAIN, '  File "x/plugins.py", line 4, in load', '  File "x/y.py", line 1, in <module>', "ImportError: no y"],
        [PLAIN, '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner', "KeyError: 'x'"],
        ["[2026-11-29 17:00:00] Can not initialize X, error: " + PLAIN, FRAME, "ModuleNotFoundError: No module"],
        ["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."],
        [SCHEDULER.format(""), FRAME, "nanobind: leaked 4 instances!"],
        [SCHEDULER.format("").replace("Scheduler", "Someone"), FRAME, "ValueError: x"],
    ],
)
def test_what_was_lived_through_or_only_printed_ends_nothing(lines: list[str]) -> None:
    assert follow(*lines).exception is None


def test_a_helper_process_that_died_is_forgotten_when_the_server_gets_ready() -> None:
    lines = [PLAIN, '  File "<string>", line 1, in <module>', "ModuleNotFoundError: No module named 'x'"]
    assert follow(*lines).exception is not None
    tracker = follow(*lines, FIRED_UP)
    assert (tracker.exception, tracker.progress.stage) == (None, Stage.READY)


def test_after_a_shutdown_was_asked_for_nothing_ended_it_but_that() -> None:
    lines = ["[2026-11-29 17:00:00] SIGTERM received. signum=None", SCHEDULER.format(""), FRAME, "ValueError: x"]
    assert follow(*lines).exception is None


def test_another_launch_in_the_same_file_starts_without_an_exception() -> None:
    tracker = follow(SCHEDULER.format(""), FRAME, "ValueError: x")
    tracker.feed("[2026-11-29 17:05:00] server_args={'model_path': 'm'}")
    assert tracker.exception is None


def test_an_argument_parser_s_words_count_before_the_arguments_are_settled_only() -> None:
    refused = "sglang serve: error: unrecognized arguments: --x"
    assert follow(refused).exception == refused
    assert follow("[2026-11-29 17:05:00] server_args={'model_path': 'm'}", refused).exception is None


def test_a_head_line_of_a_megabyte_is_cut() -> None:
    tracker = follow(SCHEDULER.format(""), FRAME, "AssertionError: " + "x" * 1_000_000)
    assert len(tracker.exception or "") == 4096
