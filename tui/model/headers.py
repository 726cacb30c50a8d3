"""The headers of safetensors files: which tensors a checkpoint has, of which dtype and size. The tensors aren't read.

Format: 8 bytes little-endian, the header's length; the header in JSON, for each tensor its dtype, shape and the range
of its bytes behind the header; the bytes (https://github.com/huggingface/safetensors).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec

from tui.model.document import read_json
from tui.model.errors import IncompleteModelError, ModelError
from tui.text import printable

HEADER_LIMIT_BYTES = 100_000_000  # as in the safetensors library itself
INDEX_NAME = "model.safetensors.index.json"
_PREFIX_BYTES = 8
_METADATA = "__metadata__"
_MOST_ELEMENTS = 1 << 50
_MOST_DIMENSIONS = 64  # as in torch
_BITS: Final = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
_PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5,6})-of-(?P<count>\d{5,6})\.safetensors", re.DOTALL)
# What Mistral's own loader reads: the same tensors once more, under other names.
_DUPLICATE = "consolidated"
_FINISH = "the download isn't finished: run `hf download` again"


class StoredTensor(msgspec.Struct, frozen=True, gc=False):
    """A tensor in a file. `dtype` as safetensors writes it, e.g. `BF16`; there may be a hundred thousand of them."""

    name: str
    dtype: str
    elements: int
    size_bytes: int


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


_ENTRIES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_Entry)


def read_checkpoint(folder: Path) -> list[StoredTensor] | None:
    """All tensors of a checkpoint; None if the folder has no safetensors files.

    Raises:
        IncompleteModelError: a file is missing, or a tensor that the index has.
        ModelError: a file can't be read, or isn't what its name says.
    """
    index = folder / INDEX_NAME
    if index.exists():
        return _read_indexed(folder, index)
    files = _plain_files(folder)
    return [tensor for file in files for tensor in read_header(file)] if files else None


def read_header(path: Path) -> list[StoredTensor]:
    """The tensors of one file.

    Raises:
        IncompleteModelError: the file is shorter than its header says.
        ModelError: it can't be read, or is no safetensors file.
    """
    header, data_bytes = _read_bytes(path)
    try:
        entries = _ENTRIES.decode(header)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ModelError(f"its header is not JSON: {error}", "is this a safetensors file?", file=path) from None
    entries.pop(_METADATA, None)
    ranges: list[tuple[int, int]] = []
    tensors = [_tensor(path, name, raw, ranges) for name, raw in entries.items()]
    _check_ranges(path, sorted(ranges), data_bytes)
    return tensors


def _read_bytes(path: Path) -> tuple[bytes, int]:
    """The header's bytes, and how many bytes the file has behind it."""
    try:
        if not path.is_file():
            raise _missing(path)
        file_bytes = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_PREFIX_BYTES), "little")
            if file_bytes >= _PREFIX_BYTES and length > HEADER_LIMIT_BYTES:
                raise ModelError(f"its header would be {length} bytes long", "is this a safetensors file?", file=path)
            if _PREFIX_BYTES + length > file_bytes or file_bytes < _PREFIX_BYTES:
                raise IncompleteModelError(f"ends within its header, after {file_bytes} bytes", _FINISH, file=path)
            return file.read(length), file_bytes - _PREFIX_BYTES - length
    except OSError as error:
        raise ModelError(f"can't be read: {error.strerror}", file=path) from error


def _tensor(path: Path, name: str, raw: msgspec.Raw, ranges: list[tuple[int, int]]) -> StoredTensor:
    try:
        entry = _ENTRY.decode(raw)
    except msgspec.DecodeError as error:
        raise ModelError(f"tensor {_short(name)}: {error}", "is this a safetensors file?", file=path) from None
    bits = _BITS.get(entry.dtype)
    if bits is None:
        raise ModelError(f"tensor {_short(name)}: dtype {_short(entry.dtype)} is unknown", file=path)
    elements = _elements(entry.shape)
    begin, end = entry.data_offsets
    size_bytes = None if elements is None else (elements * bits + 7) // 8
    if size_bytes is None or begin < 0 or end - begin != size_bytes:
        raise ModelError(
            f"tensor {_short(name)}: bytes {begin} to {end} don't hold a {entry.dtype} of shape {entry.shape[:8]}",
            "the file is damaged: download it again",
            file=path,
        )
    if size_bytes:
        ranges.append((begin, end))
    return StoredTensor(name, entry.dtype, elements or 0, size_bytes)


def _elements(shape: list[int]) -> int | None:
    """How many elements a shape has; None where it can't be a shape."""
    if not shape:
        return 1
    if min(shape) < 0 or max(shape) > _MOST_ELEMENTS or len(shape) > _MOST_DIMENSIONS:
        return None
    elements = prod(shape)
    return elements if elements <= _MOST_ELEMENTS else None


def _check_ranges(path: Path, ranges: list[tuple[int, int]], data_bytes: int) -> None:
    position = 0
    for begin, end in ranges:
        if begin < position:
            raise ModelError("tensors overlap in it", "the file is damaged: download it again", file=path)
        position = end
    if position > data_bytes:
        raise IncompleteModelError(f"has {data_bytes} of its {position} bytes of tensors", _FINISH, file=path)


def _read_indexed(folder: Path, index: Path) -> list[StoredTensor]:
    found: list[StoredTensor] = []
    for file_name, expected in _files_of(index).items():
        tensors = read_header(folder / file_name)
        lacking = expected - {tensor.name for tensor in tensors}
        if lacking:
            raise IncompleteModelError(
                f"has no tensor {_short(min(lacking))}, which {INDEX_NAME} says it has",
                _FINISH,
                file=folder / file_name,
            )
        found += tensors
    return found


def _files_of(index: Path) -> dict[str, set[str]]:
    """The files that an index names, with the tensors that each should have."""
    entries: Any = read_json(index, HEADER_LIMIT_BYTES).get("weight_map")
    if not isinstance(entries, dict) or not entries:
        raise ModelError("has no weight_map", "is the download complete?", file=index)
    files: dict[str, set[str]] = {}
    for tensor, file_name in entries.items():
        if not isinstance(file_name, str) or "/" in file_name or file_name in {"", ".", ".."} or "\0" in file_name:
            raise ModelError(f"tensor {_short(tensor)} is in no file of this folder", file=index)
        files.setdefault(file_name, set()).add(tensor)
    return files


def _plain_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder without an index."""
    try:
        files = sorted(folder.glob("*.safetensors"))
    except OSError as error:
        raise ModelError(f"can't be listed: {error.strerror}", file=folder) from error
    others = [file for file in files if not file.name.startswith(_DUPLICATE)]
    _check_parts(folder, others)
    return others or files


def _check_parts(folder: Path, files: Iterable[Path]) -> None:
    """`model-00001-of-00004.safetensors` has three siblings.

    Raises:
        IncompleteModelError: one of them isn't there.
    """
    names = {file.name for file in files}
    for name in sorted(names):
        match = _PART.fullmatch(name)
        if match is None:
            continue
        width = len(match["count"])
        for number in range(1, min(int(match["count"]), len(names)) + 1):
            sibling = f"{match['stem']}-{number:0{width}d}-of-{match['count']}.safetensors"
            if sibling not in names:
                raise _missing(folder / sibling)
        if int(match["count"]) > len(names):
            raise IncompleteModelError(f"has {len(names)} of {int(match['count'])} files", _FINISH, file=folder)


def _missing(path: Path) -> ModelError:
    return IncompleteModelError("no such file", _FINISH, file=path)


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"  # noqa: PLR2004 - fits in a line with what is said of it
