"""One streamed generation: streams that real servers sent, and those that break off."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.support.rude import dripping, rude_server, saying
from tui.keeper.files import LaunchFiles
from tui.metrics.generation import RefusedError, chat, complete
from tui.metrics.live import LiveMetrics
from tui.metrics.load import Outcome, Plan, Sample, percentile, run
from tui.metrics.smoke import keep, smoke
from tui.sglang.http import Endpoint, NoAnswerError

REAL = Path(__file__).parents[1] / "fixtures" / "real"
Talk = Callable[[socket.socket], None]


def at(port: int) -> Endpoint:
    return Endpoint("127.0.0.1", port)


def recorded(release: str, name: str) -> bytes:
    return (REAL / release / "endpoints" / name).read_bytes()


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_a_real_chat(release: str) -> None:
    with rude_server(saying(recorded(release, "chat_stream.txt"))) as port:
        done = chat(at(port), "hello", 6, 10)
    assert (done.prompt_tokens, done.completion_tokens) == (178, 6)
    assert 0 < done.first_token_s <= done.seconds


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_a_real_continuation(release: str) -> None:
    with rude_server(saying(recorded(release, "generate_stream.txt"))) as port:
        done = complete(at(port), "hi there", 6, 10)
    assert (done.prompt_tokens, done.completion_tokens) == (5, 6)


@pytest.mark.parametrize(
    ("talk", "why"),
    [
        (saying(b'data: {"choices": []}\n\n'), "broke off before the end"),
        (saying(b'data: {"error": {"message": "out of\\nmemory"}}\n\n'), r"it broke off: out of\\nmemory"),
        (saying(b"data: [1]\n\n"), "isn't JSON"),
        (saying(b"data: " + b"[" * 100_000 + b"\n\n"), "isn't JSON"),
        (saying(b"data: [DONE]\n\n"), "without a token"),
        (saying(b"<html>", "200 OK"), "broke off before the end"),
        (dripping, "no answer within"),
        (saying(b'{"message": "no way"}', "500 Internal Server Error"), "500 on /v1/chat/completions: no way"),
        (saying(b'{"error":"Unauthorized"}', "401 Unauthorized"), "401 on /v1/chat/completions: Unauthorized"),
    ],
)
def test_a_bad_stream_has_a_reason(talk: Talk, why: str) -> None:
    with rude_server(talk) as port, pytest.raises(NoAnswerError, match=why):
        chat(at(port), "hello", 6, 0.5)


def test_a_refusal_keeps_its_status() -> None:
    with rude_server(saying(b"", "400 Bad Request")) as port, pytest.raises(RefusedError) as refusal:
        chat(at(port), "hello", 6, 5)
    assert refusal.value.status == 400


def without_chat_template(connection: socket.socket) -> None:
    """Of one connection each: which path it was asked for isn't known here, so by turns."""
    talks.pop(0)(connection)


talks: list[Talk] = []


def test_a_smoke_request_without_a_chat_template_and_its_file(tmp_path: Path) -> None:
    stream = recorded("0.5.23", "generate_stream.txt")
    talks[:] = [saying(b'{"message": "no chat template"}', "400 Bad Request"), saying(stream)]
    with rude_server(without_chat_template) as port:
        result = smoke(at(port))
    assert (result.ok, result.completion_tokens, result.error) == (True, 6, None)
    keep(LaunchFiles(tmp_path), result)
    written = json.loads((tmp_path / "smoke.json").read_bytes())
    assert written["schema"] == 1
    assert written["time_to_first_token_s"] == result.time_to_first_token_s
    assert set(written) == {
        *("schema", "at", "ok", "time_to_first_token_s", "tokens_per_s"),
        *("prompt_tokens", "completion_tokens", "error"),
    }


def test_a_failed_smoke_request_says_why() -> None:
    with rude_server(saying(b'{"error":"Unauthorized"}', "401 Unauthorized")) as port:
        result = smoke(at(port))
    assert (result.ok, result.error) == (False, "401 on /v1/chat/completions: Unauthorized")
    assert (result.tokens_per_s, result.completion_tokens) == (None, None)


def test_a_load_counts_answers_and_errors() -> None:
    stream = saying(recorded("0.5.23", "chat_stream.txt"))
    talks[:] = [stream, saying(b"", "503 Service Unavailable"), *[stream] * 8]
    looks: list[LiveMetrics] = []
    with rude_server(without_chat_template) as port:
        outcome = run(at(port), Plan(requests=10, concurrency=1), lambda: (looks[0], 5) if looks else none_known())
    assert (len(outcome.done), outcome.errors) == (9, (("503 on /v1/chat/completions", 1),))
    assert outcome.tokens_per_s == pytest.approx(9 * 6 / outcome.seconds)
    assert outcome.samples[0].memory_bytes is None
    assert 0 < outcome.full_s <= outcome.seconds


def test_what_comes_after_the_last_request_was_sent_limits_nobody() -> None:
    """The end of every load has fewer requests in flight than clients."""
    live = none_known()[0]
    samples = tuple(Sample(float(at_s), structs.replace(live, queued=at_s), None) for at_s in range(4))
    outcome = Outcome(Plan(requests=10, concurrency=5), 4.0, (), (), samples, full_s=2.0)
    assert [one.queued for one in outcome.at_full] == [0, 1, 2]


def none_known() -> tuple[LiveMetrics, None]:
    from datetime import UTC, datetime  # noqa: PLC0415 - for this value alone

    return LiveMetrics(at=datetime.now(UTC), source=None), None


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(1, 11)]
    assert [percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)] == [5, 9, 10, 10]
    assert percentile([3.0], 0.5) == 3
    assert percentile([], 0.5) is None
