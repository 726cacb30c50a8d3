"""The last word on a failed launch: a few words with the number that decides, or none."""

from __future__ import annotations

import pytest

from tests.support.diagnosing import LOGS, diagnose
from tui.diagnosis.answer import to_json
from tui.diagnosis.brief import brief, exit_words, short_gib
from tui.diagnosis.diagnosis import Outcome
from tui.launch.explain import Case, explain


def test_the_story_says_what_took_the_room_and_not_what_sglang_advises() -> None:
    found = explain(Case(LOGS / "story-mamba-spec-pool.log")).diagnosis
    # Line 37 advises to raise the fraction; the reserve is 0.1434 GiB x 48 x 4, the pools get what 0.8 leaves.
    assert brief(found) == "state for drafts 27.5 GiB, the pools have 24.1"
    assert short_gib(found) == pytest.approx(27.53 - 24.07, abs=0.01)
    assert to_json(found)["brief"] == brief(found)


@pytest.mark.parametrize(
    ("log", "words", "short"),
    [
        # torch says "Tried to allocate 448.00 MiB ... of which 133.00 MiB is free"
        (
            "graph-oom-number-in-progress-bar.log",
            "out of memory while capturing graphs: 0.44 GiB asked for, 0.13 free",
            (448 - 133) / 1024,
        ),
        # "Tried to allocate 4.64 GiB ... of which 3.02 GiB is free"
        ("runtime-oom-with-prompt-decoys.log", "out of memory in a batch: 4.64 GiB asked for, 3.02 free", 4.64 - 3.02),
        # "Tried to allocate 768.00 MiB ... of which 611.19 MiB is free"
        ("tp4-interleaved-weights-oom.log", "the weights don't fit: 0.75 GiB asked for, 0.60 free", 0.153),
        ("triton-shared-memory-not-vram.log", "a kernel needs more on-chip shared memory than this GPU has", None),
        ("pool-leak-is-not-shortage.log", "SGLang found its own bookkeeping of the pool inconsistent", None),
        ("healthy-full-of-scary-words.log", None, None),
        ("stale-first-launch-failed.log", None, None),
    ],
)
def test_real_logs(log: str, words: str | None, short: float | None) -> None:
    found = diagnose((LOGS / log).read_bytes())
    assert brief(found) == words
    assert short_gib(found) == (None if short is None else pytest.approx(short, abs=0.01))


def test_memory_of_others_is_named_first() -> None:
    words = brief(diagnose((LOGS / "nul-hole-old-writer-behind-new.log").read_bytes()))
    assert words is not None
    assert words.startswith("only 37.02 GiB were free before the weights")


def test_what_the_command_line_did_wrong_is_said_in_its_words() -> None:
    found = diagnose(["sglang serve: error: unrecognized arguments: --x"], returncode=2)
    assert brief(found) == "unrecognized arguments: --x"


@pytest.mark.parametrize("line", ["SomethingError: nobody has met this before", "all is well"])
def test_what_isn_t_known_leaves_the_log_its_own_words(line: str) -> None:
    assert brief(diagnose([line], returncode=1)) is None


def test_a_kill_from_outside_is_told_by_who_saw_it() -> None:
    assert brief(diagnose(["[2026-06-01 10:00:00] x"], returncode=-9)) is None


def test_whose_kill_it_was() -> None:
    failed = Outcome.FAILED
    own = "exit -9 (SGLang kills itself after an error; not the kernel)"
    assert exit_words(-9, "pool_budget_negative", failed, has_root=True) == own
    assert exit_words(-9, "host_oom", failed, has_root=True) == "exit -9"
    assert exit_words(-9, "unknown", failed, has_root=False) == "exit -9"
    assert exit_words(None, "unknown", failed, has_root=False) == ""


def test_no_secret_comes_into_the_few_words() -> None:
    line = "sglang serve: error: unrecognized arguments: --hf-token hf_abcdefghij"
    told = to_json(diagnose([line], returncode=2))
    assert "hf_abcdefghij" not in str(told)
