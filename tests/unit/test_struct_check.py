"""Structs aren't dataclasses; each `type: ignore` below is an error of `make types` if its plugin no longer knows."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, astuple, fields, replace

import pytest
from msgspec import Struct


class Point(Struct):
    x: int = 0


class Deeper(Point):
    y: int = 0


@dataclasses.dataclass
class Place:
    x: int = 0


Either = Point | Place


def test_the_functions_of_dataclasses_fail_on_structs() -> None:
    either: Either = Deeper() if fields(Place) else Place()
    with pytest.raises(TypeError):
        replace(Point(), x=1)  # type: ignore[struct-as-dataclass]
    with pytest.raises(TypeError):
        dataclasses.replace(Deeper(), x=1)  # type: ignore[struct-as-dataclass]
    with pytest.raises(TypeError):
        asdict(either)  # type: ignore[struct-as-dataclass]
    with pytest.raises(TypeError):
        astuple(Deeper())  # type: ignore[struct-as-dataclass]
    with pytest.raises(TypeError):
        fields(Point)  # type: ignore[struct-as-dataclass]
    assert replace(Place(), x=1) == Place(1)
