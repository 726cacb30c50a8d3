"""What SGLang tells on /v1/loads (0.5.11 on) and on the older /get_load: who runs and waits, and how full it is.

Read in 0.5.11 (`srt/observability/scheduler_metrics_mixin.py:793-921`) and 0.5.23
(`srt/managers/scheduler_components/load_inquirer.py:109-256`). Its `gen_throughput` and `cache_hit_rate` are only
written with --enable-metrics, and are 0 without it, so they aren't read: this source is for servers without it.
"""

from __future__ import annotations

import msgspec

from tui.metrics.live import Figures, combine


class _Speculative(msgspec.Struct):
    accept_length: float | None = None


class _Load(msgspec.Struct):
    dp_rank: int | None = None
    num_running_reqs: int | None = None
    num_waiting_reqs: int | None = None
    token_usage: float | None = None
    max_running_requests: int | None = None
    max_total_num_tokens: int | None = None
    speculative: _Speculative | None = None


class _Loads(msgspec.Struct):
    loads: list[_Load]


class _OldLoad(msgspec.Struct):
    num_reqs: int
    num_waiting_reqs: int
    dp_rank: int | None = None


def parse_loads(body: bytes) -> Figures:
    """The figures of /v1/loads.

    Raises:
        ValueError: it is something else.
    """
    loads = msgspec.json.decode(body, type=_Loads).loads
    return combine((str(load.dp_rank), _figures(load)) for load in loads)


def parse_get_load(body: bytes) -> Figures:
    """The figures of /get_load, which 0.5.6 has and later releases call deprecated.

    Raises:
        ValueError: it is something else.
    """
    loads = msgspec.json.decode(body, type=list[_OldLoad])
    running = ((load.dp_rank, load.num_reqs - load.num_waiting_reqs, load.num_waiting_reqs) for load in loads)
    return combine((str(rank), Figures(running=count, queued=waiting)) for rank, count, waiting in running)


def _figures(load: _Load) -> Figures:
    running = load.num_running_reqs
    return Figures(
        running=running,
        queued=load.num_waiting_reqs,
        tokens_per_s=0.0 if running == 0 else None,
        kv_usage=load.token_usage,  # of the fuller pool with sliding windows; without the state slots
        accept_length=load.speculative.accept_length if load.speculative is not None else None,
        max_running=load.max_running_requests,
        kv_tokens=load.max_total_num_tokens,
    )
