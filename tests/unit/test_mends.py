"""What would fit where the release refuses a flag: the same that the lint says to write in its place."""

from __future__ import annotations

import pytest

from tests.support.planning import EAGLE, STORY, make_plan_request
from tui.app.flag_edits import changed_flag, with_change
from tui.budget.changes import find_changes
from tui.budget.plan import plan
from tui.budget.types import FlagChange, Stage, Verdict
from tui.lint import Finding, Severity, lint
from tui.sglang.edit import FlagEdit, edit_words
from tui.sglang.flags import load_inventory
from tui.sglang.target import recorded_target
from tui.sglang.versions import parse_release

BASE = (*("--mem-fraction-static", "0.8", "--max-running-requests", "8"), *EAGLE)
STRATEGY = ("--mamba-scheduler-strategy", "extra_buffer")


def offers(*words: str, release: str = "0.5.23") -> tuple[FlagChange, ...]:
    """What is offered to the story's launch with these flags, which is refused as it is."""
    request = make_plan_request("qwen3.6-27b", [*BASE, *words], release, given=STORY)
    budget = plan(request)
    assert budget.stage_of_failure is Stage.ARGS
    return find_changes(request, budget)


def told(*words: str, release: str = "0.5.23") -> list[Finding]:
    """What the lint refuses of them."""
    findings = lint(["--model-path", "m", *BASE, *words], recorded_target(parse_release(release)))
    return [one for one in findings if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("words", "release", "new", "left_out"),
    [
        # Renamed between 0.5.11 and 0.5.23; argparse of 0.5.23 takes the second for the beginning of two others.
        (STRATEGY, "0.5.23", {"mamba-radix-cache-strategy": "extra_buffer"}, {"mamba-scheduler-strategy"}),
        (
            ("--cuda-graph-max-bs", "16", *STRATEGY),
            "0.5.23",
            {"cuda-graph-max-bs-decode": "16", "mamba-radix-cache-strategy": "extra_buffer"},
            {"cuda-graph-max-bs", "mamba-scheduler-strategy"},
        ),
        (
            ("--cuda-graph-bs", "1", "2", "8", *STRATEGY),
            "0.5.23",
            {"cuda-graph-bs-decode": "1 2 8", "mamba-radix-cache-strategy": "extra_buffer"},
            {"cuda-graph-bs", "mamba-scheduler-strategy"},
        ),
        (
            ("--disable-piecewise-cuda-graph", *STRATEGY),
            "0.5.23",
            {"cuda-graph-backend-prefill": "disabled", "mamba-radix-cache-strategy": "extra_buffer"},
            {"disable-piecewise-cuda-graph", "mamba-scheduler-strategy"},
        ),
        # Back to an earlier release, a spelling, a slip of the fingers.
        (
            ("--mamba-radix-cache-strategy=extra_buffer",),
            "0.5.11",
            {"mamba-scheduler-strategy": "extra_buffer"},
            {"mamba-radix-cache-strategy"},
        ),
        (
            ("--mamba-radix-cache-strategy", "extra_buffer", "--chunked_prefill_size", "2048"),
            "0.5.23",
            {"chunked-prefill-size": "2048"},
            {"chunked_prefill_size"},
        ),
        (
            ("--mamba-radix-cache-strategy", "extra_buffer", "--max-total-tokns", "90000"),
            "0.5.23",
            {"max-total-tokens": "90000"},
            {"max-total-tokns"},
        ),
    ],
)
def test_a_flag_that_was_meant_is_written_at_no_price(
    words: tuple[str, ...], release: str, new: dict[str, str], left_out: set[str]
) -> None:
    [first, *_] = offers(*words, release=release)
    assert (dict(first.set), set(first.unset), first.costs) == (new, left_out, "nothing")
    assert first.verdict in (Verdict.FITS, Verdict.TIGHT)
    remedies = " ".join(one.remedy for one in told(*words, release=release))
    assert all(f"--{name}" in remedies for name in new), "the lint names the same"


def test_what_the_release_does_without_is_left_out_at_no_price() -> None:
    """Piecewise graphs are the default since 0.5.10; 0.5.23 refuses the switch that asked for them."""
    [first, *_] = offers("--enable-piecewise-cuda-graph", "--mamba-radix-cache-strategy", "extra_buffer")
    assert (dict(first.set), first.unset, first.costs) == ({}, ("enable-piecewise-cuda-graph",), "nothing")


def test_what_nobody_knows_goes_with_what_is_renamed() -> None:
    [first, *_] = offers("--no-such-flag", "7", *STRATEGY)
    assert dict(first.set) == {"mamba-radix-cache-strategy": "extra_buffer"}
    assert set(first.unset) == {"no-such-flag", "mamba-scheduler-strategy"}
    assert first.costs == "--no-such-flag"


def test_no_secret_is_passed_on() -> None:
    changes = offers("--apikey", "s3cret", "--mamba-radix-cache-strategy", "extra_buffer")
    assert changes
    assert "s3cret" not in str(changes)


def test_what_is_taken_is_a_command_line_that_the_release_takes() -> None:
    typed = (*BASE, "--cuda-graph-bs", "1", "2", "8", *STRATEGY)
    [first, *_] = offers("--cuda-graph-bs", "1", "2", "8", *STRATEGY)
    inventory = load_inventory("0.5.23")
    edited = edit_words(typed, with_change(FlagEdit(), first, inventory), inventory)
    assert edited[-6:] == ("--cuda-graph-bs-decode", "1", "2", "8", "--mamba-radix-cache-strategy", "extra_buffer")
    assert lint(["--model-path", "m", *edited], recorded_target(parse_release("0.5.23"))) == ()
    assert changed_flag(first, inventory) == "cuda-graph-bs-decode"


def test_an_ambiguous_flag_that_has_another_name_now_says_which() -> None:
    [finding] = told("--cuda-graph-max-bs", "16")
    assert finding.remedy == "spell it out: it became --cuda-graph-max-bs-decode 16"
    assert finding.fix is not None
    assert (dict(finding.fix.set), finding.fix.unset) == ({"cuda-graph-max-bs-decode": "16"}, ("cuda-graph-max-bs",))
