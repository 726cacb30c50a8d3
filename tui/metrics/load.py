"""A small load: so many requests, so many at a time; what clients felt, and what the server did meanwhile."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus

from msgspec import Struct

from tui.metrics.generation import Generation, RefusedError, chat, complete
from tui.metrics.live import LiveMetrics
from tui.sglang.http import Endpoint, NoAnswerError

_LIMIT_S = 600.0
_SAMPLE_S = 1.0  # each is a line in the server's log
_WORDS = ("river", "copper", "seven", "lantern", "quiet", "orbit", "meadow", "signal", "amber", "thread")


class Plan(Struct, frozen=True):
    """What to send.

    Attributes:
        prompt_words, tokens: of each request; all of the tokens are generated, whatever the model thinks of it.
    """

    requests: int
    concurrency: int
    prompt_words: int = 200
    tokens: int = 128


class Sample(Struct, frozen=True):
    """The server at one moment.

    Attributes:
        at_s: since the load began.
        memory_bytes: in use on its GPUs; None without any.
    """

    at_s: float
    live: LiveMetrics
    memory_bytes: int | None


class Outcome(Struct, frozen=True):
    """How it went.

    Attributes:
        errors: how often which one came.
        full_s: until then each client had a request to wait for.
    """

    plan: Plan
    seconds: float
    done: tuple[Generation, ...]
    errors: tuple[tuple[str, int], ...]
    samples: tuple[Sample, ...]
    full_s: float

    @property
    def at_full(self) -> tuple[LiveMetrics, ...]:
        """The server while all of the load was on it: what came after limits nobody."""
        return tuple(sample.live for sample in self.samples if sample.at_s <= self.full_s)

    @property
    def tokens_per_s(self) -> float:
        """Generated, over all requests."""
        return sum(one.completion_tokens for one in self.done) / self.seconds if self.seconds else 0.0


def run(endpoint: Endpoint, plan: Plan, look: Callable[[], tuple[LiveMetrics, int | None]], seed: str = "") -> Outcome:
    """Send it all and wait for it.

    Args:
        endpoint: of a server whose ownership is proved.
        plan: what to send.
        look: its live figures and the memory in use on its GPUs.
        seed: begins every prompt, so that an earlier load's prefixes aren't found in the cache.
    """
    load = _Load(endpoint, plan, seed)
    ended = threading.Event()
    samples: list[Sample] = []
    watch = threading.Thread(target=_watch, args=(look, ended, samples), name="load-watch", daemon=True)
    started = time.monotonic()
    watch.start()
    load.run()
    seconds = time.monotonic() - started
    ended.set()
    watch.join()
    errors = tuple(load.errors.most_common())
    return Outcome(plan, seconds, tuple(load.done), errors, tuple(samples), load.spent_at - started)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that this share of them doesn't exceed (nearest rank); None of none."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else None


class _Load:
    """The clients. Each is a daemon: ctrl-c ends them with the process, and the server drops their requests."""

    def __init__(self, endpoint: Endpoint, plan: Plan, seed: str) -> None:
        self._endpoint = endpoint
        self._plan = plan
        self._seed = seed
        self._ask = chat
        self._left: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(plan.requests):
            self._left.put(number)
        self.done: list[Generation] = []
        self.errors: Counter[str] = Counter()
        self.spent_at = math.inf

    def run(self) -> None:
        """Until every request was answered or has failed."""
        clients = [threading.Thread(target=self._client, daemon=True) for _ in range(self._plan.concurrency)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def _client(self) -> None:
        while True:
            try:
                number = self._left.get_nowait()
            except queue.Empty:
                self.spent_at = min(self.spent_at, time.monotonic())
                return
            try:
                self.done.append(self._one(f"{self._seed} {number}: {self._prompt(number)}"))
            except NoAnswerError as error:
                self.errors[str(error)] += 1

    def _one(self, prompt: str) -> Generation:
        try:
            return self._ask(self._endpoint, prompt, self._plan.tokens, _LIMIT_S, to_the_end=True)
        except RefusedError as error:
            if self._ask is complete or error.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
                raise
        self._ask = complete  # it has no chat template
        return complete(self._endpoint, prompt, self._plan.tokens, _LIMIT_S, to_the_end=True)

    def _prompt(self, number: int) -> str:
        return " ".join(_WORDS[(number + step * step) % len(_WORDS)] for step in range(self._plan.prompt_words))


def _watch(look: Callable[[], tuple[LiveMetrics, int | None]], ended: threading.Event, samples: list[Sample]) -> None:
    started = time.monotonic()
    while not ended.is_set():
        live, memory = look()
        samples.append(Sample(time.monotonic() - started, live, memory))
        ended.wait(_SAMPLE_S)
