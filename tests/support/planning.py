"""Plans for tests: a model's config, words as typed, GPUs that needn't exist."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tui.budget.types import Card, Measured, PlanRequest
from tui.gpu.capability import capability_of
from tui.launch.planning import Described, describe_cards
from tui.model.read import read_model
from tui.model.shapes import Model
from tui.sglang.parse import inventories_for, parse_flags
from tui.sglang.versions import parse_release

FIXTURES = Path(__file__).parents[1] / "fixtures" / "budget"
RTX_PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell:97887"
EAGLE = (
    *("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)
# The story's server: free before its weights, its weights, its draft model with an embedding and a head. GiB.
STORY = {"avail_before": 94.3, "weights": 50.96, "draft_weights": 5.53}


@functools.cache
def load_model(config: str) -> Model:
    """A model by the stem of its config among the fixtures."""
    return read_model(FIXTURES / "configs" / f"{config}.json", config)


def make_plan_request(
    config: str,
    words: Sequence[str],
    sglang: str,
    gpu: str = RTX_PRO_6000,
    gpus: int = 1,
    *,
    given: Mapping[str, float] | None = None,
    environment: Mapping[str, str] | None = None,
) -> PlanRequest:
    """A request for equal cards, `NAME:MIB`; `given` as the vectors name measured figures, in GiB."""
    release = parse_release(sglang)
    name, _, total = gpu.rpartition(":")
    figures = given or {}
    return PlanRequest(
        model=load_model(config),
        flags=parse_flags(words, inventories_for(release)),
        release=release,
        cards=tuple(describe_cards(Described(name, int(total) or None, None, gpus))),
        smallest_total_mib=int(total) or None,
        measured=Measured(figures.get("avail_before"), figures.get("weights"), figures.get("draft_weights")),
        environment=environment or {},
        knows_all_flags=len(inventories_for(release)) == 1,
    )


def make_oracle_request(case: Mapping[str, Any], sglang: str, load: Model) -> PlanRequest:
    """The request of a recorded question to SGLang's own code."""
    release, card = parse_release(sglang), case["card"]
    given = case.get("given") or {}
    before, after = given.get("before_gib"), given.get("after_gib")
    flags = parse_flags(case["argv"], inventories_for(release))
    ranks = max(1, int(flags.get("tp-size") or 1))
    capability = tuple(card["capability"]) if card["capability"] else capability_of(card["name"])
    return PlanRequest(
        model=load,
        flags=flags,
        release=release,
        cards=tuple(Card(rank, card["name"], card["total_mib"], capability=capability) for rank in range(ranks)),
        smallest_total_mib=card["total_mib"],
        measured=_measured(before, after),
    )


def _measured(before_gib: float | None, after_gib: float | None) -> Measured:
    """An oracle is given what is free when pools are sized: a draft is part of the difference."""
    if before_gib is None or after_gib is None:
        return Measured()
    return Measured(before_gib, before_gib - after_gib, 0.0)


def dig(answer: Mapping[str, Any], path: str) -> Any:
    """A field of a plan's JSON by its dotted path; None where it is left out."""
    value: Any = answer
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
