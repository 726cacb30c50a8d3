"""Which release does its arithmetic how: one table of what changed when. Add a row when a release changes something.

Each row was read in the wheels of the releases around it; `tests/fixtures/budget` holds what their own functions and
logs say. Files and lines are named beside the formulas that use a rule.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from tui.sglang.versions import NEWEST_KNOWN, Release


class StateSplit(StrEnum):
    """How the pool is divided between recurrent state and KV cache."""

    SLOTS_WITH_DRAFTS = "each slot carries its drafts' states"
    RESERVED_FIRST = "drafts of all allowed requests are reserved first"
    JOINT = "slots and drafts are solved together"


class Fraction(StrEnum):
    """How `mem_fraction_static` is chosen."""

    STEPS = "by the number of ranks"
    BY_CARD = "a reserve by the size of the card"
    BY_WORK = "a reserve by prefill chunk and graphs"


class Rules(Struct, frozen=True):
    """What a release does. The defaults are those of 0.4.3, the oldest that logs tell of.

    Attributes of the automatic memory fraction:
        fraction: which formula.
        draft_reserve_mib, standalone_reserve_mib: what a draft model adds to its reserve.
        graphs_off_frees_reserve: without decode graphs their share leaves the reserve, and roles count.
        unknown_card_fraction: where the card's size can't be read.
        text_only_flag, text_only_decode: `--language-only` and the decode role are spared the cut for images.
    Attributes of graphs:
        prefill_graphs: captured for prefill unless something stops them; before, only when asked for.
        prefill_divisor: a token's share of the reserve is 1/divisor MiB; None: 8 MiB a graph.
        opt_in_limit: tokens of the largest prefill graph where nothing is said; None: a prefill chunk.
        latent_graphs_follow_chunk: with MLA too, up to 8192.
        graphs_off_for_prefill: `--disable-cuda-graph` means prefill graphs as well.
        prefill_cap_by_context: `--context-length` caps their sizes.
        adds_largest: the largest decode batch gets a graph even where it is no step of the list.
        requests_cap_graphs: `--max-running-requests` lowers the default of the largest decode graph.
    Attributes of a small card:
        small_card_chunk, small_card_batches: below 35 GiB; batches for fewer than 4 ranks, and for more.
    Attributes of the draft model:
        draft_first: loaded before pools are sized; its KV layers are priced.
        prices_pathless_drafts: MTP layers too, where no draft path is given.
        drafts_are_chains: EAGLE's default is a chain of drafts for nearly all models, no tree.
        drafts_widen_pool: the token count grows by what drafts of all requests take, after sizing.
        overlap_with_drafts: EAGLE keeps the overlap schedule by default (SGLANG_ENABLE_SPEC_V2); None: always.
        trees_stop_overlap: a typed top-k above 1 switches it off.
        ratio_ignores_overlap: a request's slots depend on speculation, not on the overlap schedule.
    Attributes of recurrent state:
        strategies: a strategy can be chosen (the flag exists).
        auto_strategy: what `auto` becomes where the model allows it.
        split: how state and KV cache share the pool.
        reserves_fitted_only: drafts' states are reserved only where the ratio decides the slots.
        config_decides_state_dtype: the config's dtype counts where neither flag nor environment names one.
        state_size_honoured: `--max-mamba-cache-size` counts with the radix cache on.
        radix_off_needs_requests: without radix cache and `--max-running-requests`, slots follow the ratio; else 512.
        padding_slot: the slot that is never used is charged to the pool.
        stage_share: with pipeline parallelism a stage pays for its own linear layers only.
        replay_ring_a_request: the replay ring is sized by requests, not by slots.
    Attributes of the KV cache and requests:
        shares_index: layers that use another's sparse index aren't charged for one.
        pools_index: tokens that share an index key are charged for it together.
        prices_rows: sizing charges rows of sparse-attention models as they are stored.
        caps_sliding: without radix cache the pool of sliding-window layers follows the number of requests.
        multimodal_reserve_mib: taken from the pool of a multimodal model.
        estimate_caps_requests: a given `--max-running-requests` is capped by the estimate.
        tokens_cap_requests: it is capped by half the tokens.
        one_request_at_least: dividing it among attention replicas leaves at least one.
        extra_row: one request more than estimated.
    """

    fraction: Fraction = Fraction.STEPS
    draft_reserve_mib: int = 0
    standalone_reserve_mib: int = 0
    graphs_off_frees_reserve: bool = False
    unknown_card_fraction: float = 0.88
    text_only_flag: bool = False
    text_only_decode: bool = False
    prefill_graphs: bool = False
    prefill_divisor: int | None = 4
    opt_in_limit: int | None = 4096
    latent_graphs_follow_chunk: bool = False
    graphs_off_for_prefill: bool = False
    prefill_cap_by_context: bool = False
    adds_largest: bool = False
    requests_cap_graphs: bool = False
    small_card_chunk: int = 2048
    small_card_batches: tuple[int, int] = (8, 80)
    draft_first: bool = False
    prices_pathless_drafts: bool = False
    drafts_are_chains: bool = False
    drafts_widen_pool: bool = True
    overlap_with_drafts: bool | None = False
    trees_stop_overlap: bool = False
    ratio_ignores_overlap: bool = False
    strategies: bool = False
    auto_strategy: str = "no_buffer"
    split: StateSplit = StateSplit.SLOTS_WITH_DRAFTS
    reserves_fitted_only: bool = False
    config_decides_state_dtype: bool = False
    state_size_honoured: bool = False
    radix_off_needs_requests: bool = False
    padding_slot: bool = False
    stage_share: bool = False
    replay_ring_a_request: bool = False
    shares_index: bool = False
    pools_index: bool = False
    prices_rows: bool = False
    caps_sliding: bool = False
    multimodal_reserve_mib: int = 0
    estimate_caps_requests: bool = False
    tokens_cap_requests: bool = False
    one_request_at_least: bool = False
    extra_row: bool = True


# Release, and what it changed.
_CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "0.4.8",
        {
            "fraction": Fraction.BY_CARD,
            "draft_reserve_mib": 2048,
            "standalone_reserve_mib": 2048,
            "extra_row": False,
        },
    ),
    ("0.5.2", {"standalone_reserve_mib": 6144}),
    ("0.5.3", {"fraction": Fraction.BY_WORK, "small_card_batches": (24, 80)}),
    (
        "0.5.7",
        {
            "prefill_divisor": 8,
            "opt_in_limit": None,
            "drafts_widen_pool": False,
            "strategies": True,
            "ratio_ignores_overlap": True,
            "split": StateSplit.RESERVED_FIRST,
            "reserves_fitted_only": True,
            "state_size_honoured": True,
        },
    ),
    (
        "0.5.8",
        {
            "prefill_divisor": None,
            "drafts_are_chains": True,
            "reserves_fitted_only": False,
        },
    ),
    ("0.5.9", {"radix_off_needs_requests": True, "text_only_flag": True, "config_decides_state_dtype": True}),
    (
        "0.5.10",
        {
            "draft_reserve_mib": 4096,
            "prefill_graphs": True,
            "adds_largest": True,
            "ratio_ignores_overlap": False,
            "estimate_caps_requests": True,
        },
    ),
    ("0.5.11", {"overlap_with_drafts": True, "trees_stop_overlap": True}),
    ("0.5.13", {"split": StateSplit.JOINT, "prefill_cap_by_context": True, "trees_stop_overlap": False}),
    (
        "0.5.14",
        {
            "draft_reserve_mib": 0,
            "standalone_reserve_mib": 0,
            "graphs_off_for_prefill": True,
            "draft_first": True,
            "overlap_with_drafts": None,
            "auto_strategy": "extra_buffer",
            "estimate_caps_requests": False,
            "tokens_cap_requests": True,
            "caps_sliding": True,
        },
    ),
    ("0.5.15", {"graphs_off_frees_reserve": True}),
    (
        "0.5.17",
        {
            "text_only_decode": True,
            "prefill_cap_by_context": False,
            "padding_slot": True,
            "stage_share": True,
            "prices_rows": True,
        },
    ),
    ("0.5.18", {"multimodal_reserve_mib": 100, "shares_index": True}),
    (
        "0.5.20",
        {
            "unknown_card_fraction": 0.95,
            "small_card_chunk": 4096,
            "small_card_batches": (48, 160),
            "prices_pathless_drafts": True,
            "replay_ring_a_request": True,
        },
    ),
    ("0.5.22", {"requests_cap_graphs": True, "pools_index": True}),
    ("0.5.23", {"latent_graphs_follow_chunk": True, "one_request_at_least": True}),
)


@functools.lru_cache(maxsize=32)
def rules_of(release: Release) -> Rules:
    """The rules of a release: all changes up to it. A build without a number counts as the newest known."""
    number = release.number if release.has_number else NEWEST_KNOWN
    rules = Rules()
    for since, change in _CHANGES:
        if number >= Version(since):
            rules = replace(rules, **change)
    return rules
