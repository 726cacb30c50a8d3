"""What `sgltui ps --prometheus` prints: gauges of GPUs, servers and budgets, for a textfile collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tui.budget.types import MemoryBudget
from tui.gpu import GpuSnapshot
from tui.keeper.states import State
from tui.observe import Instance, Snapshot

Labels: TypeAlias = tuple[str, ...]
Samples: TypeAlias = Iterable[tuple[Labels, float | None]]


def expose(snapshot: Snapshot, budgets: Mapping[str, MemoryBudget]) -> bytes:
    """The text, in UTF-8 whatever the terminal's encoding.

    Args:
        snapshot: the machine.
        budgets: by the names of the servers that have one.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Everything(snapshot, budgets))
    return generate_latest(registry)


class _Everything(Collector):
    def __init__(self, snapshot: Snapshot, budgets: Mapping[str, MemoryBudget]) -> None:
        self._snapshot = snapshot
        self._budgets = budgets

    def collect(self) -> Iterator[Metric]:
        """Every family of gauges."""
        yield from _gpus(self._snapshot.gpus.gpus)
        yield from _servers(self._snapshot.instances)
        yield from _budgets(self._budgets)


def _gpus(gpus: Iterable[GpuSnapshot]) -> Iterator[Metric]:
    each = [((str(gpu.index), gpu.uuid, gpu.name), gpu) for gpu in gpus]
    names = ("gpu", "uuid", "name")
    for name, what, read in (
        ("memory_total_bytes", "Memory of the GPU", lambda gpu: gpu.memory and gpu.memory.total_bytes),
        ("memory_used_bytes", "Memory in use, by whoever", lambda gpu: gpu.memory and gpu.memory.used_bytes),
        ("memory_free_bytes", "Memory that can be allocated", lambda gpu: gpu.memory and gpu.memory.free_bytes),
        ("utilization_ratio", "Share of time in which a kernel ran", lambda gpu: _share(gpu.utilization_percent)),
        ("temperature_celsius", "Temperature", lambda gpu: gpu.temperature_c),
        ("power_watts", "Power draw", lambda gpu: gpu.power_w),
    ):
        yield _family(f"gpu_{name}", what, names, ((labels, read(gpu)) for labels, gpu in each))


def _servers(instances: tuple[Instance, ...]) -> Iterator[Metric]:
    states = (((one.name, str(state)), float(one.state is state)) for one in instances for state in State)
    yield _family("server_state", "1 for the state that the newest launch is in", ("name", "state"), states)
    for name, what, samples in (
        ("attended", "1 where a live keeper watches it", ((one, float(one.attended)) for one in instances)),
        ("memory_bytes", "GPU memory that its processes hold", ((one, one.memory_bytes) for one in instances)),
        ("uptime_seconds", "Since its process was started", ((one, one.uptime_s) for one in instances)),
    ):
        yield _family(f"server_{name}", what, ("name",), (((one.name,), value) for one, value in samples))
    for name, field, what in (
        ("requests_running", "running", "Requests that are generated for"),
        ("requests_queued", "queued", "Requests that wait"),
        ("requests_max", "max_running", "Requests that may run at once"),
        ("tokens_per_second", "tokens_per_s", "Tokens generated"),
        ("kv_cache_usage_ratio", "kv_usage", "Share of the KV cache in use"),
        ("kv_cache_tokens", "kv_tokens", "Tokens that the KV cache of a replica holds"),
        ("state_slots_usage_ratio", "slot_usage", "Share of the state slots in use"),
        ("accept_length", "accept_length", "Tokens a step of speculative decoding"),
        ("cache_hit_ratio", "cache_hit_rate", "Share of prompts' tokens found in the prefix cache"),
        ("retractions", "retractions", "Requests that were put back in the last minute"),
        ("time_to_first_token_seconds", "time_to_first_token_s", "Mean of the last minute's requests"),
    ):
        live = (((one.name,), getattr(one.live, field, None)) for one in instances)
        yield _family(f"server_{name}", what, ("name",), live)


def _budgets(budgets: Mapping[str, MemoryBudget]) -> Iterator[Metric]:
    items = (
        ((name, str(rank.gpu), item.component), float(item.size))
        for name, budget in budgets.items()
        for rank in budget.ranks
        for item in rank.items
    )
    yield _family("budget_bytes", "What a rank's memory is planned for", ("name", "gpu", "component"), _summed(items))


def _summed(items: Iterable[tuple[Labels, float]]) -> Samples:
    """Two items of one name are one sample: a series may be there once."""
    sums: dict[Labels, float] = {}
    for labels, value in items:
        sums[labels] = sums.get(labels, 0.0) + value
    return sums.items()


def _family(name: str, what: str, labels: Labels, samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"sgltui_{name}", f"{what}.", labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric([_text(one) for one in values], float(value))
    return family


def _text(label: str) -> str:
    """A name may hold bytes that are no text; the exposition is UTF-8, and no two names may become one."""
    return label.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
