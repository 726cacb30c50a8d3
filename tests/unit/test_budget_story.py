"""The case that must work: a 27B hybrid with MTP on one 96 GB card, SGLang 0.5.11, and what its operator tried.

Figures were computed by SGLang's own functions, run on a CPU (`tests/fixtures/oracles`), or by hand from them.
"""

from __future__ import annotations

import pytest

from tests.support.planning import EAGLE, STORY, make_plan_request
from tui.budget.changes import find_changes
from tui.budget.plan import plan
from tui.budget.types import MemoryBudget, Stage, Verdict
from tui.launch.planning import plan_with_changes
from tui.units import GIB

EXTRA = ("--mamba-scheduler-strategy", "extra_buffer")
RADIX_OFF = ("--disable-radix-cache",)
NOT_ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def story(*flags: str, fraction: str = "0.80", release: str = "0.5.11", speculates: bool = True) -> MemoryBudget:
    words = ["--mem-fraction-static", fraction, *(EAGLE if speculates else ()), *flags]
    given = STORY if speculates else {key: STORY[key] for key in ("avail_before", "weights")}
    return plan(make_plan_request("qwen3.6-27b", words, release, given=given))


def tokens(budget: MemoryBudget) -> int | None:
    assert budget.kv is not None
    return budget.kv.tokens


def slots(budget: MemoryBudget) -> int:
    assert budget.state is not None
    assert budget.state.slots is not None
    return budget.state.slots


def test_a_slot_and_a_token() -> None:
    budget = story(*EXTRA)
    assert budget.state is not None
    assert budget.kv is not None
    assert budget.state.slot_bytes == 153_944_064
    assert budget.kv.bytes_per_token == 65_536


def test_the_first_launch() -> None:
    budget = story(*EXTRA)
    assert (budget.verdict, budget.stage_of_failure) == (Verdict.EXCEEDS, Stage.POOL)
    assert budget.expected_error == NOT_ENOUGH
    assert budget.rest is not None
    assert budget.state is not None
    assert round(budget.rest / GIB, 2) == 24.48
    assert round(budget.state.reserve / GIB, 1) == 27.5
    assert "48 requests x 4 draft tokens takes 27.53 GiB" in budget.reason
    assert "the pool has 24.48 GiB, 3.05 GiB short" in budget.reason
    assert any("allows 48 requests unless" in note for note in budget.notes)
    assert any("doesn't double the state: it needs 5 slots a request, not 3" in note for note in budget.notes)


def test_512_requests_make_it_worse() -> None:
    for fraction in ("0.80", "0.90", "0.95"):
        budget = story(*EXTRA, "--max-running-requests", "512", fraction=fraction)
        assert (budget.verdict, budget.expected_error) == (Verdict.EXCEEDS, NOT_ENOUGH)
        assert budget.state is not None
        assert round(budget.state.reserve / GIB) == 294
        assert any("raising --mem-fraction-static can't help" in note for note in budget.notes)


@pytest.mark.parametrize(
    ("flags", "fraction", "expected"),
    [
        (EXTRA, "0.90", (21, 4, 55_244, Verdict.TIGHT)),
        ((*EXTRA, "--max-running-requests", "8"), "0.80", (65, 8, 173_227, Verdict.FITS)),
        ((*EXTRA, "--max-running-requests", "8"), "0.90", (96, 8, 254_909, Verdict.TIGHT)),
    ],
)
def test_what_starts(flags: tuple[str, ...], fraction: str, expected: tuple[int, int, int, Verdict]) -> None:
    budget = story(*flags, fraction=fraction)
    assert (slots(budget), budget.max_running_requests, tokens(budget)) == expected[:3]
    assert budget.verdict in (Verdict.FITS, Verdict.TIGHT)


@pytest.mark.parametrize(
    ("flags", "fraction", "stage"),
    [
        (RADIX_OFF, "0.80", Stage.POOL),
        (RADIX_OFF, "0.90", Stage.POOL),
        (RADIX_OFF, "0.95", Stage.DRAFT),
        ((*EXTRA, "--max-running-requests", "8"), "0.95", Stage.DRAFT),
        ((), "0.80", Stage.ARGS),
    ],
)
def test_what_doesnt(flags: tuple[str, ...], fraction: str, stage: Stage) -> None:
    budget = story(*flags, fraction=fraction)
    assert (budget.verdict, budget.stage_of_failure) == (Verdict.EXCEEDS, stage)


def test_bf16_state() -> None:
    budget = story(*EXTRA, "--mamba-ssm-dtype", "bfloat16")
    assert (slots(budget), budget.max_running_requests) == (67, 13)


def test_without_a_draft() -> None:
    """K = 80 at 0.80: 81 slots with the padding one are the 11.6 GiB that the operator read in his log."""
    budget = story(speculates=False)
    assert slots(budget) == 80
    assert budget.state is not None
    assert round((budget.state.conv + budget.state.ssm) / GIB, 2) == 11.61


def test_0_5_23_sizes_both_together() -> None:
    budget = story(release="0.5.23")
    assert (slots(budget), budget.max_running_requests) == (31, 6)
    assert budget.verdict is Verdict.FITS
    off = story(*RADIX_OFF, release="0.5.23")
    assert off.expected_error is not None
    assert off.expected_error.startswith("ValueError: Loaded weights leave no GPU memory for the KV cache")


def test_the_ways_out_are_offered() -> None:
    """Fewer requests, smaller states, an upgrade, no draft; never a higher fraction alone as the first."""
    request = make_plan_request("qwen3.6-27b", ["--mem-fraction-static", "0.80", *EAGLE, *EXTRA], "0.5.11", given=STORY)
    changes = find_changes(request, plan(request))
    offered = [(dict(change.set), change.upgrade) for change in changes]
    assert offered[0] == ({"max-running-requests": "24"}, None) or "max-running-requests" in offered[0][0]
    assert ({"mamba-ssm-dtype": "bfloat16"}, None) in offered
    assert ({}, "0.5.13") in offered
    assert any("speculative-algorithm" in change.unset for change in changes)
    assert all(change.verdict is Verdict.FITS for change in changes[:3])
    assert plan_with_changes(request).changes == changes


def test_refused_flags_are_mended() -> None:
    request = make_plan_request(
        "qwen3.6-27b", ["--mem-fraction-static", "0.80", "--max-running-requests", "8", *EAGLE], "0.5.11", given=STORY
    )
    budget = plan(request)
    assert budget.stage_of_failure is Stage.ARGS
    assert "can't speculate with Qwen3_5ForConditionalGeneration while no_buffer" in budget.reason
    assert {"mamba-scheduler-strategy": "extra_buffer"} in [dict(c.set) for c in find_changes(request, budget)]
