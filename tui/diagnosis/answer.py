"""A diagnosis as the JSON that scripts read (`sgltui explain --json`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tui.diagnosis.brief import brief, short_gib
from tui.diagnosis.diagnosis import Change, Diagnosis
from tui.diagnosis.findings import Finding
from tui.diagnosis.redaction import redact
from tui.diagnosis.words import explain

SCHEMA = 1


def to_json(diagnosis: Diagnosis, secrets: Iterable[str] = ()) -> dict[str, Any]:
    """The contract's fields; secrets are replaced, unknown values null."""
    hidden, few_words = tuple(secrets), brief(diagnosis)
    return {
        "schema": SCHEMA,
        "sglang": diagnosis.release,
        "sglang_assumed": diagnosis.assumed_release,
        "launch_first_line": diagnosis.launch_first_line,
        "ready_line": diagnosis.ready_line,
        "reached_ready": diagnosis.ready_line is not None,
        "stage": diagnosis.stage.value,
        "outcome": diagnosis.outcome.value,
        "root_cause_line": diagnosis.root_line,
        "root_cause_text": None if diagnosis.root_text is None else redact(diagnosis.root_text, hidden),
        "class": diagnosis.failure,
        "is_memory": diagnosis.is_memory,
        "confidence": diagnosis.confidence.value,
        "fraction_direction": diagnosis.direction,
        "brief": None if few_words is None else redact(few_words, hidden),
        "short_gib": short_gib(diagnosis),
        "explanation": redact(explain(diagnosis), hidden),
        "changes": [change_to_json(change) for change in diagnosis.changes],
        "advice": list(diagnosis.advice),
        "secondary_lines": list(diagnosis.secondary_lines),
        "memory": dict(diagnosis.memory),
        "findings": [_finding(finding, hidden) for finding in diagnosis.findings],
        "returncode": diagnosis.returncode,
    }


def change_to_json(change: Change) -> dict[str, Any]:
    """One change: flags by name without dashes."""
    return {
        "set": dict(change.set),
        "unset": list(change.unset),
        "upgrade": change.upgrade,
        "effect": change.effect,
        "costs": change.costs,
        "environment": dict(change.environment),
    }


def _finding(finding: Finding, secrets: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": finding.id,
        "line": finding.line,
        "count": finding.count,
        "severity": finding.severity.value,
        "text": redact(finding.words, secrets),
    }
