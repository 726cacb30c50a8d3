"""One streamed generation, as a client sees it: when its first token came, and how fast the others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPResponse
from typing import Any

from msgspec import Struct

from tui.sglang.http import Endpoint, NoAnswerError, request
from tui.text import printable

CHAT, GENERATE = "/v1/chat/completions", "/generate"
_LONGEST_LINE = 1 << 20
_MOST_WORDS = 200
_END = b"[DONE]"


class RefusedError(NoAnswerError):
    """The server said no to the request itself.

    Attributes:
        status: of its answer.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Generation(Struct, frozen=True):
    """One that was completed.

    Attributes:
        prompt_tokens, completion_tokens: as the server counts them.
        first_token_s: from sending the request to the first text, with reasoning counted as text.
        seconds: from sending it to the end.
    """

    prompt_tokens: int
    completion_tokens: int
    first_token_s: float
    seconds: float

    @property
    def tokens_per_s(self) -> float | None:
        """How fast tokens came after the first one; None where there is nothing to measure."""
        between = self.seconds - self.first_token_s
        return (self.completion_tokens - 1) / between if self.completion_tokens > 1 and between > 0 else None


def chat(endpoint: Endpoint, prompt: str, tokens: int, limit_s: float, *, to_the_end: bool = False) -> Generation:
    """Ask for a chat completion.

    Args:
        endpoint: of a server whose ownership is proved.
        prompt: what the user says.
        tokens: as many at most.
        limit_s: for all of it.
        to_the_end: of those tokens, whatever the model thinks of it.

    Raises:
        RefusedError: it answered with another status; a model without a chat template gives 400.
        NoAnswerError: it didn't answer, or not as it should.
    """
    body = {
        "model": "default",  # SGLang takes any name
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": to_the_end,
    }
    return _stream(endpoint, CHAT, body, limit_s)


def complete(endpoint: Endpoint, prompt: str, tokens: int, limit_s: float, *, to_the_end: bool = False) -> Generation:
    """Have SGLang's own endpoint continue a text, which needs no chat template; else as `chat`."""
    parameters = {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": to_the_end}
    return _stream(endpoint, GENERATE, {"text": prompt, "sampling_params": parameters, "stream": True}, limit_s)


def _stream(endpoint: Endpoint, path: str, body: Mapping[str, Any], limit_s: float) -> Generation:
    started = time.monotonic()
    first, usage = None, {"prompt_tokens": 0, "completion_tokens": 0}
    with request(endpoint, "POST", path, json.dumps(body).encode(), limit_s) as response:
        if response.status != HTTPStatus.OK:
            raise RefusedError(response.status, f"{response.status} on {path}{_reason(response)}")
        for chunk in _chunks(response):
            if chunk.get("error"):
                raise NoAnswerError(f"it broke off: {_short(chunk['error'])}")
            usage.update(_usage(chunk))
            if first is None and _has_token(chunk):
                first = time.monotonic() - started
    seconds = time.monotonic() - started
    if not usage["completion_tokens"]:
        raise NoAnswerError("it ended without a token")
    # A token may be no text yet: half of a character, or a special one.
    return Generation(usage["prompt_tokens"], usage["completion_tokens"], seconds if first is None else first, seconds)


def _chunks(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The objects of a stream of server-sent events, up to its end mark."""
    while line := response.readline(_LONGEST_LINE):
        data = line.removeprefix(b"data:").strip()
        if data == _END:
            return
        if not data or not line.startswith(b"data:"):
            continue  # blank lines, comments
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            raise NoAnswerError("what it streams isn't JSON")
        yield chunk
    raise NoAnswerError("it broke off before the end")


def _usage(chunk: Mapping[str, Any]) -> dict[str, int]:
    """The counts so far: `usage` of a chat, `meta_info` of /generate."""
    told = chunk.get("usage") or chunk.get("meta_info")
    names = ("prompt_tokens", "completion_tokens")
    return {name: told[name] for name in names if isinstance(told.get(name), int)} if isinstance(told, dict) else {}


def _has_token(chunk: Mapping[str, Any]) -> bool:
    """Text or reasoning of a chat (its first piece only says who speaks); any piece of /generate."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return "meta_info" in chunk
    deltas = [choice.get("delta") or {} for choice in choices if isinstance(choice, dict)]
    return any(delta.get("content") or delta.get("reasoning_content") for delta in deltas)


def _reason(response: HTTPResponse) -> str:
    """What the body of a refusal says, where it is one of SGLang's."""
    try:
        told = json.loads(response.read(_LONGEST_LINE))
    except (ValueError, RecursionError):
        return ""
    error = (told.get("error") or told.get("message") or told.get("detail")) if isinstance(told, dict) else None
    return f": {_short(error)}" if error else ""


def _short(error: Any) -> str:
    text = error.get("message", "") if isinstance(error, dict) else error
    return printable(str(text))[:_MOST_WORDS]
