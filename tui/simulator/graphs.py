"""Captures CUDA graphs: log lines of both releases, a bar with the memory left, and memory taken step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.simulator.clock import Clock
from tui.simulator.log import Log, progress
from tui.simulator.memory import GIB, Device, OutOfMemoryError

_SECONDS = 1.5
_SHOWN = 4  # sizes written out at both ends of a long list, as the log shortens it
_ADVICE = (
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)"
)


class CaptureError(Exception):
    """A capture that failed, in SGLang's words."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One family of graphs: how its lines are worded in the release that captures it, and what it takes."""

    begin: tuple[str, ...]
    end: str
    bar: str
    bytes_per_size: int


def _kind_0511(name: str, begin: tuple[str, ...], bar: str, mib: int) -> Kind:
    end = (
        f"Capture {name} end. Time elapsed: {{elapsed:.2f}} s. mem usage={{usage:.2f}} GB. avail mem={{avail:.2f}} GB."
    )
    return Kind(begin, end, bar, mib << 20)


def _kind_0523(name: str, detail: str, bar: str, mib: int) -> Kind:
    begin = f"Capture {name} CUDA graph begin. {detail}, avail mem={{avail:.2f}} GB"
    figures = "elapsed={elapsed:.2f} s, mem usage={usage:.2f} GB, avail mem={avail:.2f} GB."
    end = f"Capture {name} CUDA graph end. {figures}"
    return Kind((begin,), end, bar, mib << 20)


_LONG = " begin. This can take up to several minutes. avail mem={avail:.2f} GB"
_BATCH_BAR = (
    "Capturing batches (bs={size} avail_mem={avail:.2f} GB): {{percent:3d}}%|{{bar}}| {{done}}/{{total}} [{{timing}}]"
)
_TOKEN_BAR = _BATCH_BAR.replace("batches (bs=", "num tokens (num_tokens=")
DECODE_0511 = _kind_0511(
    "cuda graph", ("Capture cuda graph" + _LONG, "Capture cuda graph bs [{all_sizes}]"), _BATCH_BAR, 20
)
PIECEWISE_0511 = _kind_0511(
    "piecewise CUDA graph", ("Capture piecewise CUDA graph begin. avail mem={avail:.2f} GB",), _TOKEN_BAR, 12
)
DRAFT_0511 = _kind_0511("draft cuda graph", ("Capture draft cuda graph" + _LONG,), _BATCH_BAR, 4)
_DECODE_DETAIL = "backend=full, num_tokens_per_req={tokens}, bs=[{sizes}]"
PREFILL_0523 = _kind_0523("target prefill", "backend=breakable, num_tokens=[{sizes}]", _TOKEN_BAR, 40)
DECODE_0523 = _kind_0523("target decode", _DECODE_DETAIL, _BATCH_BAR, 20)
VERIFY_0523 = _kind_0523("target verify", _DECODE_DETAIL, _BATCH_BAR, 20)
DRAFT_0523 = _kind_0523("draft decode", _DECODE_DETAIL, _BATCH_BAR, 4)


@dataclass(frozen=True, slots=True)
class Capture:
    """Captures graphs on one device.

    Attributes:
        draws: this rank shows the bar.
        before_size: called before each size; where a failure on demand strikes.
    """

    device: Device
    log: Log
    clock: Clock
    draws: bool
    before_size: Callable[[], None]

    def run(self, kind: Kind, sizes: Sequence[int], tokens_per_request: int = 1) -> tuple[float, int]:
        """Capture all `sizes`, largest first; returns seconds and bytes.

        Raises:
            CaptureError: the GPU is full.
        """
        started, free = time.monotonic(), self.device.available_bytes()
        everything = ", ".join(map(str, sizes))
        for line in kind.begin:
            self.log.line(
                line.format(avail=free / GIB, sizes=_shorten(sizes), all_sizes=everything, tokens=tokens_per_request)
            )
        try:
            self._capture(kind, sizes)
        except OutOfMemoryError as error:
            raise CaptureError(f"Capture cuda graph failed: {error}\n{_ADVICE}") from error
        elapsed, left = time.monotonic() - started, self.device.available_bytes()
        self.log.line(kind.end.format(elapsed=elapsed, usage=(free - left) / GIB, avail=left / GIB))
        return elapsed, free - left

    def _capture(self, kind: Kind, sizes: Sequence[int]) -> None:
        if not self.draws:
            for _ in sizes:
                self._take(kind, len(sizes))
            return
        with progress(self.log, len(sizes), "{percent:3d}%|{bar}| {done}/{total} [{timing}]") as bar:
            for done, size in enumerate(sorted(sizes, reverse=True)):
                bar.draw(done, kind.bar.format(size=size, avail=self.device.available_gib()))
                self._take(kind, len(sizes))
            bar.draw(len(sizes), kind.bar.format(size=min(sizes), avail=self.device.available_gib()))

    def _take(self, kind: Kind, count: int) -> None:
        self.before_size()
        self.device.allocate(kind.bytes_per_size)
        self.clock.pause(_SECONDS / count)


def _shorten(sizes: Sequence[int]) -> str:
    words = [str(size) for size in sorted(sizes)]
    if len(words) <= 2 * _SHOWN:
        return ", ".join(words)
    return ", ".join([*words[:_SHOWN], "... " + words[-2], words[-1]])
