"""Compares a plan with what SGLang's own code answered to the same question."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.planning import load_model, make_oracle_request
from tui.budget.plan import plan
from tui.budget.refusal import RefusedLaunch
from tui.budget.settings import Settings, resolve_settings
from tui.budget.types import Stage, Verdict
from tui.units import GIB

Case = dict[str, Any]


def compare_flags(release: str, case: Case) -> None:
    """Where the real one refuses the flags, so do we; where it chooses a value, it is the same one."""
    request = make_oracle_request(case, release, load_model(case["config"]))
    if "resolved" not in case:
        with pytest.raises(RefusedLaunch):
            resolve_settings(request)
        return
    settings, resolved = resolve_settings(request), case["resolved"]
    assert settings.fraction == resolved["mem_fraction_static"]
    assert settings.chunk == resolved["chunked_prefill_size"]
    assert settings.backend.page_size == resolved["page_size"]
    assert settings.requests == resolved["max_running_requests"]
    graphs = settings.graphs
    assert (graphs.largest_batch, list(graphs.decode), list(graphs.prefill)) == _graphs_in(resolved)
    _compare_speculation(settings, resolved)


def compare_pools(release: str, case: Case) -> None:
    """The same bytes, slots, tokens and requests."""
    budget = plan(make_oracle_request(case, release, load_model(case["config"])))
    pools = case["pools"]
    assert budget.kv is not None
    if "rest_gib" in pools:
        assert budget.rest is not None
        assert budget.rest / GIB == pytest.approx(pools["rest_gib"], abs=1e-6)
    if "state_slots" in pools:
        assert budget.state is not None
        assert budget.state.slots == pools["state_slots"]
        assert budget.state.slot_bytes == pools["state_bytes_per_slot"]
        assert budget.state.reserve / GIB == pytest.approx(pools["draft_reserve_gib"], abs=1e-6)
    if "max_total_num_tokens" in pools:
        if "bytes_per_token" in pools:
            assert budget.kv.cell_bytes == pytest.approx(pools["bytes_per_token"])
        assert budget.kv.sliding_tokens == pools.get("swa_max_total_num_tokens")
        assert budget.kv.tokens == pools["max_total_num_tokens"]
        # Without room for one request the real one goes on a little, and then refuses.
        assert (budget.max_running_requests or 0) == max(0, pools["max_running_requests"])
        assert (budget.stage_of_failure is Stage.POOL) == (pools["max_running_requests"] <= 0)


def compare_error(release: str, case: Case) -> None:
    """It fails at the same place, in the same words; ours may leave out the advice at the end."""
    budget = plan(make_oracle_request(case, release, load_model(case["config"])))
    assert budget.verdict is Verdict.EXCEEDS
    assert budget.stage_of_failure is (Stage.POOL if "resolved" in case else Stage.ARGS)
    assert budget.expected_error is not None
    ours = re.sub(r"^\w+: ", "", budget.expected_error)
    assert re.sub(r"\s+", " ", case["error"]["message"]).startswith(re.sub(r"\s+", " ", ours))


def _graphs_in(resolved: Case) -> tuple[int, list[int], list[int]]:
    """Largest batch, decode sizes, prefill sizes; empty lists where they are off."""
    if "cuda_graph_config" in resolved:
        decode, prefill = (resolved["cuda_graph_config"][phase] for phase in ("decode", "prefill"))
        return (
            decode["max_bs"],
            [] if decode["backend"] == "disabled" else decode["bs"],
            [] if prefill["backend"] == "disabled" else prefill["bs"],
        )
    is_on = resolved.get("enable_piecewise_cuda_graph") or not resolved.get("disable_piecewise_cuda_graph", True)
    return (
        resolved["cuda_graph_max_bs"],
        [] if resolved["disable_cuda_graph"] else resolved["cuda_graph_bs"],
        resolved["piecewise_cuda_graph_tokens"] if is_on else [],
    )


def _compare_speculation(settings: Settings, resolved: Case) -> None:
    speculation = settings.speculation
    if resolved["speculative_algorithm"] is None:
        assert speculation is None
        return
    assert speculation is not None
    assert speculation.algorithm == resolved["speculative_algorithm"]
    assert speculation.draft_tokens == resolved["speculative_num_draft_tokens"]
