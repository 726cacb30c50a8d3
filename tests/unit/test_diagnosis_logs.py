"""Eighteen hand-made logs of failures: root line, class, readiness, cut and direction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.diagnosing import LOGS, diagnose
from tui.diagnosis.classes import CLASSES
from tui.diagnosis.diagnosis import Confidence, Outcome

NAMES = sorted(path.stem for path in LOGS.glob("*.log"))
# Nothing in these tells that they ended: without the status nobody can know.
TOLD_BY_STATUS = {"log-just-stops-host-oom"}


def expected(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((LOGS / f"{name}.expected.json").read_bytes())
    return document


def test_there_are_eighteen() -> None:
    assert len(NAMES) == 18


@pytest.mark.parametrize("with_status", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_log_of_a_failure(name: str, *, with_status: bool) -> None:
    right = expected(name)
    if name in TOLD_BY_STATUS and not with_status:
        pytest.skip("nothing in it tells that it ended")
    code = right["exit"]["code"] if with_status and right["exit"] else None
    found = diagnose(
        (LOGS / f"{name}.log").read_bytes(), release=right["sglang"], returncode=code, now=right.get("observe_at")
    )
    assert found.root_line in [right["root_cause_line"], *right["also_accepted_lines"]]
    assert found.failure == right["class"]
    assert found.direction in right["fraction_direction_accepted"]
    assert (found.ready_line is not None) == right["launch_reached_ready"]
    assert right["ready_line"] in (None, found.ready_line)
    assert found.launch_first_line == right["current_launch_first_line"]
    assert found.root_line not in [
        wrong["line"] for wrong in right["distractors"] if wrong["line"] not in right["also_accepted_lines"]
    ]
    assert (found.root_text or "") in Path(LOGS / f"{name}.log").read_text(errors="replace")


@pytest.mark.parametrize("name", NAMES)
def test_the_release_needn_t_be_known(name: str) -> None:
    right = expected(name)
    code = right["exit"]["code"] if right["exit"] else None
    found = diagnose((LOGS / f"{name}.log").read_bytes(), returncode=code, now=right.get("observe_at"))
    assert (found.failure, found.root_line) in [
        (right["class"], line) for line in [right["root_cause_line"], *right["also_accepted_lines"]]
    ]


def test_consequences_are_named_as_such() -> None:
    story = diagnose((LOGS / "story-mamba-spec-pool.log").read_bytes(), returncode=-9)
    assert story.secondary_lines == (39, 40)  # the sigquit line, and the shell's word without an end of line
    assert story.confidence is Confidence.HIGH
    assert story.outcome is Outcome.FAILED


def test_a_kill_out_of_nowhere_may_be_memory_or_not() -> None:
    found = diagnose((LOGS / "log-just-stops-host-oom.log").read_bytes(), returncode=-9)
    assert found.is_memory is None
    kernel = diagnose((LOGS / "log-just-stops-host-oom.log").read_bytes(), returncode=-9, killed_by="kernel")
    assert (kernel.failure, kernel.is_memory) == ("host_oom", True)


def test_figures_are_those_of_the_log() -> None:
    found = diagnose((LOGS / "stale-first-launch-failed.log").read_bytes())
    assert found.memory["avail_before_gib"] == 94.21
    assert found.memory["weights_gib"] == 61.11
    assert found.memory["kv"]["tokens"] is not None
    assert found.memory["kv"]["k_gib"] == 11.77
    assert found.memory["mem_fraction_static"] == 0.9


def test_every_class_has_a_usual_direction() -> None:
    assert all(kind.directions for kind in CLASSES.values())
