"""What launches measured, kept for the next plan of the same model, flags and GPU: one small file for each.

The weights of a model are the same each time the same files are loaded by the same release, with the same type,
quantisation and share of each rank, on the same kind of GPU. What was free before them isn't: that depends on who else
is there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tui.atomic import write_atomic
from tui.budget.types import Card, Measured
from tui.launch.planning import read_flags
from tui.launch.spec import LaunchSpec
from tui.model.errors import ModelError
from tui.model.published import find_config
from tui.paths import Places
from tui.sglang.references import expand_home
from tui.sglang.versions import Release

_FOLDER, _DRAFT = "measured", "draft_weights_gib"
_NAME_LENGTH = 24
_FILES = ("config.json", "model.safetensors.index.json")
# Words in the names of flags that decide what a rank loads of a model, and in which form. One too many only costs a
# figure; one that is missing makes a wrong one.
_LOADING = re.compile(
    r"(?:^|-)(?:dp|cp|dcp|ep|dwdp|moe|experts?|dense|kt|lm-head|encoder|language|multimodal|token-map|lora|loras|gemm|mxfp4|torchao"
    r"|modelopt|quant|quantization|quantize|offload|load|loader|weights?|checkpoint|ckpt|impl|override|revision)(?:-|$)"
)


class Key(msgspec.Struct, frozen=True):
    """What the figures hold for.

    Attributes:
        contents: of the files that describe the model: another one may stand in the same place tomorrow.
        loading: the other flags that decide what is loaded.
    """

    model: str
    dtype: str
    quantization: str | None
    draft: str | None
    tp: int
    pp: int
    gpu: str
    release: str
    contents: str | None = None
    loading: tuple[tuple[str, str], ...] = ()


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


class Recalled(Struct, frozen=True):
    """What is known from an earlier launch."""

    measured: Measured
    launch: str


def key_of(
    spec: LaunchSpec, release: Release, gpu: str, hub: Path | None = None, *, contents: str | None = None
) -> Key:
    """The key of a launch that is planned or was made; `hub` is where its model is looked for.

    `contents`: what `contents_of` said of its files, where they were read already.
    """
    flags = read_flags(spec, release)
    loading = {name: str(value) for name, value in flags.values.items() if _LOADING.search(name)}
    return Key(
        model=_place(spec.model),
        dtype=str(flags.get("dtype") or "auto"),
        quantization=flags.get("quantization"),
        draft=flags.get("speculative-draft-model-path") or ("own" if flags.get("speculative-algorithm") else None),
        tp=int(flags.get("tp-size") or 1),
        pp=int(flags.get("pp-size") or 1),
        gpu=gpu,
        release=release.text,
        contents=contents or contents_of(spec.model, hub),
        loading=tuple(sorted(loading.items())),
    )


def contents_of(model: str, hub: Path | None) -> str | None:
    """A digest of the files that describe a model, of which the index has megabytes; None where it isn't here."""
    try:
        found, _ = find_config(model, cache_dir=hub)
    except ModelError:
        return None
    digest = hashlib.sha256()
    for file in [found] if found.is_file() else [found / name for name in _FILES]:
        with suppress(OSError):  # a model of one file has no index
            digest.update(file.read_bytes())
    return digest.hexdigest()[:_NAME_LENGTH]


def store(places: Places, key: Key, launch: str, memory: Mapping[str, Any]) -> bool:
    """Keep a launch's figures; False where it measured nothing worth keeping.

    A launch that ended before its draft model was loaded leaves what an earlier one measured of that.

    Raises:
        OSError: it can't be written.
    """
    if _weights(memory) is None:
        return False
    path, earlier = _path(places, key), _read(places, key)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = {} if earlier is None else {_DRAFT: earlier.memory.get(_DRAFT)}
    told = {name: value for name, value in memory.items() if name != _DRAFT or value is not None}
    entry = Entry(key, launch, datetime.now(UTC), kept | told)
    write_atomic(path, msgspec.json.format(msgspec.json.encode(entry)) + b"\n")
    return True


def recall(
    places: Places, spec: LaunchSpec, release: Release, cards: Sequence[Card], *, contents: str | None = None
) -> Recalled | None:
    """The weights that an earlier launch measured; None where there was none, or its file can't be read.

    `contents`: as `key_of` takes them.
    """
    if not cards:
        return None
    entry = _read(places, key_of(spec, release, cards[0].name, places.hub, contents=contents))
    if entry is None or (weights := _weights(entry.memory)) is None:
        return None
    return Recalled(Measured(weights_gib=weights, draft_weights_gib=_number(entry.memory.get(_DRAFT))), entry.launch)


def fill(given: Measured, recalled: Recalled | None) -> tuple[Measured, str | None]:
    """What was typed, completed by what was measured; and a sentence that says so."""
    if recalled is None or given.weights_gib is not None:
        return given, None
    known = recalled.measured
    draft = given.draft_weights_gib if given.draft_weights_gib is not None else known.draft_weights_gib
    note = f"the weights are those that {recalled.launch} measured"
    return Measured(given.available_gib, known.weights_gib, draft), note


def _read(places: Places, key: Key) -> Entry | None:
    """None where nothing was measured yet, or its file can't be read, or is of another version of ours."""
    try:
        entry = msgspec.json.decode(_path(places, key).read_bytes(), type=Entry)
    except (OSError, msgspec.DecodeError):
        return None
    return entry if entry.key == key else None


def _weights(memory: Mapping[str, Any]) -> float | None:
    """The log's figure; the server's own, which is the same, where that part of the log couldn't be read."""
    logged, server = _number(memory.get("weights_gib")), memory.get("server")
    return _number(server.get("weights_gib")) if logged is None and isinstance(server, dict) else logged


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _place(model: str) -> str:
    """A folder is the same from wherever it is named."""
    path = Path(expand_home(model))
    return str(path.absolute()) if path.is_dir() else model


def _path(places: Places, key: Key) -> Path:
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()
    return places.state / _FOLDER / f"{digest[:_NAME_LENGTH]}.json"
