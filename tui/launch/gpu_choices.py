"""Which GPUs a launch could be given, alone or with another number of ranks, and what the plan says of each choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tui.budget.types import MemoryBudget, Stage, Verdict
from tui.budget.words import describe_capacity
from tui.errors import SgltuiError
from tui.gpu import GpuReading, GpuSnapshot
from tui.units import format_gib

_TENSOR_SIZES = (1, 2, 4, 8)
_MOST_ALONE = 16  # a machine with more GPUs shows the first ones; any other can be typed


class GpuChoice(Struct, frozen=True):
    """GPUs to launch on.

    Attributes:
        gpus: indices, in rank order.
        tensor: `--tp-size` that goes with them; None: as the flags have it.
    """

    gpus: tuple[int, ...]
    tensor: int | None = None

    @property
    def typed(self) -> str:
        """As a person types them: `0,1`."""
        return ",".join(map(str, self.gpus))


class JudgedChoice(Struct, frozen=True):
    """What the plan says of a choice.

    Attributes:
        verdict: None where it can't be planned.
        words: how much it serves and what stays free, or why it can't.
    """

    choice: GpuChoice
    verdict: Verdict | None
    words: str


def find_choices(reading: GpuReading, ranks: int, tensor: int) -> tuple[GpuChoice, ...]:
    """Neighbours, as many as the flags need; then what other tensor-parallel sizes would need, the emptiest GPUs.

    Args:
        reading: the machine.
        ranks: GPUs that the flags need.
        tensor: their `--tp-size`.
    """
    gpus = sorted((gpu for gpu in reading.gpus if gpu.memory is not None), key=lambda gpu: gpu.index)
    return (*_neighbours(gpus, ranks), *_other_sizes(gpus, ranks, tensor))


def judge_choices(choices: Sequence[GpuChoice], plan: Callable[[GpuChoice], MemoryBudget]) -> tuple[JudgedChoice, ...]:
    """What the plan says of each; one that can't be planned says why."""
    return tuple(_judge(choice, plan) for choice in choices)


def _judge(choice: GpuChoice, plan: Callable[[GpuChoice], MemoryBudget]) -> JudgedChoice:
    try:
        budget = plan(choice)
    except SgltuiError as error:
        return JudgedChoice(choice, None, error.what)
    return JudgedChoice(choice, budget.verdict, _words(budget))


def _words(budget: MemoryBudget) -> str:
    points = [point for rank in budget.ranks for point in rank.timeline]
    tightest = min(points, key=lambda point: point.free, default=None)
    if budget.verdict is Verdict.UNKNOWN or tightest is None or budget.stage_of_failure is Stage.ARGS:
        return budget.reason
    if budget.verdict is Verdict.EXCEEDS:
        short = -tightest.free
        return f"{format_gib(short)} GiB short ({tightest.stage})" if short > 0 else budget.reason
    each = " on each" if len(budget.ranks) > 1 else ""
    return f"{describe_capacity(budget)}, {format_gib(max(0, tightest.free))} GiB stay free{each}"


def _neighbours(gpus: Sequence[GpuSnapshot], ranks: int) -> Iterator[GpuChoice]:
    for first in range(0, min(len(gpus), _MOST_ALONE) - ranks + 1, ranks):
        yield GpuChoice(tuple(gpu.index for gpu in gpus[first : first + ranks]))


def _other_sizes(gpus: Sequence[GpuSnapshot], ranks: int, tensor: int) -> Iterator[GpuChoice]:
    if ranks % tensor:
        return
    emptiest = sorted(gpus, key=lambda gpu: -(gpu.memory.free_bytes if gpu.memory is not None else 0))
    for size in _TENSOR_SIZES:
        needed = ranks // tensor * size
        if size != tensor and needed <= len(gpus):
            yield GpuChoice(tuple(sorted(gpu.index for gpu in emptiest[:needed])), size)
