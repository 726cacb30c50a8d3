"""The tables: each row with its own sample, and what rows must be."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.diagnosing import LOGS, QUIT, SCHEDULER, diagnose, upto
from tui.diagnosis.classes import CLASSES
from tui.diagnosis.diagnosis import Confidence
from tui.diagnosis.findings import FINDING_RULES, FindingReader
from tui.diagnosis.last_words import LAST_WORDS
from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Circumstances, Reach, Role, Rule
from tui.diagnosis.rules import RULES, candidates

OPPOSITE = {"up": "down", "down": "up"}


def stage_for(rule: Rule) -> str:
    """One where it counts."""
    return min(rule.stages or {Stage.RUNTIME}, key=list(Stage).index).value


def log_of(rule: Rule) -> list[str]:
    """A launch that ends with the rule's sample at a stage where it counts."""
    stage = stage_for(rule)
    frames = (
        ['  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 3, in capture']
        if "graph" in (rule.id)
        else []
    )
    if rule.id == "draft-oom":
        frames = ['  File "/opt/sglang/srt/speculative/eagle_worker.py", line 3, in __init__']
    if rule.id == "refused-arguments":
        frames = ['  File "/opt/sglang/srt/server_args.py", line 3, in check_server_args', "    assert x"]
    if rule.id == "state-pool-oom":
        frames = ['  File "/opt/sglang/srt/mem_cache/memory_pool.py", line 3, in _init_mamba_pool']
    lines = upto("cuda graph capture")[:5] if rule.id == "behind-pools-oom" else upto(stage)
    return [*lines, *SCHEDULER, *frames, rule.sample, "", QUIT]


def test_ids_are_unique_and_classes_exist() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.failure for rule in RULES} <= set(CLASSES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_row_knows_its_sample(rule: Rule) -> None:
    assert rule in candidates(rule.sample)
    assert rule.pattern.search(rule.sample)
    assert rule.direction in (None, *CLASSES[rule.failure].directions)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_literals_have_no_digits(rule: Rule) -> None:
    """Lines that differ in their figures only are looked up together."""
    assert not [literal for literal in rule.literals if re.search(r"\d", literal)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_pattern_repeats_a_repetition(rule: Rule) -> None:
    assert not re.search(r"[+*}]\)[+*{]", rule.pattern.pattern)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.role is not Role.CONSEQUENCE], ids=lambda r: r.id)
def test_a_row_decides_where_its_sample_ends_a_launch(rule: Rule) -> None:
    found = diagnose(log_of(rule), returncode=-9, release=rule.since or None)
    assert (found.rule, found.failure) == (rule.id, rule.failure)
    assert found.root_text == rule.sample
    assert found.direction in CLASSES[rule.failure].directions


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.role is Role.CONSEQUENCE], ids=lambda r: r.id)
def test_a_consequence_is_no_cause_beside_one(rule: Rule) -> None:
    cause = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    lines = [*upto("weight load"), *SCHEDULER, rule.sample, "", *SCHEDULER, cause, "", QUIT]
    found = diagnose(lines, returncode=-9)
    assert (found.failure, found.root_text) == ("weights_oom", cause)


def test_a_row_counts_only_in_its_releases_and_stages() -> None:
    rule = next(rule for rule in RULES if rule.before)
    at = Circumstances(stage=Stage.ARGS)
    assert rule.applies(at, None)
    assert not rule.applies(Circumstances(stage=Stage.RUNTIME), None)


def test_lines_of_the_compiler_count_only_unstamped() -> None:
    rule = next(rule for rule in RULES if rule.id == "missing-header")
    assert rule.reaches(Reach.LINE)
    assert not rule.reaches(Reach.STAMPED)


# --- the other tables


@pytest.mark.parametrize("rule", FINDING_RULES, ids=lambda rule: rule.id)
def test_a_finding_knows_its_sample(rule: Any) -> None:
    reader = FindingReader()
    assert reader.feed(7, rule.sample) == rule.id
    reader.feed(9, rule.sample)
    (found,) = reader.found
    assert (found.line, found.count) == (7, 2)
    assert "{" not in found.words


def test_a_finding_is_no_failure() -> None:
    line = f"[2026-06-01 10:00:30] {FINDING_RULES[5].sample}"
    found = diagnose([*upto("runtime"), line])
    assert found.failure == "none"
    assert [finding.id for finding in found.findings] == ["retractions"]


@pytest.mark.parametrize("words", LAST_WORDS, ids=lambda words: words.id)
def test_last_words_explain_what_came_to_nothing(words: Any) -> None:
    lines = [*upto("cuda graph capture"), words.sample]
    silent = diagnose(lines, now="2026-06-01 12:00:00")
    killed = diagnose(lines, returncode=-9)
    assert (killed if words.of_end else silent).failure == words.failure
    assert diagnose([*upto("runtime")[:5], words.sample, *upto("runtime")[5:]]).failure == "none"


# --- signatures of public reports


def signature_cases() -> list[dict[str, Any]]:
    lines = (LOGS / "signatures.jsonl").read_text().splitlines()
    return [case for case in map(json.loads, lines) if case["role"] == "failure"]


def frames_of(case: dict[str, Any]) -> list[str]:
    """Where the report says that it was raised."""
    for words, frame in (
        ("draft", '  File "/opt/sglang/srt/speculative/eagle_worker.py", line 3, in __init__'),
        ("mamba pool", '  File "/opt/sglang/srt/mem_cache/memory_pool.py", line 3, in _init_mamba_pool'),
        ("_init_mamba_pool", '  File "/opt/sglang/srt/mem_cache/memory_pool.py", line 3, in _init_mamba_pool'),
    ):
        if words in case["where"]:
            return [frame]
    return []


def embed(case: dict[str, Any], *, with_frames: bool) -> tuple[list[str], int]:
    """The report's line in a log that stopped at its stage, and how that ended."""
    lines, sample, where = upto(case["stage"]), case["sample"], case["where"]
    if "Traceback (most recent call last)" in sample or sample.startswith("Health check"):
        return [*lines, f"[2026-06-01 10:01:00] {sample}"], -9
    if "main traceback" in where or case["stage"] in ("args", "download"):
        main = ["Traceback (most recent call last):", '  File "<frozen runpy>", line 198, in _run_module_as_main']
        return ([*lines, sample] if "error: " in sample else [*lines, *main, sample]), 1
    return [*lines, *SCHEDULER, *(frames_of(case) if with_frames else []), sample, "", QUIT], -9


@pytest.mark.parametrize("with_frames", [True, False])
def test_signatures_of_public_reports_are_recognised(*, with_frames: bool) -> None:
    right, wrong = 0, []
    for case in signature_cases():
        log, code = embed(case, with_frames=with_frames)
        found = diagnose(log, returncode=code)
        directions = CLASSES[case["class"]].directions
        if found.failure == case["class"] and found.direction in directions:
            right += 1
        else:
            wrong.append((case["id"], case["class"], found.failure))
        assert OPPOSITE.get(found.direction or "") not in directions or found.direction in directions, case["id"]
    assert right >= 0.9 * (right + len(wrong)), wrong


# --- unknown is an answer


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: the flux capacitor is misaligned by 3 units",
        "mypackage.errors.WeirdError: cannot proceed",
        "ZeroDivisionError: division by zero",
        "ValueError: bad magic",
    ],
)
@pytest.mark.parametrize("stage", ["weight load", "memory pool", "cuda graph capture", "runtime"])
def test_an_unknown_error_is_called_unknown(text: str, stage: str) -> None:
    found = diagnose([*upto(stage), *SCHEDULER, text, "", QUIT], returncode=-9)
    assert (found.failure, found.confidence, found.root_text) == ("unknown", Confidence.LOW, text)
    assert found.direction is None
    assert found.root_line == len(upto(stage)) + len(SCHEDULER) + 1
