"""LoRA flags that don't go together: check_lora_server_args in SGLang's arg_groups/lora_hook.py (0.5.23).

The same checks stand in server_args.py of 0.5.11 (from line 6972) and, unless a rule says since when, of 0.5.6.post2
(from line 4239).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity

_IDLE_WITHOUT = ("max-lora-rank", "lora-target-modules", "max-loras-per-batch", "max-loaded-loras", "lora-backend")
# Algorithms that no release serves adapters with; until 0.5.11 only NGRAM goes (server_args.py:7003), in 0.5.23 those
# with as many tokens for each request do (lora_hook.py:252).
_NEVER_WITH_LORA = ("STANDALONE", "FROZEN_KV_MTP")


class _Rule(Struct, frozen=True):
    """A check of a command line that serves adapters.

    Attributes:
        broken: says what is wrong, or None.
    """

    flag: str
    broken: Callable[[Case], str | None]
    remedy: str


def find_lora_faults(case: Case) -> Iterator[Finding]:
    """What ends the start of a server with adapters, and what is idle in one without."""
    if not (case.is_on("enable-lora") or case.get("lora-paths")):
        yield from _find_idle(case)
        return
    for rule in _RULES:
        why = rule.broken(case)
        if why is not None:
            yield Finding("lora", Severity.ERROR, case.typed(rule.flag), why, rule.remedy)


def _find_idle(case: Case) -> Iterator[Finding]:
    for common in _IDLE_WITHOUT:
        if case.get(common) is not None:
            name = case.typed(common)
            what = f"--{name} has no effect: neither --enable-lora nor --lora-paths is given"
            yield Finding("no-lora", Severity.WARNING, name, what, "give one of them", Fix(unset=(name,)))


def _paths(case: Case) -> tuple[Any, ...]:
    return tuple(case.get("lora-paths") or ())


def _batch(case: Case) -> int:
    return int(case.effective("max-loras-per-batch") or 0)


def _unnamed(case: Case) -> str | None:
    """lora_hook.py:153, 0.5.11 :7063, 0.5.6.post2 :4327."""
    if _paths(case) or (case.get("max-lora-rank") and case.get("lora-target-modules")):
        return None
    return "without --lora-paths SGLang must be told --max-lora-rank and --lora-target-modules"


def _speculation(case: Case) -> str | None:
    """lora_hook.py:253, 0.5.11 :7003, 0.5.6.post2 :4257. Between 0.5.11 and 0.5.23 only what neither takes."""
    algorithm = str(case.get("speculative-algorithm") or "NGRAM").upper()
    if algorithm in _NEVER_WITH_LORA or (algorithm != "NGRAM" and not case.release.includes("0.5.12")):
        return f"SGLang {case.release.text} serves no LoRA adapters with {algorithm} speculation"
    return None


def _batch_size(case: Case) -> str | None:
    """lora_hook.py:36, 0.5.11 :6973, 0.5.6.post2 :4240."""
    return None if _batch(case) > 0 else "no adapter fits into a batch of none"


def _loaded(case: Case) -> str | None:
    """lora_hook.py:158-163, 0.5.11 :7067-7074, 0.5.6.post2 :4331-4338."""
    loaded = case.get("max-loaded-loras")
    if loaded is None:
        return None
    if loaded < _batch(case):
        return f"{loaded} adapters may be loaded, and {_batch(case)} may be in one batch"
    if len(_paths(case)) > loaded:
        return f"{loaded} adapters may be loaded, and {len(_paths(case))} are named"
    return None


def _overlap(case: Case) -> str | None:
    """lora_hook.py:63, 0.5.11 :6991; its flag came in between."""
    if not case.is_on("enable-lora-overlap-loading"):
        return None
    most, loaded = 2 * _batch(case), case.get("max-loaded-loras")
    if loaded is not None and loaded <= most:
        return None
    return f"--enable-lora-overlap-loading needs --max-loaded-loras, {most} at most"


def _all_modules(case: Case) -> str | None:
    """lora_hook.py:147, 0.5.11 :7056, 0.5.6.post2 :4308."""
    modules = case.get("lora-target-modules") or ()
    return (
        "`all` stands for all modules, and others are named beside it"
        if "all" in modules and len(modules) > 1
        else None
    )


def _virtual_experts(case: Case) -> str | None:
    """0.5.11 :7083; 0.5.23 has no such check."""
    is_checked = case.release.includes("0.5.11") and not case.release.includes("0.5.12")
    backend = case.effective("lora-backend")
    if not is_checked or not case.is_on("lora-use-virtual-experts") or backend == "triton":
        return None
    return f"--lora-use-virtual-experts needs --lora-backend triton, and it is {backend}"


_RULES = (
    _Rule("max-loras-per-batch", _batch_size, "give 1 or more"),
    _Rule("enable-lora", _unnamed, "name adapters, or give both"),
    _Rule("speculative-algorithm", _speculation, "leave the one or the other out"),
    _Rule("max-loaded-loras", _loaded, "raise it, or lower --max-loras-per-batch"),
    _Rule("enable-lora-overlap-loading", _overlap, "give it, or leave the overlap out"),
    _Rule("lora-target-modules", _all_modules, "leave the others out"),
    _Rule("lora-use-virtual-experts", _virtual_experts, "give --lora-backend triton"),
)
