"""The stages of a launch: words that every room uses, without what it takes to read them from a log."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Stage(StrEnum):
    """The stages of a start and after, in order; the words are part of the command-line contract."""

    ARGS = "args"
    IMPORT = "import"
    DOWNLOAD = "download"
    DISTRIBUTED_INIT = "distributed init"
    WEIGHT_LOAD = "weight load"
    MEMORY_POOL = "memory pool"
    CUDA_GRAPH_CAPTURE = "cuda graph capture"
    WARMUP = "warmup"
    READY = "ready"
    RUNTIME = "runtime"
    SHUTDOWN = "shutdown"


class Progress(Struct, frozen=True):
    """Where a launch is.

    Attributes:
        done, total: position inside the stage where the log tells it (weight shards, graph batch sizes).
        since: the log's own time stamp of the stage's first line (local time of the server), if any.
    """

    stage: Stage
    done: int | None = None
    total: int | None = None
    since: datetime | None = None
