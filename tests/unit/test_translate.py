"""Flags carried from one release to another. The pairs are what SGLang 0.5.14 to 0.5.19 did with the old names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.flag_words import tables
from tui.sglang.flag_history import find_life, histories
from tui.sglang.flags import RELEASES, load_inventory
from tui.sglang.parse import Trouble, parse_flags
from tui.sglang.references import Reference
from tui.sglang.renames import DISPENSABLE, GONE, RENAMES
from tui.sglang.target import Target, recorded_target
from tui.sglang.translate import translate
from tui.sglang.versions import parse_release


def target(release: str) -> Target:
    return recorded_target(parse_release(release))


def moved(flags: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return dict(translate(flags, target(old), target(new)).flags)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"mamba-scheduler-strategy": "extra_buffer"}, {"mamba-radix-cache-strategy": "extra_buffer"}),
        ({"cuda-graph-max-bs": 8}, {"cuda-graph-max-bs-decode": 8}),
        ({"cuda-graph-bs": [1, 2]}, {"cuda-graph-bs-decode": [1, 2]}),
        ({"nsa-decode-backend": "fa3"}, {"dsa-decode-backend": "fa3"}),
        ({"piecewise-cuda-graph-tokens": [64]}, {"cuda-graph-bs-prefill": [64]}),
        ({"disable-piecewise-cuda-graph": True}, {"cuda-graph-backend-prefill": "disabled"}),
        ({"prefill-cp-mode": "in-seq-split"}, {"cp-strategy": "zigzag"}),
        ({"keep-mm-feature-on-device": True}, {"mm-feature-transport": "cuda_ipc"}),
    ],
)
def test_there_and_back(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert moved(old, "0.5.11", "0.5.23") == new
    if "cp-strategy" not in new:
        assert moved(new, "0.5.23", "0.5.11") == old


def test_the_order_is_kept_and_what_needs_no_change_is_left_alone() -> None:
    flags: dict[str, Any] = {
        "tp": 2,
        "mamba-scheduler-strategy": "auto",
        "mem-fraction": 0.8,
        "api-key": Reference("env", "KEY"),
    }
    translation = translate(flags, target("0.5.11"), target("0.5.23"))
    assert list(translation.flags) == ["tp", "mamba-radix-cache-strategy", "mem-fraction", "api-key"]
    [change] = translation.changes
    assert (change.old, change.new) == ({"mamba-scheduler-strategy": "auto"}, {"mamba-radix-cache-strategy": "auto"})
    assert "0.5.20 removed it" in change.why


def test_a_short_form_that_is_no_longer_unique_is_spelled_out() -> None:
    """`--enable-torch` is one flag's prefix in 0.5.11; `--cuda-graph-max` begins two flags in 0.5.23."""
    assert moved({"cuda-graph-max": 8}, "0.5.11", "0.5.23") == {"cuda-graph-max-bs-decode": 8}


def test_attention_replicas_are_a_pair_in_earlier_releases() -> None:
    assert moved({"attn-dp-size": 4}, "0.5.23", "0.5.11") == {"dp-size": 4, "enable-dp-attention": True}
    assert moved({"dp-size": 4, "enable-dp-attention": True}, "0.5.11", "0.5.23") == {
        "dp-size": 4,
        "enable-dp-attention": True,
    }


@pytest.mark.parametrize(
    ("flags", "old", "new", "part"),
    [
        ({"torchao-config": "int8wo"}, "0.5.11", "0.5.23", "0.5.18 removed it"),
        ({"enforce-piecewise-cuda-graph": True}, "0.5.11", "0.5.23", "must be one of full"),
        ({"attention-backend": "cutlass_mla"}, "0.5.11", "0.5.23", "must be one of"),
        ({"load-balance-method": "shortest_queue"}, "0.5.6.post2", "0.5.11", "must be one of"),
        ({"mamba-radix-cache-strategy": "extra_buffer_lazy"}, "0.5.23", "0.5.11", "must be one of auto"),
        ({"enable-unified-memory": True}, "0.5.23", "0.5.11", "SGLang has it from"),
        ({"no-such-flag": 1}, "0.5.11", "0.5.23", "hasn't got it"),
        ({"cp-strategy": "zigzag"}, "0.5.23", "0.5.11", "SGLang has it from"),
    ],
)
def test_what_cannot_be_carried_is_said_and_left_out(flags: dict[str, Any], old: str, new: str, part: str) -> None:
    translation = translate(flags, target(old), target(new))
    [lost] = translation.lost
    assert part in lost.why
    assert lost.remedy
    assert translation.flags == {}


def test_a_json_list_becomes_a_list() -> None:
    assert moved({"piecewise-cuda-graph-tokens": "[1, 2]"}, "0.5.6.post2", "0.5.11") == {
        "piecewise-cuda-graph-tokens": [1, 2]
    }


@pytest.mark.parametrize(("old", "new"), [(a, b) for a in RELEASES for b in RELEASES if a != b])
def test_no_flag_vanishes_without_a_word(old: str, new: str) -> None:
    """Each flag of a release is carried, changed with a reason, or lost with one."""
    for flag in load_inventory(old).flags:
        asked: dict[str, Any] = {flag.name: True}
        translation = translate(asked, target(old), target(new))
        told = [name for change in translation.changes for name in change.old] + [
            lost.name for lost in translation.lost
        ]
        assert told == [flag.name] or (translation.flags == asked and not told)


@given(st.data(), st.sampled_from([(a, b) for a in RELEASES for b in RELEASES if a != b]))
@settings(max_examples=30, deadline=None)
def test_what_is_carried_is_taken_there(data: st.DataObject, way: tuple[str, str]) -> None:
    old, new = way
    flags = data.draw(tables(load_inventory(old), without=frozenset({"config"})))
    carried = translate(flags, target(old), target(new)).flags
    words = [f"--{name}" for name, value in carried.items() if value is not False]
    kinds = {trouble.kind for trouble in parse_flags(words, [load_inventory(new)]).troubles}
    assert kinds <= {Trouble.NO_VALUE}


def test_the_table_names_flags_that_there_are_and_the_history_agrees_with_the_inventories() -> None:
    known = {flag.name for release in RELEASES for flag in load_inventory(release).flags}
    assert {row.old for row in RENAMES} | {row.new for row in RENAMES} | set(DISPENSABLE) | set(GONE) <= known
    for option, life in histories().items():
        for release in RELEASES:
            assert life.includes(parse_release(release)) == (load_inventory(release).find(option) is not None), option
    for release in RELEASES:
        for flag in load_inventory(release).flags:
            found = find_life(flag.option_strings[0])
            assert found is None or found.includes(parse_release(release))
