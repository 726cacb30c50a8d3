"""The main process's side of generation: hands requests to rank 0 and waits for their tokens."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from tui.simulator.scheduler import Load

Message = tuple[str, str, int, int, int]  # what to do, request id, tokens: prompt, cached, wanted
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "servers", "hum")
_DISCONNECT_POLL_S = 0.2


class DisconnectedError(Exception):
    """The client left; its request is aborted."""


@dataclass(slots=True)
class Request:
    """One request in the main process; `updates` carries (tokens so far, whether it is finished)."""

    rid: str
    prompt_tokens: int
    cached_tokens: int
    wanted_tokens: int
    arrived: float = field(default_factory=time.monotonic)
    has_begun: bool = False
    updates: queue.SimpleQueue[tuple[int, bool]] = field(default_factory=queue.SimpleQueue)


class Engine:
    """Requests in flight. Safe for many threads.

    Attributes:
        loads: what each copy of the model does now, by its number.
        gauges: what it last published: with each prefill, and now and then while it generates.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._running: dict[str, Request] = {}
        self.prompt_tokens = 0
        self.generated_tokens = 0
        self.requests = 0
        self.cached_tokens = 0
        self.first_tokens = 0
        self.first_token_s = 0.0
        self.loads: defaultdict[int, Load] = defaultdict(Load)
        self.gauges: defaultdict[int, Load] = defaultdict(Load)
        threading.Thread(target=self._receive, daemon=True).start()

    @property
    def running(self) -> list[str]:
        """Ids of the requests in flight, health checks left out as SGLang does."""
        with self._lock:
            return [rid for rid in self._running if not rid.startswith("HEALTH_CHECK")]

    def generate(
        self, prompt_tokens: int, wanted_tokens: int, is_gone: Callable[[], bool], cached_tokens: int = 0, rid: str = ""
    ) -> Iterator[int]:
        """Run a request; yields the number of tokens so far, until all are there.

        Raises:
            DisconnectedError: `is_gone` said so, and the request was aborted.
        """
        request = Request(rid or os.urandom(16).hex(), prompt_tokens, cached_tokens, wanted_tokens)
        with self._lock:
            self._running[request.rid] = request
        self._send("generate", request)
        try:
            yield from self._follow(request, is_gone)
        finally:
            with self._lock:
                self._running.pop(request.rid, None)

    def tell(self, word: str) -> None:
        """Say something to the schedulers that isn't a request: "ready" or "crash"."""
        with suppress(OSError):  # their death is noticed elsewhere
            self._send(word, Request("", 0, 0, 0))

    def _send(self, kind: str, request: Request) -> None:
        tokens = (request.prompt_tokens, request.cached_tokens, request.wanted_tokens)
        message: Message = (kind, request.rid, *tokens)
        with self._lock:
            self._connection.send(message)

    def _follow(self, request: Request, is_gone: Callable[[], bool]) -> Iterator[int]:
        done = False
        tokens = 0
        while not done:
            try:
                tokens, done = request.updates.get(timeout=_DISCONNECT_POLL_S)
            except queue.Empty:
                pass
            else:
                self._note_first(request)
                yield tokens
            if not done and is_gone():
                self._send("abort", request)
                raise DisconnectedError
        self._count(request, tokens)

    def _note_first(self, request: Request) -> None:
        if not request.has_begun:
            request.has_begun = True
            with self._lock:
                self.first_tokens += 1
                self.first_token_s += time.monotonic() - request.arrived

    def _count(self, request: Request, tokens: int) -> None:
        with self._lock:
            self.requests += 1
            self.prompt_tokens += request.prompt_tokens
            self.cached_tokens += request.cached_tokens
            self.generated_tokens += tokens

    def _receive(self) -> None:
        """Pass updates on, until rank 0 is gone (its death is noticed elsewhere)."""
        while True:
            try:
                update = self._connection.recv()
            except (EOFError, OSError):
                return
            if isinstance(update[0], Load):
                self._note_load(*update)
                continue
            rid, tokens, done = update
            with self._lock:
                request = self._running.get(rid)
            if request is not None:
                request.updates.put((tokens, done))

    def _note_load(self, load: Load, is_gauges: bool, replica: int = 0) -> None:
        (self.gauges if is_gauges else self.loads)[replica] = load


def make_text(start: int, end: int) -> str:
    """The words of tokens `start` to `end`, the same for every request."""
    return "".join(f" {_WORDS[index % len(_WORDS)]}" for index in range(start, end))


def count_tokens(prompt: object) -> int:
    """About as many tokens as words, for text or a list of token ids."""
    return max(len(prompt), 1) if isinstance(prompt, list) else max(len(str(prompt).split()), 1)
