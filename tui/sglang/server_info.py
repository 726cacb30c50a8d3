"""What a server tells of its memory on /server_info; of its 370 to 560 other fields none is read: one is its API key.

Read in 0.5.6.post2 (`srt/managers/scheduler.py:2276`), 0.5.11 (the same, 3373) and 0.5.23
(`srt/managers/scheduler_components/internal_state.py:79`). Sizes are GiB of the first rank of each replica, rounded to
0.01, in 0.5.23 to 0.001; weights are the target model's, as the log's `mem usage`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tui.sglang.told import Count, decode

PATH = "/server_info"


class _Memory(msgspec.Struct):
    weight: float | None = None
    kvcache: float | None = None
    token_capacity: Count | None = None
    startup_available: float | None = None
    graph: float | dict[str, float] | None = None


class _State(msgspec.Struct):
    memory_usage: _Memory | None = None
    effective_max_running_requests_per_dp: Count | None = None


class _Info(msgspec.Struct):
    internal_states: list[_State]


def parse_server_info(body: bytes) -> dict[str, Any]:
    """Its figures under the names of `sgltui explain --json`, those of the fullest replica; empty where it has none.

    Raises:
        ValueError: it is something else.
    """
    states = decode(body, _Info).internal_states
    memories = [state.memory_usage for state in states if state.memory_usage is not None]
    told = {
        "weights_gib": _largest(memory.weight for memory in memories),
        "kv_gib": _largest(memory.kvcache for memory in memories),
        "graphs_gib": _largest(_graphs(memory) for memory in memories),
        "kv_tokens": min((memory.token_capacity for memory in memories if memory.token_capacity), default=None),
        "startup_available_gib": min(
            (memory.startup_available for memory in memories if memory.startup_available), default=None
        ),
        "max_running_requests": min(
            filter(None, (one.effective_max_running_requests_per_dp for one in states)), default=None
        ),
    }
    return {name: value for name, value in told.items() if value is not None}


def _largest(sizes: Any) -> float | None:
    """On a CPU sizes are what other programs did to the RAM meanwhile, negative ones included: no figures."""
    return max((size for size in sizes if size is not None and size > 0), default=None)


def _graphs(memory: _Memory) -> float | None:
    return sum(memory.graph.values()) if isinstance(memory.graph, dict) else memory.graph
