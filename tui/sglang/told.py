"""Decoding what a server answered: whatever it is, it ends in a value of the wanted type or in a `ValueError`."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Share = Annotated[float, msgspec.Meta(ge=0)]

_T = TypeVar("_T")


def decode(body: bytes, kind: type[_T]) -> _T:
    """A JSON answer.

    Raises:
        ValueError: it isn't JSON, or of another shape, or nested deeper than anything that is meant.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
