"""Lines as healthy servers log them, without end and different each time: with prompts and paths full of bad words."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.support.diagnosing import LOGS
from tests.support.logs import FIXTURES

_WORDS = (
    *("Scheduler hit an exception: Traceback (most recent call last):", "Killed", "CUDA out of memory", "oom"),
    *("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "SIGQUIT received. x"),
    *("[2026-11-05 07:00:27] Scheduler hit an exception", "KeyError: 'lm_head.weight'", "Segmentation fault"),
    *("Assertion `x` failed.", "waiting for baton release at /x", "401 Client Error", "memory leak detected!"),
)
_STARTS = (
    FIXTURES / "real" / "0.5.11" / "clean.log",
    FIXTURES / "real" / "0.5.23" / "solo.log",
    LOGS / "healthy-full-of-scary-words.log",
)


def start_lines(which: int) -> list[bytes]:
    """A real or hand-made start, until it is ready."""
    lines = _STARTS[which % len(_STARTS)].read_bytes().split(b"\n")
    ready = next(place for place, line in enumerate(lines) if b"fired up and ready" in line)
    return lines[: ready + 1]


def serving_lines(seed: int) -> Iterator[bytes]:
    """What a working server logs, for ever."""
    source = random.Random(seed)  # noqa: S311 - no cryptography: the same lines for the same seed
    second = 0
    while True:
        second += source.randrange(3)
        day, hour, minute = 5 + second // 86400 % 20, second // 3600 % 24, second // 60 % 60
        stamp = f"[2026-11-{day:02d} {hour:02d}:{minute:02d}:{second % 60:02d}"
        rank = source.choice(("", "", " TP0", " DP1 TP3 EP3"))
        yield f"{stamp}{rank}] {_message(source)}".encode()


def _message(source: random.Random) -> str:
    kind, bad, number = source.randrange(20), source.choice(_WORDS), source.randrange(10**6)
    if kind < 9:
        return (
            f"Decode batch, #running-req: {number % 64}, #token: {number}, token usage: 0.{number % 90:02d}, "
            f"cuda graph: True, gen throughput (token/s): {number % 4000}.{number % 100:02d}, #queue-req: 0"
        )
    if kind < 13:
        return (
            f"Prefill batch, #new-seq: {1 + number % 8}, #new-token: {number % 8192}, #cached-token: {number % 99}, "
            f"token usage: 0.{number % 90:02d}, #running-req: {number % 64}, #queue-req: 0"
        )
    if kind < 16:
        return f'INFO:     10.0.0.{number % 255}:{number % 60000} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    return _rarer(kind, bad, number)


def _rarer(kind: int, bad: str, number: int) -> str:
    if kind == 16:
        return f"Receive: obj=GenerateReqInput(rid='{number:032x}', text={bad!r}, stream=False)"
    if kind == 17:
        return f"Finish: obj=GenerateReqInput(rid='{number:032x}'), out={{'text': {bad!r}}}"
    if kind == 18:
        path = bad.replace(" ", "%20")
        return f'INFO:     10.0.0.{number % 255}:{number % 60000} - "GET /{path} HTTP/1.1" 404 Not Found'
    return (
        "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 2048, #new_token_ratio: 0.15"
    )
