"""What would give a running server more of what it lacks, on the story's card."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support.planning import EAGLE, STORY, make_plan_request
from tui.budget.changes import Candidate, apply_change
from tui.budget.plan import plan
from tui.budget.relief import more_kv, more_requests, more_slots
from tui.budget.types import FlagChange, MemoryBudget, PlanRequest, Verdict
from tui.budget.words import count

EXTRA = ("--mamba-scheduler-strategy", "extra_buffer")


def story(requests: int = 8) -> PlanRequest:
    words = ["--mem-fraction-static", "0.8", "--max-running-requests", str(requests), *EAGLE, *EXTRA]
    return make_plan_request("qwen3.6-27b", words, "0.5.11", given=STORY)


def tokens(budget: MemoryBudget) -> int:
    assert budget.kv is not None
    assert budget.kv.tokens is not None
    return budget.kv.tokens


def planned(request: PlanRequest, change: FlagChange) -> MemoryBudget:
    return plan(apply_change(request, change))


def test_what_is_offered_fits_and_brings_more() -> None:
    request = story()
    now = plan(request)
    assert now.max_running_requests == 8
    for change in more_requests(request):
        then = planned(request, change)
        assert then.verdict is Verdict.FITS
        assert (then.max_running_requests or 0) > 8
    for change in more_kv(request):
        assert planned(request, change).verdict is Verdict.FITS
        assert tokens(planned(request, change)) > tokens(now)


def test_more_requests_than_can_run_arent_offered() -> None:
    [change] = more_requests(story())
    asked = int(change.set["max-running-requests"])
    assert planned(story(), change).max_running_requests == asked


def test_with_dp_attention_the_flag_counts_the_requests_of_all_replicas() -> None:
    """0.5.11 model_runner_kv_cache_mixin.py: each takes `max_running_requests // dp_size` of it."""
    words = ["--tp-size", "2", "--dp-size", "2", "--enable-dp-attention", "--max-running-requests", "16"]
    request = make_plan_request("llama-3.1-8b", words, "0.5.11", gpus=2)
    assert plan(request).max_running_requests == 8, "of each"
    [change] = more_requests(request)
    assert change.set == {"max-running-requests": "32"}
    assert planned(request, change).max_running_requests == 16


def test_the_price_is_the_difference_of_both_plans() -> None:
    request = story()
    [change] = more_requests(request)
    fewer = tokens(plan(request)) - tokens(planned(request, change))
    assert change.costs == f"{count(fewer)} of {count(tokens(plan(request)))} tokens of KV cache"


@pytest.mark.parametrize(
    ("words", "here", "change", "needed"),
    [
        ("--tp-size 16 --nnodes 2", 8, {"max-running-requests": 8}, 8),
        ("--tp-size 16 --nnodes 2", 8, {"tp-size": 32}, 16),
        ("--tp-size 2 --pp-size 2", 4, {"tp-size": 4}, 8),
        ("--tp-size 2 --dp-size 2", 4, {"kv-cache-dtype": "fp8_e4m3"}, 4),
        ("--tp-size 2 --dp-size 2 --enable-dp-attention", 2, {"tp-size": 4}, 4),
    ],
)
def test_a_change_is_tried_on_the_cards_that_this_machine_needs(
    words: str, here: int, change: dict[str, int | str], needed: int
) -> None:
    """Of the ranks on several machines it has a share only: server_args.py, `tp_size * pp_size // nnodes`."""
    request = make_plan_request("llama-3.1-8b", words.split(), "0.5.11", gpus=here)
    tried = apply_change(request, Candidate(set=change))
    assert len(tried.cards) == needed
    assert len({card.index for card in tried.cards}) == needed
    assert len(plan(tried).ranks) == needed


def test_a_model_without_states_has_no_slots_to_add() -> None:
    words = ["--mem-fraction-static", "0.8"]
    assert more_slots(make_plan_request("llama-3.1-8b", words, "0.5.11")) == ()


def test_more_slots_cost_precision_or_cache() -> None:
    changes = more_slots(story())
    assert changes
    for change in changes:
        assert (planned(story(), change).max_running_requests or 0) > 8


@pytest.mark.parametrize(
    ("capability", "words", "costs"),
    [
        ((8, 9), (), "precision of the KV cache"),
        ((8, 6), (), "precision of the KV cache; not known to work below compute capability 8.9"),
        (None, (), "precision of the KV cache; not known to work below compute capability 8.9"),
        ((8, 6), ("--attention-backend", "triton"), None),
    ],
)
def test_an_fp8_cache_is_offered_where_the_card_reads_it(
    capability: tuple[int, int] | None, words: tuple[str, ...], costs: str | None
) -> None:
    """Triton compiles no fp8_e4m3 below 8.9; whether FlashInfer reads it there, SGLang doesn't tell."""
    request = make_plan_request("llama-3.1-8b", ["--mem-fraction-static", "0.6", *words], "0.5.11")
    cards = tuple(replace(card, capability=capability) for card in request.cards)
    offers = [change for change in more_kv(replace(request, cards=cards)) if "kv-cache-dtype" in change.set]
    assert [offer.costs for offer in offers] == ([] if costs is None else [costs])


def test_a_cap_that_somebody_set_is_left_out_first() -> None:
    words = ["--mem-fraction-static", "0.8", "--max-running-requests", "8", *EAGLE, *EXTRA]
    capped = [*words, "--max-total-tokens", "3000", "--max-mamba-cache-size", "20"]
    request = make_plan_request("qwen3.6-27b", capped, "0.5.11", given=STORY)
    assert more_kv(request)[0].unset == ("max-total-tokens",)
    slots = more_slots(request)[0]
    assert (slots.unset, plan(request).max_running_requests) == (("max-mamba-cache-size",), 4)
    assert planned(request, slots).max_running_requests == 8
