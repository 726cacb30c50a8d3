"""The reader: pieces of any size, bounded state, cuts between launches, holes, bars, lines without an end."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.diagnosing import LOGS, QUIT, SCHEDULER, diagnose, upto
from tests.support.logs import FIXTURES
from tests.support.normal_log import serving_lines, start_lines
from tui.diagnosis.conclude import conclude
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis, Ending, Outcome
from tui.diagnosis.progress import Stage

PIECES = ("tp4-interleaved-weights-oom", "nul-hole-old-writer-behind-new", "story-mamba-spec-pool")
NOT_ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
DECODE = "[2026-06-01 10:00:30] Decode batch, #running-req: 3, #token: 1800, token usage: 0.02, cuda graph: True"


def in_pieces(data: bytes, sizes: list[int]) -> Diagnosis:
    detective, at = Detective(), 0
    for size in sizes:
        detective.feed(data[at : at + size])
        at += size
    detective.feed(data[at:])
    detective.close()
    return conclude(detective, Ending(returncode=-9))


@pytest.mark.parametrize("name", PIECES)
@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(1, 4000), max_size=30))
def test_pieces_of_any_size_are_the_whole(name: str, sizes: list[int]) -> None:
    data = (LOGS / f"{name}.log").read_bytes()
    assert in_pieces(data, sizes) == in_pieces(data, [])


def test_lines_are_counted_by_their_lf_alone() -> None:
    detective = Detective()
    detective.feed(b"a\rb\nc\x0bd\x0c\xe2\x80\xa8e\nf")
    assert detective.line_count == 2
    detective.close()
    assert detective.line_count == 3


def test_skipped_lines_are_counted() -> None:
    log = [*upto("runtime"), *[DECODE] * 500, *SCHEDULER, OOM, "", QUIT]
    found = diagnose(log, returncode=-9)
    assert found.root_line == log.index(OOM) + 1
    assert (found.failure, found.stage) == ("activation_oom", Stage.RUNTIME)


def test_state_is_bounded() -> None:
    """A hundred thousand failed requests leave no more than a few."""
    storm = b"ValueError: Cannot use chat template functions because tokenizer.chat_template is not set\n"
    detective = Detective()
    detective.feed("\n".join(upto("runtime")).encode() + b"\n")
    for _ in range(40):
        detective.feed((b'Traceback (most recent call last):\n  File "x.py", line 1, in f\n' + storm) * 500)
    strong, weak, consequences = detective.evidence()
    assert len(strong) + len(weak) + len(consequences) < 500
    assert detective.line_count == len(upto("runtime")) + 60_000


# --- several launches in one file


def test_a_later_launch_makes_earlier_errors_stale() -> None:
    first = [*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT, "Killed"]
    found = diagnose([*first, *upto("runtime")])
    assert (found.failure, found.launch_first_line, found.root_line) == ("none", len(first) + 1, None)


@pytest.mark.parametrize(
    "lead", [["nohup: ignoring input"], ["some wrapper says hello"], ["W0911 10:24:10 1 x.py:2] warns"], []]
)
def test_what_comes_before_the_arguments_is_the_later_launch_s(lead: list[str]) -> None:
    first = [*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT]
    found = diagnose([*first, *lead, *upto("runtime")])
    assert found.launch_first_line == len(first) + 1


def test_a_refused_command_line_is_a_launch_of_its_own() -> None:
    first = [*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT]
    usage = ["usage: sglang serve [-h]", "  [--x]", "sglang serve: error: unrecognized arguments: --y"]
    found = diagnose([*first, *usage], returncode=2)
    assert (found.failure, found.launch_first_line) == ("unknown_flag", len(first) + 1)
    assert (found.root_line, found.stage) == (len(first) + 3, Stage.ARGS)


def test_a_launch_that_dies_before_its_arguments() -> None:
    first = [*upto("runtime"), "[2026-06-01 10:00:40] INFO:     Shutting down"]
    second = [
        "<frozen runpy>:128: UserWarning: 'python -m sglang.launch_server' is still supported",
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        "ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory",
    ]
    found = diagnose([*first, *second], returncode=1)
    assert (found.failure, found.launch_first_line) == ("native_lib_missing", len(first) + 1)


# --- what writers do to each other


def test_an_old_writer_behind_a_hole_is_another_server() -> None:
    log = "\n".join([*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT, ""]).encode()
    old = b"\0" * 70_000 + "\n".join([DECODE] * 3).encode() + b"\n"
    found = diagnose(log + old, returncode=-9)
    assert (found.failure, found.ready_line, found.direction) == ("gpu_memory_foreign", None, "leave")
    assert diagnose(log, returncode=-9).failure == "pool_budget_negative"


def test_a_card_that_was_half_full_before_is_said() -> None:
    text = f"{OOM}. GPU 0 has a total capacity of 188.00 GiB of which 1.00 GiB is free."
    found = diagnose([*upto("weight load"), *SCHEDULER, text, "", QUIT], returncode=-9)
    assert found.failure == "gpu_memory_foreign"
    assert "only 94.21 of 188.00 GiB were free" in found.reason


def test_colours_are_no_part_of_a_line() -> None:
    log = [*upto("memory pool"), f"\x1b[31m{SCHEDULER[0]}\x1b[0m", *SCHEDULER[1:], f"\x1b[1m{NOT_ENOUGH}\x1b[0m", QUIT]
    assert diagnose(log, returncode=-9).failure == "pool_budget_negative"


def test_a_bar_glued_to_an_exception() -> None:
    bar = "\r  0%|          | 0/13 [00:00<?, ?it/s]\rLoading safetensors checkpoint shards:  40% Completed | 12/30 [0"
    found = diagnose([*upto("weight load"), bar + SCHEDULER[0], *SCHEDULER[1:], OOM, "", QUIT], returncode=-9)
    assert (found.failure, found.root_text) == ("weights_oom", OOM)


def test_broken_characters_are_lived_with() -> None:
    log = "\n".join([*upto("memory pool"), *SCHEDULER]).encode() + b"\n\xe2\x96\xff\n" + NOT_ENOUGH.encode() + b"\n"
    assert diagnose(log, returncode=-9).root_text == NOT_ENOUGH


# --- lived through, or not


def test_a_traceback_that_work_goes_on_after_is_no_cause() -> None:
    request = ["Traceback (most recent call last):", '  File "/x/http_server.py", line 9, in answer', OOM, ""]
    alive = diagnose([*upto("runtime"), *request, DECODE])
    assert (alive.failure, alive.outcome) == ("none", Outcome.RUNNING)
    killed = diagnose([*upto("runtime"), *request, DECODE], returncode=-9)
    assert killed.failure == "killed_from_outside"


def test_an_error_after_the_end_was_asked_for_is_no_failure() -> None:
    log = [*upto("runtime"), "[2026-06-01 10:00:40] SIGTERM received. signum=None", *SCHEDULER, OOM, "", QUIT]
    assert (diagnose(log, returncode=-9).outcome, diagnose(log, returncode=-9).failure) == (Outcome.STOPPED, "none")


def test_a_port_that_isn_t_back_behind_an_orderly_end_is_the_next_launch_s() -> None:
    log = [*upto("runtime"), "[2026-06-01 10:00:40] SIGTERM received. signum=None"]
    waits = "[2026-06-01 10:00:50] port 31007 is in use. Waiting for 15 seconds for rpc_port to be available."
    assert diagnose([*log, waits]).failure == "slow_release"
    assert diagnose(log).failure == "none"


@pytest.mark.parametrize(("seconds", "failure"), [("10:03:00", "none"), ("10:30:00", "hang_dist_init")])
def test_silence_is_judged_by_its_stage(seconds: str, failure: str) -> None:
    found = diagnose(upto("distributed init"), now=f"2026-06-01 {seconds}")
    assert (found.failure, found.outcome) == (failure, Outcome.RUNNING)
    assert found.root_line == (None if failure == "none" else 2)


def test_a_ready_server_may_be_silent_for_ever() -> None:
    assert diagnose(upto("runtime"), now="2027-06-01 10:00:00").failure == "none"


# --- hostile lines: what matters is that these end


@pytest.mark.parametrize(
    "line",
    [
        b"a" * 10_000_000,
        b"[2026-11-05 07:00:27] " + b"CUDA out of memory " * 500_000,
        b"\rLoading " * 1_200_000,
        b"[2026-11-05 07:00:27] server_args=ServerArgs(" + b"a=((" * 2_500_000,
        b"[2026-11-05 07:00:27] server_args=ServerArgs(" + b"a='\\" * 2_500_000,
        b"[2026-11-05 07:00:27] Decode batch," + b"[" * 10_000_000,
        b"Traceback (most recent call last):" * 300_000,
        b"KeyError: " + b"a." * 5_000_000,
        b"\0" * 10_000_000,
        b"\x1b[" * 5_000_000,
    ],
    ids=range(10),
)
def test_a_line_of_ten_megabytes(line: bytes) -> None:
    log = "\n".join(upto("runtime")).encode() + b"\n" + line + b"\n" + DECODE.encode() + b"\n"
    detective = Detective()
    for at in range(0, len(log), 1 << 20):
        detective.feed(log[at : at + (1 << 20)])
    assert detective.line_count == len(upto("runtime")) + 2
    assert conclude(detective, Ending()).failure == "none"


# --- no false alarms


@pytest.mark.parametrize("which", range(3))
def test_healthy_lines_alarm_nobody(which: int) -> None:
    lines = [*start_lines(which), *islice(serving_lines(which), 15_000)]
    detective = Detective()
    detective.feed(b"\n".join(lines) + b"\n")
    found = conclude(detective, Ending())
    assert (found.failure, found.root_line, found.outcome) == ("none", None, Outcome.RUNNING)
    assert detective.evidence()[:2] == ([], [])
    assert detective.line_count == len(lines)


def test_a_healthy_log_beside_the_real_endpoints() -> None:
    log = (FIXTURES / "synthetic" / "healthy-full-of-scary-words.log").read_bytes()
    assert diagnose(log).failure == "none"
