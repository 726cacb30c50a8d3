"""Which layers a pipeline stage holds. Source: SGLang 0.5.11 distributed/utils.py:99 (get_pp_indices)."""

from __future__ import annotations

from collections.abc import Mapping

from tui.budget.refusal import RefusedLaunch

_PARTITION_VARIABLE = "SGLANG_PP_LAYER_PARTITION"


def stage_layers(layers: int, stages: int, environment: Mapping[str, str]) -> list[range]:
    """The layers of each stage: as even as possible, the last stages take one more.

    Raises:
        RefusedLaunch: the environment's partition doesn't fit.
    """
    sizes = _sizes(layers, stages, environment.get(_PARTITION_VARIABLE) if stages > 1 else None)
    starts = [sum(sizes[:stage]) for stage in range(stages)]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _sizes(layers: int, stages: int, partition: str | None) -> list[int]:
    if partition is None:
        base, extra = divmod(layers, stages)
        return [base] * (stages - extra) + [base + 1] * extra
    words = partition.split(",")
    sizes = [int(word) for word in words if word.strip().isdecimal()]
    if len(sizes) != len(words) or len(sizes) != stages or sum(sizes) != layers:
        raise RefusedLaunch(f"{_PARTITION_VARIABLE}={partition} doesn't divide {layers} layers into {stages} stages")
    return sizes
