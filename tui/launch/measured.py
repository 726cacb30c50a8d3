"""What launches measured, kept for the next plan of the same model, flags and GPU: one small file for each.

The weights of a model are the same each time it is loaded by the same release, with the same type, quantisation and
number of ranks, on the same kind of GPU. What was free before them isn't: that depends on who else is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tui.atomic import write_atomic
from tui.budget.types import Card, Measured
from tui.launch.planning import read_flags
from tui.launch.spec import LaunchSpec
from tui.paths import Places
from tui.sglang.references import expand_home
from tui.sglang.versions import Release

_FOLDER = "measured"
_NAME_LENGTH = 24
# Beside type, quantisation and number of ranks: how flags begin that decide which weights a rank holds, in which form
# and where: replicas of the attention, experts, what is offloaded, parts of the model that are left out.
_SHAPING = (
    *(
        "revision",
        "model-impl",
        "load-format",
        "model-loader-",
        "json-model-override-args",
        "language-",
        "encoder-only",
    ),
    *("quantize-", "modelopt-", "torchao-", "rl-quant-", "enable-fp32-lm-head", "enable-multimodal", "mm-enable-dp-"),
    *("dp-size", "attn-", "dcp-", "dwdp-", "enable-dp-", "enable-tp-lm-head", "enable-dense-", "enable-shared-"),
    *(
        "ep-",
        "moe-",
        "init-expert-",
        "shared-experts-",
        "disable-shared-",
        "enforce-shared-",
        "enable-paged-",
        "paged-",
    ),
    *("cpu-offload-", "offload-", "ple-offload-", "kt-"),
    *("speculative-draft-model-", "speculative-draft-load-", "speculative-token-map", "speculative-moe-"),
)


class Key(msgspec.Struct, frozen=True):
    """What the figures hold for; `shaping`: other flags that decide which weights a rank holds, and their values."""

    model: str
    dtype: str
    quantization: str | None
    draft: str | None
    tp: int
    pp: int
    gpu: str
    release: str
    shaping: tuple[tuple[str, str], ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """One file: the figures of the newest launch with that key.

    Attributes:
        launch: `NAME/LAUNCH`.
        memory: by the names of `sgltui explain --json`.
    """

    key: Key
    launch: str
    at: datetime
    memory: dict[str, Any]
    schema: int = 1


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is known from an earlier launch."""

    measured: Measured
    launch: str


def key_of(spec: LaunchSpec, release: Release, gpu: str) -> Key:
    """The key of a launch that is planned or was made."""
    flags = read_flags(spec, release)
    return Key(
        model=_place(spec.model),
        dtype=str(flags.get("dtype") or "auto"),
        quantization=flags.get("quantization"),
        draft=flags.get("speculative-draft-model-path") or ("own" if flags.get("speculative-algorithm") else None),
        tp=int(flags.get("tp-size") or 1),
        pp=int(flags.get("pp-size") or 1),
        gpu=gpu,
        release=release.text,
        shaping=tuple(sorted((name, str(value)) for name, value in flags.values.items() if name.startswith(_SHAPING))),
    )


def store(places: Places, key: Key, launch: str, memory: Mapping[str, Any]) -> bool:
    """Keep a launch's figures; False where it measured nothing worth keeping.

    Raises:
        OSError: it can't be written.
    """
    if _weights(memory) is None:
        return False
    path = _path(places, key)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entry = Entry(key, launch, datetime.now(UTC), dict(memory))
    write_atomic(path, msgspec.json.format(msgspec.json.encode(entry)) + b"\n")
    return True


def recall(places: Places, spec: LaunchSpec, release: Release, cards: Sequence[Card]) -> Recalled | None:
    """The weights that an earlier launch measured; None where there was none, or its file can't be read."""
    if not cards:
        return None
    key = key_of(spec, release, cards[0].name)
    try:
        entry = msgspec.json.decode(_path(places, key).read_bytes(), type=Entry)
    except (FileNotFoundError, msgspec.DecodeError):  # nothing measured yet, or by another version of ours
        return None
    if entry.key != key:
        return None
    weights, draft = _weights(entry.memory), entry.memory.get("draft_weights_gib")
    return Recalled(Measured(weights_gib=weights, draft_weights_gib=draft), entry.launch)


def fill(given: Measured, recalled: Recalled | None) -> tuple[Measured, str | None]:
    """What was typed, completed by what was measured; and a sentence that says so."""
    if recalled is None or given.weights_gib is not None:
        return given, None
    known = recalled.measured
    draft = given.draft_weights_gib if given.draft_weights_gib is not None else known.draft_weights_gib
    note = f"the weights are those that {recalled.launch} measured"
    return Measured(given.available_gib, known.weights_gib, draft), note


def _weights(memory: Mapping[str, Any]) -> float | None:
    """The log's figure; the server's own, which is the same, where that part of the log couldn't be read."""
    logged: float | None = memory.get("weights_gib")
    told: float | None = (memory.get("server") or {}).get("weights_gib")
    return told if logged is None else logged


def _place(model: str) -> str:
    """A folder is the same from wherever it is named."""
    path = Path(expand_home(model))
    return str(path.absolute()) if path.is_dir() else model


def _path(places: Places, key: Key) -> Path:
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()
    return places.state / _FOLDER / f"{digest[:_NAME_LENGTH]}.json"
