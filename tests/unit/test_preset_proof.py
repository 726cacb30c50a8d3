from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tui.presets import Engine, Evidence, LaunchDefaults, Preset, Reference
from tui.presets.proof import Here, Standing, digest_of, standing_of

CARD = "NVIDIA H100 80GB HBM3"
BASE = Preset(
    name="mine",
    model="m/x",
    engine=Engine(sglang="0.5.11"),
    flags={"tp-size": 2, "mem-fraction-static": 0.8, "api-key": Reference("env", "KEY"), "enable-metrics": False},
    env={"NCCL_DEBUG": "INFO"},
)
HERE = Here({CARD: 2}, "0.5.11")


def proven(preset: Preset = BASE, **fields: Any) -> Preset:
    digest = digest_of(preset, CARD, 2, "0.5.11")
    evidence = Evidence(
        status="verified", gpu=CARD, gpus=2, sglang="0.5.11", date=dt.date(2026, 11, 30), launch="mine/x", digest=digest
    )
    return replace(preset, evidence=msgspec.structs.replace(evidence, **fields))


def test_it_is_proven_on_such_gpus_and_with_this_release() -> None:
    standing, why = standing_of(proven(), HERE)
    assert standing is Standing.PROVEN_HERE
    assert f"2 x {CARD} with SGLang 0.5.11 on 2026-11-30" in why


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (Here({CARD: 1}, "0.5.11"), "such GPUs aren't here"),
        (Here({"NVIDIA L40S": 8}, "0.5.11"), "such GPUs aren't here"),
        (Here({CARD: 2}, "0.5.23"), "here is SGLang 0.5.23"),
        (Here({CARD: 2}, None), "here is SGLang not found"),
    ],
)
def test_elsewhere_is_not_here(machine: Here, why: str) -> None:
    standing, words = standing_of(proven(), machine)
    assert standing is Standing.PROVEN_ELSEWHERE
    assert why in words


@pytest.mark.parametrize(
    "changes",
    [
        {"flags": {**BASE.flags, "tp-size": 4}},
        {"flags": {**BASE.flags, "mem-fraction-static": 0.81}},
        {"flags": {**BASE.flags, "enable-metrics": True}},
        {"flags": {**BASE.flags, "api-key": Reference("env", "OTHER")}},
        {"flags": {"tp-size": 2}},
        {"model": "m/y"},
        {"env": {}},
        {"engine": Engine(sglang="0.5.23")},
    ],
)
def test_what_was_changed_since_loses_the_mark(changes: dict[str, Any]) -> None:
    standing, _ = standing_of(replace(proven(), **changes), HERE)
    assert standing is Standing.CHANGED


@pytest.mark.parametrize("fields", [{"gpu": "NVIDIA L40S"}, {"gpus": 1}, {"sglang": "0.5.23"}, {"digest": "0" * 16}])
def test_evidence_that_was_edited_proves_nothing(fields: dict[str, Any]) -> None:
    assert standing_of(proven(**fields), HERE)[0] is Standing.CHANGED


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "better words"},
        {"name": "renamed"},
        {"launch": LaunchDefaults(port=31000, gpus=(1, 2), restart="on-failure")},
        {"flags": {name: value for name, value in reversed(list(BASE.flags.items())) if value is not False}},
        {"engine": Engine(sglang="0.5.11", python="/other/python")},
    ],
)
def test_what_changes_nothing_about_the_server_keeps_the_mark(changes: dict[str, Any]) -> None:
    assert standing_of(replace(proven(), **changes), HERE)[0] is Standing.PROVEN_HERE


@pytest.mark.parametrize(
    ("release", "name", "standing"),
    [
        ("0.5.11", "enable-metrics", Standing.PROVEN_HERE),  # a plain switch: off is as if it weren't there
        ("0.5.11", "record-nolora-graph", Standing.CHANGED),  # on unless --no-record-nolora-graph is given
        ("0.5.23", "enable-tf32-matmul", Standing.CHANGED),  # SGLang decides unless told
        ("0.5.11", "flag-of-somebodys-own", Standing.CHANGED),  # nobody knows what it does
        ("0.5.17", "dllm-fdfo", Standing.CHANGED),  # one of its recorded neighbours has it
        ("built here", "enable-metrics", Standing.CHANGED),
    ],
)
def test_a_flag_that_is_switched_off_loses_the_mark_only_where_that_says_something(
    release: str, name: str, standing: Standing
) -> None:
    """`build_arguments` writes `--no-x` for it where the release has that."""
    preset = replace(BASE, engine=Engine(), flags={"tp-size": 2})
    evidence = Evidence(
        status="verified", gpu=CARD, gpus=2, sglang=release, digest=digest_of(preset, CARD, 2, release), launch="mine/x"
    )
    changed = replace(preset, evidence=evidence, flags={"tp-size": 2, name: False})
    assert standing_of(changed, Here({CARD: 2}, release))[0] is standing


def test_words_alone_prove_nothing() -> None:
    assert standing_of(BASE, HERE)[0] is Standing.UNTESTED
    assert standing_of(replace(BASE, evidence=Evidence(status="computed")), HERE)[0] is Standing.COMPUTED
    assert standing_of(replace(BASE, evidence=Evidence(status="verified", gpu=CARD)), HERE)[0] is Standing.CLAIMED
