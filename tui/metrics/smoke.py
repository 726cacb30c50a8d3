"""A smoke request: does a server that says it is ready also answer?"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http import HTTPStatus

from msgspec import Struct, structs

from tui.atomic import write_atomic
from tui.keeper.files import LaunchFiles
from tui.metrics.generation import Generation, RefusedError, chat, complete
from tui.sglang.http import Endpoint, NoAnswerError

_PROMPT = "Count from one to twenty in words."
_TOKENS = 48
_LIMIT_S = 120.0
_NO_CHAT = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY)


class Smoke(Struct, frozen=True):
    """How a smoke request went; what `smoke.json` holds.

    Attributes:
        at: when it was sent, ISO 8601.
        error: why it failed, or None.
    """

    at: str
    ok: bool
    time_to_first_token_s: float | None = None
    tokens_per_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    schema: int = 1


def smoke(endpoint: Endpoint, limit_s: float = _LIMIT_S) -> Smoke:
    """Send one small chat completion, or have a text continued where there is no chat template. Never raises."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        done = _generate(endpoint, limit_s)
    except NoAnswerError as error:
        return Smoke(at, ok=False, error=str(error))
    speed = done.tokens_per_s
    return Smoke(
        at,
        ok=True,
        time_to_first_token_s=round(done.first_token_s, 4),
        tokens_per_s=None if speed is None else round(speed, 2),
        prompt_tokens=done.prompt_tokens,
        completion_tokens=done.completion_tokens,
    )


def keep(files: LaunchFiles, result: Smoke) -> None:
    """Write it beside the launch's records, in the place of an earlier one.

    Raises:
        OSError: it can't be written.
    """
    write_atomic(
        files.smoke, json.dumps({"schema": result.schema, **structs.asdict(result)}, indent=1).encode() + b"\n"
    )


def _generate(endpoint: Endpoint, limit_s: float) -> Generation:
    try:
        return chat(endpoint, _PROMPT, _TOKENS, limit_s)
    except RefusedError as error:
        if error.status not in _NO_CHAT:
            raise
    return complete(endpoint, _PROMPT, _TOKENS, limit_s)
