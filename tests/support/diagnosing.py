"""Diagnoses of logs for tests."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from datetime import datetime

from tests.support.logs import FIXTURES
from tui.diagnosis.advice import advise
from tui.diagnosis.arithmetic import release_of
from tui.diagnosis.conclude import conclude
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis, Ending
from tui.sglang.versions import parse_release

LOGS = FIXTURES / "diagnosis"

READY = (
    "[2026-06-01 10:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=1, mem_fraction_static=0.85)",
    "[2026-06-01 10:00:01] Init torch distributed begin.",
    "[2026-06-01 10:00:02] Load weight begin. avail mem=94.21 GB",
    "[2026-06-01 10:00:09] Load weight end. elapsed=7 s, type=Qwen3ForCausalLM, avail mem=60.0 GB, mem usage=34.2 GB.",
    "[2026-06-01 10:00:09] Memory pool end. avail mem=9.9 GB",
    "[2026-06-01 10:00:10] Capture cuda graph begin. This can take up to several minutes. avail mem=9.8 GB",
    "[2026-06-01 10:00:14] Capture cuda graph end. Time elapsed: 4.0 s. mem usage=1.0 GB. avail mem=8.8 GB.",
    (
        "[2026-06-01 10:00:15] max_total_num_tokens=612345, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=64, context_len=262144, available_gpu_mem=8.80 GB"
    ),
    "[2026-06-01 10:00:15] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    "[2026-06-01 10:00:16] The server is fired up and ready to roll!",
    (
        "[2026-06-01 10:00:20] Decode batch, #running-req: 3, #token: 1800, token usage: 0.02, cuda graph: True, "
        "gen throughput (token/s): 118.22, #queue-req: 0"
    ),
)
"""The lines of a good start; `upto` cuts them at a stage."""

_UPTO = {
    "args": 0,
    "import": 1,
    "download": 1,
    "distributed init": 2,
    "weight load": 3,
    "memory pool": 4,
    "cuda graph capture": 6,
    "warmup": 9,
    "ready": 10,
    "runtime": 11,
    "shutdown": 11,
    "any": 11,
}
SCHEDULER = (
    "[2026-06-01 10:01:00] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/sglang/srt/managers/scheduler.py", line 3907, in run_scheduler_process',
    "    scheduler = Scheduler(",
)
QUIT = "[2026-06-01 10:01:01] Received sigquit from a child process. It usually means the child failed."


def upto(stage: str) -> list[str]:
    """The start until a stage has begun."""
    return list(READY[: _UPTO[stage]])


def diagnose(
    log: bytes | Iterable[str],
    *,
    release: str | None = None,
    returncode: int | None = None,
    now: str | None = None,
    killed_by: str | None = None,
    asked: bool = False,
) -> Diagnosis:
    """What a log says by itself, with the changes of its class."""
    data = log if isinstance(log, bytes) else "\n".join(log).encode() + b"\n"
    detective = Detective(None if release is None else parse_release(release))
    detective.feed(data)
    detective.close()
    return _conclude(detective, Ending(returncode, _moment(now), killed_by, asked))


def diagnose_beginnings(pieces: Iterable[bytes], now: str) -> Iterator[Diagnosis]:
    """What a log says that grows by one piece after the other, each of whole lines."""
    detective = Detective(None)
    for piece in pieces:
        detective.feed(piece)
        by_now = copy.deepcopy(detective)
        by_now.close()
        yield _conclude(by_now, Ending(None, _moment(now), None, asked=False))


def _moment(now: str | None) -> datetime | None:
    return None if now is None else datetime.fromisoformat(now)


def _conclude(detective: Detective, ending: Ending) -> Diagnosis:
    found = conclude(detective, ending)
    return advise(found, detective, release_of(found))
