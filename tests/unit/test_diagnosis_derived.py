"""Findings from figures, and a diagnosis beside a log that grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.diagnosing import LOGS, QUIT, READY, SCHEDULER, diagnose, upto
from tui.diagnosis.conclude import conclude
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis, Ending
from tui.launch.explain import Case
from tui.launch.watch import LogWatch

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def ids(found: Diagnosis) -> set[str]:
    return {finding.id for finding in found.findings}


def changed(old: str, new: str) -> list[str]:
    return [line.replace(old, new) for line in READY]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("max_total_num_tokens=612345", "max_total_num_tokens=100000", "context-over-pool"),
        ("mem_fraction_static=0.85", "mem_fraction_static=0.85, max_running_requests=512", "requests-reduced"),
        ("mem_fraction_static=0.85", "mem_fraction_static=0.85, disable_radix_cache=True", "radix-cache-off"),
        ("#queue-req: 0", "#queue-req: 0, accept len: 1.02", "drafts-refused"),
    ],
)
def test_figures_tell_what_no_line_says(old: str, new: str, finding: str) -> None:
    lines = changed(old, new)
    if finding == "drafts-refused":
        lines[-1] = lines[-1].replace("cuda graph: True", "accept len: 1.02, cuda graph: True")
    found = diagnose(lines)
    assert ids(found) == {finding}
    assert found.failure == "none"


def test_a_plain_start_has_no_findings() -> None:
    assert ids(diagnose(READY)) == set()


def test_a_hybrid_model_s_few_requests_are_told() -> None:
    lines = changed("Qwen3ForCausalLM", "Qwen3NextForCausalLM")
    found = diagnose([line.replace("max_running_requests=64", "max_running_requests=6") for line in lines])
    assert ids(found) == {"requests-capped-by-states"}


def test_gpus_that_differ_are_told() -> None:
    lines = [line.replace("] Load weight begin", " TP0] Load weight begin") for line in READY]
    lines.insert(3, "[2026-06-01 10:00:02 TP1] Load weight begin. avail mem=38.13 GB")
    assert "unbalanced-gpus" in ids(diagnose(lines))


def test_another_server_s_memory_is_told_where_the_card_is_known() -> None:
    detective = Detective()
    detective.feed("\n".join([*upto("weight load"), *SCHEDULER, OOM, "", QUIT, ""]).encode())
    assert conclude(detective, Ending(-9, card_gib=95.6)).failure == "weights_oom"
    half = conclude(detective, Ending(-9, card_gib=188.0))
    assert (half.failure, half.direction) == ("gpu_memory_foreign", "leave")
    assert "foreign-memory" in ids(half)


def test_a_watch_says_it_as_soon_as_it_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    watch = LogWatch(Case(log))
    assert watch.catch_up().diagnosis.failure == "none"
    lines = (LOGS / "story-mamba-spec-pool.log").read_bytes().split(b"\n")
    with log.open("wb") as file:
        for number, line in enumerate(lines[:39], 1):
            file.write(line + b"\n")
            file.flush()
            found = watch.catch_up().diagnosis
            assert (found.failure == "pool_budget_negative") == (number >= 37), number
    watch.update(Case(log, ending=Ending(returncode=-9)))
    assert watch.catch_up().diagnosis.returncode == -9
    watch.close()
