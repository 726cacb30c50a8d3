"""What POST /generate and POST /v1/chat/completions answer, whole or as a stream."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from tui.simulator.engine import count_tokens, make_text

_DEFAULT_TOKENS = 128


class Reply:
    """One answer being made; the subclass reads the request and shapes what goes out."""

    prompt_tokens: int
    wanted_tokens: int

    def __init__(self, request: dict[str, Any], model: str) -> None:
        self.id = os.urandom(16).hex()
        self.model = request.get("model") or model
        self.streams = bool(request.get("stream"))
        self.arrived = time.time()
        self._read(request)

    def _read(self, request: dict[str, Any]) -> None:
        raise NotImplementedError

    def body(self, steps: Iterator[int]) -> dict[str, Any]:
        """The whole answer, once all tokens are there."""
        raise NotImplementedError

    def stream(self, steps: Iterator[int]) -> Iterator[dict[str, Any]]:
        """The answer piece by piece."""
        raise NotImplementedError


class GenerateReply(Reply):
    """SGLang's native endpoint. Streamed pieces repeat the text so far."""

    def _read(self, request: dict[str, Any]) -> None:
        parameters = request.get("sampling_params") or {}
        self.prompt_tokens = count_tokens(request.get("text") or request.get("input_ids") or "")
        self.wanted_tokens = max(int(parameters.get("max_new_tokens", _DEFAULT_TOKENS)), 1)

    def body(self, steps: Iterator[int]) -> dict[str, Any]:
        """As one object."""
        return self._piece(_last(steps))

    def stream(self, steps: Iterator[int]) -> Iterator[dict[str, Any]]:
        """One object an update."""
        for tokens in steps:
            yield self._piece(tokens)

    def _piece(self, tokens: int) -> dict[str, Any]:
        done = tokens >= self.wanted_tokens
        now = time.time()
        meta: dict[str, Any] = {
            "id": self.id,
            "finish_reason": {"type": "length", "length": tokens} if done else None,
            "prompt_tokens": self.prompt_tokens,
            "weight_version": "default",
            "total_retractions": 0,
            "queue_time": 0.0,
            "prefill_waiting_latency": None,
            "prefill_launch_latency": None,
            "reasoning_tokens": 0,
            "completion_tokens": tokens,
            "cached_tokens": 0,
            "cached_tokens_details": None,
            "dp_rank": None,
            "e2e_latency": now - self.arrived,
            "request_received_ts": self.arrived,
            "api_server_dispatch_finish_ts": self.arrived,
            "request_finished_ts": now,
            "inference_time": now - self.arrived,
            "decode_throughput": tokens / max(now - self.arrived, 1e-3),
            "response_sent_to_client_ts": now,
        }
        return {"text": make_text(0, tokens), "output_ids": list(range(tokens)), "meta_info": meta}


class ChatReply(Reply):
    """The OpenAI-compatible endpoint."""

    def _read(self, request: dict[str, Any]) -> None:
        words = " ".join(str(message.get("content", "")) for message in request["messages"])
        wanted = request.get("max_completion_tokens") or request.get("max_tokens") or _DEFAULT_TOKENS
        self.prompt_tokens = count_tokens(words) + 8  # the chat template's own
        self._tells_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        self.wanted_tokens = max(int(wanted), 1)

    def body(self, steps: Iterator[int]) -> dict[str, Any]:
        """As one object."""
        tokens = _last(steps)
        message = {
            "role": "assistant",
            "content": make_text(0, tokens),
            "reasoning_content": None,
            "tool_calls": None,
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": "length",
            "matched_stop": None,
        }
        head = self._head("chat.completion")
        return {**head, "choices": [choice], "usage": self._usage(tokens), "metadata": {"weight_version": "default"}}

    def stream(self, steps: Iterator[int]) -> Iterator[dict[str, Any]]:
        """The role first, then pieces of text, then the reason why it ends."""
        yield self._chunk({"role": "assistant", "content": ""})
        sent = 0
        for tokens in steps:
            if tokens > sent:
                yield self._chunk({"content": make_text(sent, tokens)})
            sent = tokens
        yield self._chunk({}, "length")
        if self._tells_usage:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(sent)}

    def _usage(self, tokens: int) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + tokens,
            "completion_tokens": tokens,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason, "matched_stop": None}
        return {**self._head("chat.completion.chunk"), "choices": [choice], "usage": None}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": int(self.arrived), "model": self.model}


def _last(steps: Iterator[int]) -> int:
    """Wait for the last update."""
    return list(steps)[-1]
