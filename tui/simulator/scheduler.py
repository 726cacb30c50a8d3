"""Which requests run and which wait, by SGLang's rules: places, room in the KV cache, and who is put back.

Those of 0.5.11: `PrefillAdder` (`srt/managers/schedule_policy.py:395-900`), `retract_decode` (`schedule_batch.py:2134`)
and `scheduler.py:1128, 2564, 2803`. For what a request may still generate a share of the room is kept, which shrinks
with each step that goes well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tui.simulator.pools import Pools

_FIRST_RATIO, _LEAST_FACTOR, _DECAY_STEPS = 0.7, 0.14, 600  # SGLANG_INIT_NEW_TOKEN_RATIO and its kin
_MOST_KEPT = 4096  # SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
_RETRACT_STEPS = 20  # SGLANG_RETRACT_DECODE_STEPS


@dataclass(slots=True)
class Running:
    """One request.

    Attributes:
        progress: tokens generated so far, and a part of the next one.
    """

    rid: str
    prompt_tokens: int
    cached_tokens: int
    wanted_tokens: int
    progress: float = 0.0

    @property
    def generated(self) -> int:
        """Whole tokens."""
        return min(int(self.progress), self.wanted_tokens)

    @property
    def is_done(self) -> bool:
        """All that it wanted is there."""
        return self.generated >= self.wanted_tokens

    @property
    def tokens(self) -> int:
        """What it takes of the KV cache."""
        return self.prompt_tokens + self.generated

    @property
    def to_come(self) -> int:
        """Tokens that it may still generate, as far as room is kept for them."""
        return min(self.wanted_tokens - self.generated, _MOST_KEPT)


@dataclass(frozen=True, slots=True)
class Load:
    """What one scheduler does; what it tells of itself."""

    running: int = 0
    queued: int = 0
    used_tokens: int = 0
    slots: int = 0
    tokens_per_s: float = 0.0
    retracted: int = 0
    new_token_ratio: float = _FIRST_RATIO


@dataclass(frozen=True, slots=True)
class Retraction:
    """Requests that were put back, and what it said of that."""

    requests: int
    tokens: int
    slots: int
    old_ratio: float
    new_ratio: float


class Scheduler:
    """The requests of one server.

    Args:
        pools: what there is to share.
        chunk_tokens: of prompts that are prefilled together.
        conservativeness: `--schedule-conservativeness`.
    """

    def __init__(self, pools: Pools, chunk_tokens: int, conservativeness: float) -> None:
        self._pools = pools
        self._chunk_tokens = chunk_tokens
        self._ratio = min(_FIRST_RATIO * conservativeness, 1.0)
        self._least_ratio = self._ratio * _LEAST_FACTOR
        self._decay = (self._ratio - self._least_ratio) / _DECAY_STEPS
        self._is_full = False  # until one of them ends, nobody else is tried
        self._retracted = 0
        self.running: dict[str, Running] = {}
        self.waiting: deque[Running] = deque()

    @property
    def used_tokens(self) -> int:
        """Of the KV cache, by those that run."""
        return sum(request.tokens for request in self.running.values())

    @property
    def slots(self) -> int:
        """State slots of those that run."""
        return 0 if self._pools.state is None else len(self.running) * self._pools.state.held_per_request

    def load(self, tokens_per_s: float = 0.0) -> Load:
        """What it does now."""
        return Load(
            len(self.running),
            len(self.waiting),
            min(self.used_tokens, self._pools.tokens),
            self.slots,
            tokens_per_s,
            self._retracted,
            self._ratio,
        )

    def drop(self, rid: str) -> None:
        """Its client left."""
        if self.running.pop(rid, None) is not None:
            self._is_full = False
        self.waiting = deque(request for request in self.waiting if request.rid != rid)

    def begin(self) -> list[Running]:
        """Let those in that there is a place and room for, as one batch."""
        begun: list[Running] = []
        while self.waiting and not self._is_full:
            request, new_tokens = self.waiting[0], sum(one.tokens - one.cached_tokens for one in begun)
            if begun and new_tokens + request.tokens - request.cached_tokens > self._chunk_tokens:
                break
            self._is_full = len(self.running) >= self._pools.max_running_requests or not self._has_room(request, begun)
            if not self._is_full:
                begun.append(self.waiting.popleft())
                self.running[request.rid] = request
        return begun

    def _has_room(self, request: Running, begun: list[Running]) -> bool:
        """Whoever is alone is let in: SGLang cuts what it wants to what fits."""
        kept = sum(one.to_come * (1.0 if one in begun else self._ratio) for one in self.running.values())
        room = self._pools.tokens - self.used_tokens - kept
        return not self.running or request.tokens + request.to_come + 1 < room

    def make_room(self, tokens: float) -> Retraction | None:
        """Before each of them generates so many: put back those that the cache hasn't room for, the youngest first."""
        before, slots, old_ratio = self.used_tokens, self.slots, self._ratio
        back = list(self._put_back(tokens))
        if not back:
            return None
        self.waiting.extend(back)
        self._is_full = False
        self._retracted += len(back)
        done = sum(one.generated + _RETRACT_STEPS for one in self.running.values())
        self._ratio = min(1.0, done / (sum(one.wanted_tokens for one in self.running.values()) + 1))
        return Retraction(len(back), before - self.used_tokens, slots - self.slots, old_ratio, self._ratio)

    def _put_back(self, tokens: float) -> Iterator[Running]:
        while len(self.running) > 1 and self.used_tokens + tokens * len(self.running) > self._pools.tokens:
            youngest = min(self.running.values(), key=lambda one: (one.generated, -one.prompt_tokens))
            yield self.running.pop(youngest.rid)

    def relax(self, steps: float) -> None:
        """So many steps went well: less room is kept."""
        self._ratio = max(self._ratio - steps * self._decay, self._least_ratio)

    def generate(self, requests: Iterable[Running], tokens: float) -> Iterator[tuple[Running, int]]:
        """Each of these generates so many tokens; those that got further, and by how many whole ones."""
        for request in requests:
            before = request.generated
            request.progress += tokens
            if request.generated > before:
                yield request, request.generated - before
            if request.is_done:
                del self.running[request.rid]
                self._is_full = False
