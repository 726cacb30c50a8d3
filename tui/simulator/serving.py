"""What the first rank does once it has started: it generates for the requests that the main process hands it."""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tui.simulator.engine import Message
from tui.simulator.memory import MIB, Device, OutOfMemoryError
from tui.simulator.pools import Pools
from tui.simulator.setup import Context

_TOKENS_PER_S = 60.0
_MOST_TOKENS_PER_S = 2000.0  # also where simulated time stands still, so that a long request stays one
_STEP_S = 0.05
_PREFILL_S = 0.15
_ACCEPTED = "accept len: 2.60, accept rate: 0.53, "
_LOG_INTERVAL = 40  # decode steps between two lines (--decode-log-interval)
_FLOOD_STEP_S, _FLOOD_LINES = 0.05, 100
_ACTIVATION_BYTES = 672 * MIB  # what a forward pass asks for that is made to fail


class ActivationError(OutOfMemoryError):
    """There was no room for what a forward pass needs, on demand."""


class DeviceFaultError(Exception):
    """The GPU failed, on demand."""


@dataclass(slots=True)
class Running:
    """One request being generated."""

    prompt_tokens: int
    wanted_tokens: int
    started: float
    generated: int = 0


class Batch:
    """The running requests of one server."""

    def __init__(self, context: Context, connection: Connection, device: Device, pools: Pools) -> None:
        self._connection = connection
        self._device = device
        self._switches = context.switches
        self._log = context.log
        self._clock = context.clock
        self._pools = pools
        self._speculates = context.setup.args.get("speculative_algorithm") is not None
        self._busy = context.setup.directory / "busy" / str(os.getpid())
        self._graphs = not context.setup.args["disable_cuda_graph"]
        self._running: dict[str, Running] = {}
        self._waiting: deque[tuple[str, int, int, int]] = deque()
        self._is_ready = False
        self._steps = 0
        self._logged_at = time.monotonic()
        speed = _TOKENS_PER_S / self._clock.pace if self._clock.pace > 0 else _MOST_TOKENS_PER_S
        self._speed = min(speed, _MOST_TOKENS_PER_S)

    def serve(self) -> None:
        """Serve until the main process is gone.

        Raises:
            ActivationError, DeviceFaultError: asked to fail.
        """
        while True:
            try:
                if self._connection.poll(self._patience_s()):
                    self._receive(self._connection.recv())
            except (EOFError, OSError):
                return
            self._advance()
            if self._floods:
                self._flood()

    @property
    def _floods(self) -> bool:
        return self._is_ready and self._switches.flood

    def _patience_s(self) -> float | None:
        """How long to wait for the next message; None: for ever."""
        if self._floods:
            return self._clock.tick(_FLOOD_STEP_S)
        return _STEP_S if self._running else None

    def _flood(self) -> None:
        for _ in range(_FLOOD_LINES):
            self._log_decode(time.monotonic())

    def _receive(self, message: Message) -> None:
        kind, rid, prompt_tokens, cached_tokens, wanted_tokens = message
        if kind == "crash":
            raise DeviceFaultError("CUDA error: an illegal memory access was encountered")
        if kind == "ready":
            self._is_ready = True
        elif kind == "abort":
            self._running.pop(rid, None)
            self._waiting = deque(request for request in self._waiting if request[0] != rid)
        else:
            if self._is_ready and self._switches.fail == "runtime":
                raise ActivationError(self._device.describe_shortage(_ACTIVATION_BYTES))
            self._waiting.append((rid, prompt_tokens, cached_tokens, wanted_tokens))
        self._admit()
        self._mark_busy()

    def _admit(self) -> None:
        """Begin as many of those that wait as may run at once."""
        while self._waiting and len(self._running) < self._pools.max_running_requests:
            self._prefill(*self._waiting.popleft())

    def _prefill(self, rid: str, prompt_tokens: int, cached_tokens: int, wanted_tokens: int) -> None:
        started = time.monotonic()
        running = len(self._running)
        self._running[rid] = Running(prompt_tokens, wanted_tokens, started)
        self._mark_busy()
        self._clock.pause(_PREFILL_S)
        new_tokens = prompt_tokens - cached_tokens
        throughput = new_tokens / max(time.monotonic() - started, 1e-3)
        self._log.line(
            f"Prefill batch, #new-seq: 1, #new-token: {new_tokens}, #cached-token: {cached_tokens}, "
            f"{self._prefill_usage()}, #running-req: {running}, #queue-req: {len(self._waiting)}, #pending-token: 0, "
            f"cuda graph: {self._graphs}, input throughput (token/s): {throughput:.2f}"
        )

    def _advance(self) -> None:
        """Bring every request to where its generation is by now, and tell the main process."""
        now = time.monotonic()
        for rid, request in list(self._running.items()):
            due = min(int((now - request.started) * self._speed) + 1, request.wanted_tokens)
            self._steps += due - request.generated
            request.generated = due
            done = due >= request.wanted_tokens
            self._connection.send((rid, due, done))
            if done:
                del self._running[rid]
                self._admit()
                self._mark_busy()
        if self._steps >= _LOG_INTERVAL:
            self._log_decode(now)

    def _log_decode(self, now: float) -> None:
        throughput = self._steps / max(now - self._logged_at, 1e-3)
        self._log.line(
            f"Decode batch, #running-req: {max(len(self._running), 1)}, {self._decode_usage()}, "
            f"{_ACCEPTED if self._speculates else ''}cuda graph: {self._graphs}, "
            f"gen throughput (token/s): {throughput:.2f}, #queue-req: {len(self._waiting)}"
        )
        self._steps, self._logged_at = 0, now

    def _tokens(self) -> int:
        return sum(request.prompt_tokens + request.generated for request in self._running.values())

    def _usage(self) -> float:
        return min(self._tokens() / self._pools.tokens, 1.0)

    def _prefill_usage(self) -> str:
        """0.5.11 and 0.5.23 name the pools where there are two."""
        if self._pools.state is None:
            return f"token usage: {self._usage():.2f}"
        return f"full token usage: {self._usage():.2f}, mamba usage: {self._slots() / self._pools.state.slots:.2f}"

    def _decode_usage(self) -> str:
        if self._pools.state is None:
            return f"#token: {self._tokens()}, {self._prefill_usage()}"
        usage = f"full token usage: {self._usage():.2f}, mamba num: {self._slots()}"
        return f"#full token: {self._tokens()}, {usage}, mamba usage: {self._slots() / self._pools.state.slots:.2f}"

    def _slots(self) -> int:
        """State slots of the running requests."""
        return 0 if self._pools.state is None else len(self._running) * self._pools.state.slots_per_request

    def _mark_busy(self) -> None:
        """Say to readers of the GPUs whether a request runs."""
        if self._running:
            self._busy.touch()
        else:
            self._busy.unlink(missing_ok=True)
