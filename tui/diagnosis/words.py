"""A diagnosis in sentences: what happened, with the log's numbers, and what to do with `--mem-fraction-static`."""

from __future__ import annotations

from typing import Any

from tui.diagnosis.classes import CLASSES, NONE, UNKNOWN
from tui.diagnosis.diagnosis import Change, Diagnosis, Outcome

_DIRECTIONS = {
    "up": "Raise --mem-fraction-static.",
    "down": "Lower --mem-fraction-static: the pools leave too little for the rest.",
    "leave": "Leave --mem-fraction-static as it is: it isn't what decides here.",
}
_OUTCOMES = {
    Outcome.FAILED: "failed",
    Outcome.RUNNING: "is running",
    Outcome.STOPPED: "was stopped",
    Outcome.UNKNOWN: "isn't known to run",
}


def headline(diagnosis: Diagnosis) -> str:
    """`failed in memory pool: weights (and reserves) leave no room (pool_budget_negative), high confidence`."""
    where = f" in {diagnosis.stage}" if diagnosis.outcome is not Outcome.STOPPED else ""
    if diagnosis.failure == NONE:
        return f"{_OUTCOMES[diagnosis.outcome]}{where}; nothing wrong is logged"
    sure = f"{diagnosis.confidence} confidence"
    return f"{_OUTCOMES[diagnosis.outcome]}{where}: {diagnosis.meaning} ({diagnosis.failure}, {sure})"


def explain(diagnosis: Diagnosis) -> str:
    """All of it as one text."""
    sentences = [make_sentence(diagnosis.reason)]
    if CLASSES[diagnosis.failure].is_memory:
        sentences += [make_sentence(text) for text in figures_in_words(diagnosis.memory)]
    if diagnosis.is_memory and diagnosis.direction is not None and diagnosis.failure not in (NONE, UNKNOWN):
        sentences.append(_DIRECTIONS[diagnosis.direction])
    elif diagnosis.direction == "leave" and diagnosis.outcome is Outcome.FAILED and diagnosis.is_memory is False:
        sentences.append("It isn't a matter of GPU memory: leave --mem-fraction-static as it is.")
    return " ".join(sentences)


def figures_in_words(memory: Any) -> list[str]:
    """What the log itself tells of where the memory went."""
    found = []
    before, weights, fraction = (
        memory.get(f"{name}") for name in ("avail_before_gib", "weights_gib", "mem_fraction_static")
    )
    if before is not None and weights is not None:
        found.append(f"the weights took {weights:.2f} of {before:.2f} GiB that were free")
    elif before is not None:
        found.append(f"{before:.2f} GiB were free before the weights")
    rest = memory.get("rest_gib")
    if rest is not None and fraction is not None:
        found.append(f"at --mem-fraction-static {fraction} the pools had {rest:.2f} GiB")
    pool_end, free = memory.get("pool_end_gib"), memory.get("free_gib")
    if pool_end is not None:
        found.append(f"{pool_end:.2f} GiB were free behind the pools")
    if free is not None and pool_end is not None and free < pool_end:
        found.append(f"the last reading was {free:.2f} GiB")
    return found


def describe_change(change: Change) -> str:
    """`--max-running-requests 8`, `SGLang 0.5.13 or later`."""
    words = [f"--{name}" if value is True else f"--{name} {value}" for name, value in change.set.items()]
    unset = [name for name in change.unset if not name.startswith("speculative-")]
    if len(unset) < len(change.unset):
        words.append("no speculation")
    words += [f"without --{name}" for name in unset]
    words += [f"{name}={value}" for name, value in change.environment.items()]
    if change.upgrade is not None:
        words.append(f"SGLang {change.upgrade} or later")
    return " and ".join(words)


def make_sentence(text: str) -> str:
    """With a capital, unless it begins with a flag or a name, and a full stop."""
    text = text.rstrip(".")
    first = text.partition(" ")[0]
    return f"{text}." if "_" in first or "-" in first else f"{text[:1].upper()}{text[1:]}."
