"""What the first rank does once it has started: it generates for the requests that the main process hands it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

from tui.simulator.engine import Message
from tui.simulator.memory import MIB, Device, OutOfMemoryError
from tui.simulator.pools import Pools
from tui.simulator.scheduler import Load, Retraction, Running, Scheduler
from tui.simulator.setup import Context

_TOKENS_PER_S = 60.0  # of a request that runs alone
_MOST_TOKENS_PER_S = 2000.0  # also where simulated time stands still, so that a long request stays one
_HALF_SPEED_AT = 64  # requests at once: each step takes twice as long
_STEP_S = 0.05
_PREFILL_S = 0.15
_ACCEPTED_TOKENS = 2.6  # a step of speculative decoding
_ACCEPTED = f"accept len: {_ACCEPTED_TOKENS:.2f}, accept rate: 0.53, "
_LOG_INTERVAL = 40  # decode steps between two lines (--decode-log-interval)
_IDLE_GAUGES_S = 30.0  # after which 0.5.11 notices that its gauges tell of what is over
_FLOOD_STEP_S, _FLOOD_LINES = 0.05, 100
_ACTIVATION_BYTES = 672 * MIB  # what a forward pass asks for that is made to fail


class ActivationError(OutOfMemoryError):
    """There was no room for what a forward pass needs, on demand."""


class DeviceFaultError(Exception):
    """The GPU failed, on demand."""


class Batch:
    """The running requests of one server."""

    def __init__(self, context: Context, connection: Connection, device: Device, pools: Pools) -> None:
        args = context.setup.args
        self._connection = connection
        self._device = device
        self._switches = context.switches
        self._log = context.log
        self._clock = context.clock
        self._pools = pools
        chunk = args["chunked_prefill_size"]
        self._scheduler = Scheduler(pools, chunk if chunk > 0 else pools.tokens, args["schedule_conservativeness"])
        self._speculates = args.get("speculative_algorithm") is not None
        self._tokens_a_step = _ACCEPTED_TOKENS if self._speculates else 1.0
        self._busy = context.setup.directory / "busy" / str(os.getpid())
        self._graphs = not args["disable_cuda_graph"]
        self._is_ready = False
        self._steps, self._generated = 0.0, 0  # since the last line
        self._throughput = 0.0
        self._logged_at = self._advanced_at = self._gauges_at = time.monotonic()
        self._told = self._gauges = Load()
        self._idle_gauges_s = self._clock.tick(_IDLE_GAUGES_S) if context.setup.is_old else 0.0
        speed = _TOKENS_PER_S / self._clock.pace if self._clock.pace > 0 else _MOST_TOKENS_PER_S
        self._speed = min(speed, _MOST_TOKENS_PER_S)

    def serve(self) -> None:
        """Serve until the main process is gone.

        Raises:
            ActivationError, DeviceFaultError: asked to fail.
        """
        while True:
            patience_s = self._patience_s()
            try:
                while self._connection.poll(patience_s):
                    self._receive(self._connection.recv())
                    patience_s = 0.0
                self._advance()
                while begun := self._scheduler.begin():
                    self._prefill(begun)
                self._tell_load()
            except (EOFError, OSError):
                return
            if self._floods:
                self._flood()

    @property
    def _floods(self) -> bool:
        return self._is_ready and self._switches.flood

    def _patience_s(self) -> float | None:
        """How long to wait for the next message; None: for ever."""
        if self._floods:
            return self._clock.tick(_FLOOD_STEP_S)
        if self._scheduler.running:
            return _STEP_S
        return None if self._gauges == self._scheduler.load() else self._until_gauges_are_put_right_s()

    def _until_gauges_are_put_right_s(self) -> float:
        return max(self._gauges_at + self._idle_gauges_s - time.monotonic(), 0.0)

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
            self._scheduler.drop(rid)
        else:
            if self._is_ready and self._switches.fail == "runtime":
                raise ActivationError(self._device.describe_shortage(_ACTIVATION_BYTES))
            self._scheduler.waiting.append(Running(rid, prompt_tokens, cached_tokens, wanted_tokens))

    def _advance(self) -> None:
        """Bring every request to where its generation is by now, and tell the main process."""
        now = time.monotonic()
        seconds, self._advanced_at = now - self._advanced_at, now
        count = len(self._scheduler.running)
        if not count:
            return
        tokens = seconds * self._speed / (1 + count / _HALF_SPEED_AT)
        if retraction := self._scheduler.make_room(tokens):
            self._log_retraction(retraction)
        steps = self._generate(tuple(self._scheduler.running.values()), tokens) / self._tokens_a_step
        self._scheduler.relax(steps)
        self._steps += steps
        if self._steps >= _LOG_INTERVAL:
            self._log_decode(now)
            self._tell_gauges(self._scheduler.load(self._throughput))

    def _generate(self, requests: Iterable[Running], tokens: float) -> int:
        """The most tokens that one of them got."""
        most = 0
        for request, new_tokens in self._scheduler.generate(requests, tokens):
            most = max(most, new_tokens)
            self._generated += new_tokens
            self._connection.send((request.rid, request.generated, request.is_done))
        return most

    def _prefill(self, begun: Sequence[Running]) -> None:
        """Those that were running wait for it."""
        started = time.monotonic()
        before = self._scheduler.load(self._throughput)
        running = len(self._scheduler.running) - len(begun)
        self._tell_load()
        self._clock.pause(_PREFILL_S)
        cached_tokens = sum(request.cached_tokens for request in begun)
        new_tokens = sum(request.tokens for request in begun) - cached_tokens
        throughput = new_tokens / max(time.monotonic() - started, 1e-3)
        self._log.line(
            f"Prefill batch, #new-seq: {len(begun)}, #new-token: {new_tokens}, #cached-token: {cached_tokens}, "
            f"{self._prefill_usage()}, #running-req: {running}, #queue-req: {len(self._scheduler.waiting)}, "
            f"#pending-token: 0, cuda graph: {self._graphs}, input throughput (token/s): {throughput:.2f}"
        )
        # As in `report_prefill_stats`: those that have just begun aren't among the running ones yet.
        self._tell_gauges(replace(before, running=running))
        self._generate(begun, 1.0)
        self._advanced_at = time.monotonic()

    def _log_decode(self, now: float) -> None:
        self._throughput = self._generated / max(now - self._logged_at, 1e-3)
        running, queued = len(self._scheduler.running), len(self._scheduler.waiting)
        self._log.line(
            f"Decode batch, #running-req: {max(running, 1)}, {self._decode_usage()}, "
            f"{_ACCEPTED if self._speculates else ''}cuda graph: {self._graphs}, "
            f"gen throughput (token/s): {self._throughput:.2f}, #queue-req: {queued}"
        )
        self._steps, self._generated, self._logged_at = 0.0, 0, now

    def _log_retraction(self, told: Retraction) -> None:
        slots = "" if self._pools.state is None else f", #mamba_num_gained: {told.slots}"
        self._log.line(
            f"KV cache pool is full. Retract requests. #retracted_reqs: {told.requests}, "
            f"#new_tokens_gained: {told.tokens}{slots}, "
            f"#new_token_ratio: {told.old_ratio:.4f} -> {told.new_ratio:.4f}"
        )

    def _tell_load(self) -> None:
        """What there is now, for who asks; and whether a request runs, for readers of the GPUs."""
        load = self._scheduler.load(self._throughput if self._scheduler.running else 0.0)
        if load != self._told:
            self._told = load
            self._connection.send((load, False))
            if load.running:
                self._busy.touch()
            else:
                self._busy.unlink(missing_ok=True)
        if not load.running and load != self._gauges and not self._until_gauges_are_put_right_s():
            self._tell_gauges(load)

    def _tell_gauges(self, load: Load) -> None:
        """What /metrics shows from now on: it changes with a line of the log."""
        self._gauges, self._gauges_at = load, time.monotonic()
        self._connection.send((load, True))

    def _usage(self) -> float:
        return min(self._scheduler.used_tokens / self._pools.tokens, 1.0)

    def _prefill_usage(self) -> str:
        """0.5.11 and 0.5.23 name the pools where there are two."""
        if self._pools.state is None:
            return f"token usage: {self._usage():.2f}"
        return f"full token usage: {self._usage():.2f}, mamba usage: {self._slot_usage():.2f}"

    def _decode_usage(self) -> str:
        tokens = self._scheduler.used_tokens
        if self._pools.state is None:
            return f"#token: {tokens}, {self._prefill_usage()}"
        usage = f"full token usage: {self._usage():.2f}, mamba num: {self._scheduler.slots}"
        return f"#full token: {tokens}, {usage}, mamba usage: {self._slot_usage():.2f}"

    def _slot_usage(self) -> float:
        return 0.0 if self._pools.state is None else self._scheduler.slots / self._pools.state.slots
