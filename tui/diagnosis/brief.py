"""A diagnosis in a few words with its number, for a table's cell; and by how much memory was short."""

from __future__ import annotations

import re
import signal

from tui.diagnosis.allocation import failed_allocation
from tui.diagnosis.classes import NONE, UNKNOWN
from tui.diagnosis.diagnosis import Confidence, Diagnosis, Outcome
from tui.units import GIB

_POOLS = frozenset({"pool_budget_negative", "mamba_budget_negative"})
_KILLED_BY_OTHERS = frozenset({"killed_from_outside", "host_oom", "host_mem_hicache"})
# Of an end from outside its keeper saw more than the log tells.
_TOLD_BY_END = frozenset({"killed_from_outside", "self_sigkill", "rank_died_elsewhere"})
_FOREIGN = re.compile(r"only [\d.]{1,12} (?:of [\d.]{1,12} )?GiB were free before the weights.{0,120}", re.ASCII)
_OFTEN_SAID = ("SGLang refused the command line: ", "it ")  # a cell has room for what comes behind
_END_OF_CLAUSE = re.compile(r"[.;](?: |$)")


def brief(diagnosis: Diagnosis) -> str | None:
    """What happened, in a few words with the number that decides.

    None where other words are better: nothing wrong, nothing recognised, hardly sure, or ended from outside.
    """
    if diagnosis.failure in (NONE, UNKNOWN, *_TOLD_BY_END) or diagnosis.confidence is Confidence.LOW:
        return None
    return _with_figures(diagnosis) or _first_clause(diagnosis.reason)


def short_gib(diagnosis: Diagnosis) -> float | None:
    """By how much GPU memory was short, in GiB; None where no figure tells.

    Of pools: what the weights, or the reserve for drafts' states, exceed their share by. Of an allocation that failed:
    what that piece exceeded the free memory by. Of weights, where the budget can tell: all that is missing.
    """
    if diagnosis.failure in _POOLS:
        return _short_of_pool(diagnosis)
    if diagnosis.failure == "weights_oom" and (planned := diagnosis.memory.get("short_gib")) is not None:
        return float(planned)
    piece = _failed_piece(diagnosis)
    return None if piece is None else round(max(0.0, piece[0] - piece[1]), 2)


def exit_words(returncode: int | None, failure: str, outcome: Outcome, *, has_root: bool) -> str:
    """`exit 1`, `exit -9 (SGLang kills itself after an error; not the kernel)`; empty where nobody saw it."""
    if returncode is None:
        return ""
    own = returncode == -signal.SIGKILL and has_root
    own = own and outcome is Outcome.FAILED and failure not in _KILLED_BY_OTHERS
    return f"exit {returncode}{' (SGLang kills itself after an error; not the kernel)' if own else ''}"


def _with_figures(diagnosis: Diagnosis) -> str | None:
    if diagnosis.failure in _POOLS:
        return _of_pools(diagnosis)
    if diagnosis.failure == "gpu_memory_foreign":
        foreign = _FOREIGN.search(diagnosis.reason)
        return None if foreign is None else foreign[0]
    if diagnosis.failure == "weights_oom" and (missing := diagnosis.memory.get("short_gib")) is not None:
        return f"the weights don't fit: short by {missing:.1f} GiB"
    piece = _failed_piece(diagnosis)
    if piece is None or diagnosis.failure not in _PIECES:
        return None
    return f"{_PIECES[diagnosis.failure]}: {piece[0]:.2f} GiB asked for, {piece[1]:.2f} free"


def _of_pools(diagnosis: Diagnosis) -> str | None:
    rest, reserve, short = diagnosis.memory.get("rest_gib"), _reserve(diagnosis), short_gib(diagnosis)
    if rest is not None and reserve > max(0.0, rest):
        return f"state for drafts {reserve:.1f} GiB, the pools have {max(0.0, rest):.1f}"
    return None if not short else f"weights leave no room for the pools: short by {short:.1f} GiB"


_PIECES = {
    "weights_oom": "the weights don't fit",
    "cuda_graph_oom": "out of memory while capturing graphs",
    "activation_oom": "out of memory in a batch",
    "draft_not_budgeted": "no room for the draft model",
    "mamba_pool_alloc_oom": "no room for the state pool",
}


def _short_of_pool(diagnosis: Diagnosis) -> float | None:
    rest = diagnosis.memory.get("rest_gib")
    if rest is None:
        return None
    short = max(_reserve(diagnosis) - rest, -rest)
    return round(short, 2) if short > 0 else None


def _reserve(diagnosis: Diagnosis) -> float:
    """What drafts' states take from the pools before anything else, in GiB."""
    states = diagnosis.memory.get("mamba") or {}
    return float(states.get("reserve_gib") or 0.0)


def _failed_piece(diagnosis: Diagnosis) -> tuple[float, float] | None:
    """What was asked for, and what was free, in GiB."""
    found = failed_allocation(diagnosis.root_text or "")
    return None if found is None else (found[0] / GIB, found[1] / GIB)


def _first_clause(reason: str) -> str:
    for words in _OFTEN_SAID:
        reason = reason.removeprefix(words)
    end = _END_OF_CLAUSE.search(reason)
    return reason if end is None else reason[: end.start()]
