"""Reads the JSON files of a model: bounded in size, always an object, every failure named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui.model.errors import ModelError

CONFIG_LIMIT_BYTES = 16 << 20


def read_json(path: Path, limit_bytes: int = CONFIG_LIMIT_BYTES) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ModelError: it can't be read, is larger than the limit, or isn't a JSON object.
    """
    return parse_json(path, read_bytes(path, limit_bytes))


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """A file's bytes.

    Raises:
        ModelError: it isn't a regular file, can't be read, or is larger than the limit.
    """
    try:
        if not path.is_file():  # a FIFO would block us for ever
            raise ModelError("not a file" if path.exists() else "no such file", file=path)
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise ModelError(f"can't be read: {error.strerror}", file=path) from error
    if len(data) > limit_bytes:
        raise ModelError(f"larger than {limit_bytes >> 20} MiB", "is this the right file?", file=path)
    return data


def parse_json(path: Path, data: bytes) -> dict[str, Any]:
    """The object in some JSON, which comes from the file `path`.

    Raises:
        ModelError: it isn't a JSON object.
    """
    try:
        # The standard library's parser, since configs do hold NaN and Infinity, which are no JSON.
        document = json.loads(data)
    except RecursionError:
        raise ModelError("nested too deeply", file=path) from None
    except ValueError as error:  # JSONDecodeError, not UTF-8, or a number of thousands of digits
        raise ModelError(f"not JSON: {error}", "is the download complete?", file=path) from None
    if not isinstance(document, dict):
        raise ModelError(f"holds {describe(document)}, not an object", file=path)
    return document


def describe(value: Any) -> str:
    """A JSON value in words, short enough for one line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 60
