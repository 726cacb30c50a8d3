"""The warm-up: a server asks its own address, and believes whoever answers, even another server."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

from tui.simulator.clock import Clock
from tui.simulator.setup import Context, Setup

AGENT = "python-requests (warm-up)"
_TRIES = 120
_INTERVAL_S = 1.0
_TIMEOUT_S = 600.0
_PROMPT = "The capital city of France is"
_WARMUP_TOKENS = 8


class WarmupError(Exception):
    """The warm-up failed; the text is the traceback that SGLang logs."""


class Answer:
    """Status and text of an answer, written as the `requests` package writes it."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.text = text

    def __repr__(self) -> str:
        return f"<Response [{self.status}]>"


def warm_up(context: Context) -> None:
    """Wait for our address to answer /model_info, then generate once.

    Raises:
        WarmupError: nobody answers it properly.
    """
    setup = context.setup
    if context.switches.strike("warmup"):
        _check(setup, Answer(500, "Internal Server Error"))
    _wait_for_model_info(setup, context.clock)
    parameters = {"temperature": 0, "max_new_tokens": _WARMUP_TOKENS}
    _check(setup, _ask(setup, "POST", "/generate", {"text": _PROMPT, "sampling_params": parameters}))
    if not setup.is_old:
        _ask(setup, "POST", "/freeze_gc", {})


def _wait_for_model_info(setup: Setup, clock: Clock) -> None:
    answer: Answer | None = None
    for _ in range(_TRIES):
        time.sleep(clock.tick(_INTERVAL_S))
        try:
            answer = _ask(setup, "GET", "/model_info", None)
        except (OSError, http.client.HTTPException):
            continue
        if answer.status == http.client.OK:
            return
    _check(setup, answer)


def _check(setup: Setup, answer: Answer | None) -> None:
    if answer is None or answer.status != http.client.OK:
        text = answer.text if answer else ""
        error = f"AssertionError: res={answer!r}, res.text={text!r}"
        raise WarmupError(setup.traceback("warmup", error))


def _ask(setup: Setup, method: str, path: str, body: dict[str, Any] | None) -> Answer:
    connection = http.client.HTTPConnection(setup.args["host"], setup.args["port"], timeout=_TIMEOUT_S)
    headers = {"Content-Type": "application/json", "User-Agent": AGENT}
    if setup.args["api_key"]:
        headers["Authorization"] = f"Bearer {setup.args['api_key']}"
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(errors="replace"))
    finally:
        connection.close()
