"""What SGLang tells on /v1/loads (0.5.11 on) and on the older /get_load: who runs and waits, and how full it is.

Read in 0.5.11 (`srt/observability/scheduler_metrics_mixin.py:793-921`) and 0.5.23
(`srt/managers/scheduler_components/load_inquirer.py:109-256`). Its `gen_throughput` and `cache_hit_rate` are only
written with --enable-metrics, and are 0 without it, so they aren't read: this source is for servers without it.
"""

from __future__ import annotations

import msgspec

from tui.metrics.live import Figures, combine
from tui.sglang.told import Count, Share, decode


class _Speculative(msgspec.Struct):
    accept_length: Share | None = None


class _Load(msgspec.Struct):
    dp_rank: int | None = None
    num_running_reqs: Count | None = None
    num_waiting_reqs: Count | None = None
    token_usage: Share | None = None
    max_running_requests: Count | None = None
    max_total_num_tokens: Count | None = None
    speculative: _Speculative | None = None


class _Loads(msgspec.Struct):
    loads: list[_Load]


class _OldLoad(msgspec.Struct):
    num_reqs: Count
    num_waiting_reqs: Count
    dp_rank: int | None = None


def parse_loads(body: bytes) -> Figures:
    """The figures of /v1/loads.

    Raises:
        ValueError: it is something else.
    """
    loads = decode(body, _Loads).loads
    return combine((str(load.dp_rank), _figures(load)) for load in loads)


def parse_get_load(body: bytes) -> Figures:
    """The figures of /get_load, which 0.5.6 has and later releases call deprecated.

    Raises:
        ValueError: it is something else.
    """
    loads = decode(body, list[_OldLoad])
    running = ((load.dp_rank, max(load.num_reqs - load.num_waiting_reqs, 0), load.num_waiting_reqs) for load in loads)
    return combine((str(rank), Figures(running=count, queued=waiting)) for rank, count, waiting in running)


def _figures(load: _Load) -> Figures:
    running = load.num_running_reqs
    return Figures(
        running=running,
        queued=load.num_waiting_reqs,
        tokens_per_s=0.0 if running == 0 and not load.num_waiting_reqs else None,  # who waits may be being prefilled
        kv_usage=load.token_usage,  # of the fuller pool with sliding windows; without the state slots
        accept_length=load.speculative.accept_length if load.speculative is not None else None,
        max_running=load.max_running_requests,
        kv_tokens=load.max_total_num_tokens,
    )
