"""What a preset's evidence is worth here and now: the mark is lost when what it was given for has changed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from tui.errors import UsageError
from tui.presets.preset import Evidence, Preset
from tui.sglang.command import has_negation
from tui.sglang.flags import FlagInventory
from tui.sglang.parse import inventories_for
from tui.sglang.references import Reference
from tui.sglang.versions import parse_release

_DIGITS = 16


class Standing(StrEnum):
    """How far a preset can be trusted on this machine."""

    PROVEN_HERE = "proven here"  # it ran, on such GPUs and with the release that would run it now
    PROVEN_ELSEWHERE = "proven elsewhere"  # it ran, on other GPUs or with another release than there are here
    CHANGED = "changed since"  # it ran, and model, flags, variables, release or GPU have been changed since
    CLAIMED = "claimed"  # somebody wrote that it works; no launch proves it
    COMPUTED = "computed"  # planned, not run
    UNTESTED = "untested"


class Here(Struct, frozen=True):
    """This machine, as far as a proof depends on it.

    Attributes:
        gpus: how many there are of each name.
        release: of the SGLang that would run the preset; None where there is none.
    """

    gpus: Mapping[str, int] = field(default_factory=dict)
    release: str | None = None


def here(names: list[str], release: str | None) -> Here:
    """This machine from its GPUs' names."""
    return Here(Counter(names), release)


def digest_of(preset: Preset, gpu: str | None, gpus: int | None, release: str | None) -> str:
    """What stands for model, flags, variables, release and GPUs together; where it listens changes nothing."""
    inventories = _inventories(release) if False in preset.flags.values() else ()
    content = {
        "model": preset.model,
        "flags": {
            name: _plain(value)
            for name, value in preset.flags.items()
            if value is not False or not _is_left_out(name, inventories)
        },
        "env": {name: _plain(value) for name, value in preset.env.items()},
        "gpu": gpu,
        "gpus": gpus,
        "sglang": release,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def standing_of(preset: Preset, machine: Here) -> tuple[Standing, str]:
    """How far it can be trusted, and why that is so, in words."""
    evidence = preset.evidence
    if evidence is None:
        return Standing.UNTESTED, "nobody has said yet that it works"
    if evidence.status == "computed":
        return Standing.COMPUTED, evidence.note or "planned, not run"
    if evidence.digest is None:
        return Standing.CLAIMED, evidence.note or "its author says that it works; no launch on record proves it"
    return _verified(preset, evidence, machine)


def _verified(preset: Preset, evidence: Evidence, machine: Here) -> tuple[Standing, str]:
    on = f"{f'{evidence.gpus} x ' if (evidence.gpus or 1) > 1 else ''}{evidence.gpu or 'no GPU'}"
    ran = f"ran on {on} with SGLang {evidence.sglang or '?'}{f' on {evidence.date}' if evidence.date else ''}"
    if evidence.digest != digest_of(preset, evidence.gpu, evidence.gpus, evidence.sglang):
        return Standing.CHANGED, f"it {ran}; since then the file was changed: save it again from a launch"
    if preset.engine.sglang not in (None, evidence.sglang):
        return Standing.CHANGED, f"it {ran}, and now asks for SGLang {preset.engine.sglang}"
    has_gpus = evidence.gpu is None or machine.gpus.get(evidence.gpu, 0) >= (evidence.gpus or 1)
    if has_gpus and machine.release == evidence.sglang:
        return Standing.PROVEN_HERE, f"it {ran}"
    missing = f"here is SGLang {machine.release or 'not found'}" if has_gpus else "such GPUs aren't here"
    return Standing.PROVEN_ELSEWHERE, f"it {ran}; {missing}"


def _inventories(release: str | None) -> tuple[FlagInventory, ...]:
    """The recorded flags of a release; none where nobody knows which one it is."""
    try:
        return () if release is None else inventories_for(parse_release(release))
    except UsageError:
        return ()


def _is_left_out(name: str, inventories: tuple[FlagInventory, ...]) -> bool:
    """A switch that is off is the same as none; not so one with a `--no-x`, nor a flag that nobody knows."""
    is_known = any(inventory.find(f"--{name}") is not None for inventory in inventories)
    return is_known and not has_negation(name, inventories)


def _plain(value: object) -> Any:
    return {value.kind: value.target} if isinstance(value, Reference) else value
