"""Logs of real servers: what was done to each is on record; a traceback that was lived through is no cause."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.diagnosing import diagnose, diagnose_beginnings
from tests.support.logs import FIXTURES, REAL_LOGS
from tui.diagnosis.diagnosis import Outcome

REAL = FIXTURES / "real"

# release/name: outcome, class, root line; as the table in the fixtures' README tells what was done.
STOPPED = (Outcome.STOPPED, "none", None)
KILLED = (Outcome.FAILED, "killed_from_outside", None)
EXPECTED: dict[str, tuple[Outcome, str, int | None]] = {
    "0.5.11/badflag": (Outcome.FAILED, "unknown_flag", 339),
    "0.5.11/badvalue": (Outcome.FAILED, "unknown_flag", 339),
    "0.5.11/clean": STOPPED,
    "0.5.11/hugekv": STOPPED,
    "0.5.11/int": STOPPED,
    "0.5.11/kill": KILLED,
    "0.5.11/killdetok": (Outcome.FAILED, "killed_from_outside", 74),
    "0.5.11/killsched": (Outcome.FAILED, "killed_from_outside", 71),
    "0.5.11/killstart": KILLED,
    "0.5.11/llama": STOPPED,
    "0.5.11/mamba-mrr48": (Outcome.FAILED, "unknown", 147),
    "0.5.11/mamba-q35": (Outcome.FAILED, "tokenizer_or_template", 60),
    "0.5.11/mamba-q3next": (Outcome.FAILED, "unknown", 147),
    "0.5.11/nogpu": (Outcome.FAILED, "no_accelerator", 26),
    "0.5.11/nomodel": (Outcome.FAILED, "model_access", 26),
    "0.5.11/notenough": (Outcome.FAILED, "pool_budget_negative", 79),
    "0.5.11/portinuse": (Outcome.FAILED, "http_port_in_use", 58),
    "0.5.11/portinuse-bysglang": (Outcome.FAILED, "http_port_in_use", 58),
    "0.5.11/portinuse-long": (Outcome.FAILED, "http_port_in_use", 58),
    "0.5.11/term": STOPPED,
    "0.5.11/termgrp": STOPPED,
    "0.5.11/termload": STOPPED,
    "0.5.11/termstart": KILLED,
    "0.5.11/tp2": STOPPED,
    "0.5.23/badchoice": (Outcome.FAILED, "unknown_flag", 478),
    "0.5.23/badflag": (Outcome.FAILED, "unknown_flag", 478),
    "0.5.23/badvalue": (Outcome.FAILED, "unknown_flag", 478),
    "0.5.23/hugekv": STOPPED,
    "0.5.23/int": STOPPED,
    "0.5.23/kill": KILLED,
    "0.5.23/killsched": (Outcome.FAILED, "killed_from_outside", 68),
    "0.5.23/killstart": KILLED,
    "0.5.23/llama": STOPPED,
    "0.5.23/mamba-q35": (Outcome.FAILED, "tokenizer_or_template", 63),
    "0.5.23/mamba-q3next": (Outcome.FAILED, "unknown", 221),
    "0.5.23/nomodel": (Outcome.FAILED, "model_access", 26),
    "0.5.23/notenough": (Outcome.FAILED, "pool_budget_negative", 65),
    "0.5.23/portinuse": (Outcome.FAILED, "http_port_in_use", 51),
    "0.5.23/portinuse-bysglang": KILLED,
    "0.5.23/portinuse-long": (Outcome.FAILED, "http_port_in_use", 51),
    "0.5.23/solo": STOPPED,
    "0.5.23/term": STOPPED,
    "0.5.23/termgrp": STOPPED,
    "0.5.23/termload": STOPPED,
    "0.5.23/termstart": KILLED,
    "0.5.23/tp2": STOPPED,
    "0.5.6.post2/solo": KILLED,
    "0.5.6.post2/term": STOPPED,
}


def run_of(name: str) -> dict[str, Any]:
    release, _, stem = name.partition("/")
    runs: dict[str, dict[str, Any]] = json.loads((REAL / release / "runs.json").read_bytes())
    return runs.get(stem, {})


def test_every_recorded_log_is_in_the_table() -> None:
    assert {f"{path.parent.name}/{path.stem}" for path in REAL_LOGS} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_log(name: str) -> None:
    log = (REAL / f"{name}.log").read_bytes()
    found = diagnose(log, release=name.partition("/")[0], returncode=run_of(name).get("returncode"))
    assert (found.outcome, found.failure, found.root_line) == EXPECTED[name]
    assert found.launch_first_line == 1


@pytest.mark.parametrize("name", [name for name, right in EXPECTED.items() if right[1] == "none"])
def test_before_its_end_it_is_healthy(name: str) -> None:
    """Every beginning of a good log is a log of a server with which nothing is wrong."""
    lines = (REAL / f"{name}.log").read_bytes().splitlines(keepends=True)
    pieces = (b"".join(lines[start : start + 11]) for start in range(0, len(lines), 11))
    for number, found in enumerate(diagnose_beginnings(pieces, now="2026-11-29 16:49:00")):
        assert found.failure == "none", (number, found.root_text)


def test_another_server_s_ready_line_isn_t_believed() -> None:
    found = diagnose((REAL / "0.5.11/portinuse-bysglang.log").read_bytes(), returncode=3)
    assert found.ready_line is None
    assert 60 in found.secondary_lines


def test_figures_of_a_real_start() -> None:
    found = diagnose((REAL / "0.5.11/term.log").read_bytes())
    assert found.memory["avail_before_gib"] is not None
    assert found.memory["max_running_requests"] is not None
    assert found.memory["kv"]["tokens"] == 4096
