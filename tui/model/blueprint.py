"""Parameters of a model as its architecture has them, named as in a checkpoint, and what they take on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from msgspec import Struct

from tui.model.quantization import Scheme
from tui.model.tensors import Tensor

_MATRIX = 2  # dimensions


class Parameter(Struct, frozen=True):
    """A parameter.

    Attributes:
        name: as in a checkpoint; all experts of a layer in one, without their index.
        shape: its dimensions; a matrix has outputs and inputs, experts stand before them.
        plain: never quantised.
        element_bytes: where it doesn't have the model's dtype.
    """

    name: str
    shape: tuple[int, ...]
    plain: bool = False
    element_bytes: int | None = None


def size_parameters(parameters: Iterable[Parameter], dtype_bytes: int, scheme: Scheme | None) -> Iterator[Tensor]:
    """What parameters take: quantised where the scheme says so, else in the model's dtype."""
    for parameter in parameters:
        elements = prod(parameter.shape)
        if parameter.element_bytes is not None:
            yield Tensor(parameter.name, elements * parameter.element_bytes, convertible=False)
        elif scheme is not None and _is_quantised(parameter, scheme):
            *stack, rows, columns = parameter.shape
            yield Tensor(parameter.name, prod(stack) * scheme.matrix_bytes(rows, columns), convertible=False)
        else:
            yield Tensor(parameter.name, elements * dtype_bytes, convertible=True)


def _is_quantised(parameter: Parameter, scheme: Scheme) -> bool:
    if parameter.plain or len(parameter.shape) < _MATRIX:
        return False
    if scheme.experts_only and ".experts." not in parameter.name:
        return False
    return not scheme.skipped.holds(parameter.name.removesuffix(".weight"))
