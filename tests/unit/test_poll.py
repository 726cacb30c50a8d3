"""Asking a server that answers badly: the reason is said in place, and the log still tells what it can."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.rude import Talk, dripping, endless, rude_server, saying
from tui.keeper.identity import ProcessIdentity, identify
from tui.metrics.live import LiveMetrics, Source
from tui.metrics.poll import ServerPoll
from tui.metrics.target import Target, read_capacity
from tui.sglang.http import Endpoint
from tui.sglang.versions import parse_release

METRICS = (Path(__file__).parents[1] / "fixtures" / "real" / "0.5.23" / "endpoints" / "metrics_busy.txt").read_bytes()
DECODE = (
    "Decode batch, #running-req: 3, #token: 900, token usage: 0.31, cuda graph: True, "
    "gen throughput (token/s): 201.70, #queue-req: 7"
)


@pytest.fixture
def me() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def target(
    folder: Path, port: int, *, has_metrics: bool = True, release: str = "0.5.23", key: str | None = None
) -> Target:
    log = folder / "server.log"
    log.write_text(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {DECODE}\n")
    endpoint = Endpoint("127.0.0.1", port, key)
    return Target("a/b", folder, endpoint, log, parse_release(release), has_metrics, replicas=1, asked_running=2048)


@pytest.mark.parametrize(
    ("talk", "why"),
    [
        (dripping, "no answer within 2 s"),
        (endless, "more than 4 MiB on /metrics"),
        (saying(b"<html>"), "what it says on /metrics isn't SGLang's"),
        (saying(b"", "503 Service Unavailable"), "503 on /metrics: it is starting or ending"),
        (saying(b"", "401 Unauthorized"), "401 on /metrics: it asks for an API key that its command line doesn't hold"),
        (saying(b"", "404 Not Found"), "404 on /metrics"),
    ],
)
def test_what_is_wrong_is_said_and_the_log_tells_the_rest(
    talk: Talk, why: str, tmp_path: Path, me: ProcessIdentity
) -> None:
    with rude_server(talk) as port:
        poll = ServerPoll(target(tmp_path, port))
        told = poll.ask([me])
    assert poll.was_refused
    assert (told.trouble, told.source) == (why, Source.LOG)
    assert (told.running, told.queued, told.tokens_per_s, told.kv_usage) == (3, 7, 201.7, 0.31)


def test_a_refused_key_is_never_shown(tmp_path: Path, me: ProcessIdentity) -> None:
    with rude_server(saying(b"", "401 Unauthorized")) as port:
        told = ServerPoll(target(tmp_path, port, key="sk-secret")).ask([me])
    assert told.trouble == "401 on /metrics: it refuses its own API key"
    assert "sk-secret" not in repr(told)


def test_somebody_elses_port_gets_no_request_and_no_key(tmp_path: Path, me: ProcessIdentity) -> None:
    nobody = ProcessIdentity(me.pid + 1_000_000, 1, 1, me.boot_id)
    with rude_server(saying(METRICS)) as port:
        told = ServerPoll(target(tmp_path, port, key="sk-secret")).ask([nobody])
    assert told.trouble == f"port {port} isn't listened on by it"
    assert told.source is Source.LOG


def ask_in_turn(
    folder: Path, me: ProcessIdentity, talks: list[Talk], count: int, *, release: str = "0.5.23"
) -> list[LiveMetrics]:
    """So many looks; each request gets the next of `talks`."""

    def talk(connection: socket.socket) -> None:
        talks.pop(0)(connection)

    with rude_server(talk) as port:
        poll = ServerPoll(target(folder, port, has_metrics=False, release=release))
        return [poll.ask([me]) for _ in range(count)]


def test_a_source_that_fails_with_a_traceback_isnt_asked_again(tmp_path: Path, me: ProcessIdentity) -> None:
    # 0.5.11 with a newer FastAPI writes one into its log at each request for /v1/loads.
    old = b'[{"dp_rank":null,"num_reqs":4,"num_waiting_reqs":1,"num_tokens":1130,"num_pending_tokens":0,"ts_tic":1.0}]'
    talks: list[Talk] = [saying(b"", "500 Internal Server Error"), saying(old)]
    first, second = ask_in_turn(tmp_path, me, talks, 2, release="0.5.11")
    assert (first.trouble, first.source) == ("500 on /v1/loads", Source.LOG)
    assert (second.trouble, second.source) == (None, Source.GET_LOAD)
    assert (second.running, second.queued, second.kv_usage) == (3, 1, 0.31)
    assert talks == []


def test_0_5_6_is_asked_for_its_load_at_once(tmp_path: Path, me: ProcessIdentity) -> None:
    talks: list[Talk] = [saying(b'[{"dp_rank":0,"num_reqs":1,"num_waiting_reqs":0,"num_tokens":9}]')]
    [told] = ask_in_turn(tmp_path, me, talks, 1, release="0.5.6.post2")
    assert (told.source, told.running) == (Source.GET_LOAD, 1)


def test_where_nothing_can_be_asked_the_log_alone_tells(tmp_path: Path, me: ProcessIdentity) -> None:
    missing = saying(b"", "404 Not Found")
    told = ask_in_turn(tmp_path, me, [missing, missing], 4)
    assert [one.source for one in told] == [Source.LOG] * 4
    assert told[-1].trouble == "404 on /get_load"
    assert told[-1].running == 3


def test_metrics_with_what_the_start_had_told(tmp_path: Path, me: ProcessIdentity) -> None:
    (tmp_path / "diagnosis.json").write_text(
        '{"memory": {"max_running_requests": 8, "kv": {"tokens": 173294}, "mamba": {"slots": 65}}}'
    )
    with rude_server(saying(METRICS)) as port:
        told = ServerPoll(target(tmp_path, port)).ask([me])
    assert (told.source, told.running, told.max_running, told.kv_tokens) == (Source.METRICS, 4, 8, 4096)
    assert told.time_to_first_token_s == pytest.approx(1.0890679519725381 / 3)
    assert told.retractions == 0


PREFILL = (
    "Prefill batch, #new-seq: 3, #new-token: 630, #cached-token: 0, token usage: 0.31, #running-req: 1, #queue-req: 7"
)


@pytest.mark.parametrize(("gauges", "running"), [((1, 7, 0.3), 4), ((0, 0, 0.3), 4), ((0, 0, 0.0), 0)])
def test_who_has_just_begun_counts(
    gauges: tuple[int, int, float], running: int, tmp_path: Path, me: ProcessIdentity
) -> None:
    """A prefill publishes those that ran before it; nobody and nothing in the cache is a server that became idle."""
    names = ("num_running_reqs", "num_queue_reqs", "full_token_usage", "gen_throughput")
    named = zip(names, (*gauges, 93.0), strict=True)
    body = "".join(f'sglang:{name}{{tp_rank="0"}} {value}\n' for name, value in named)
    with rude_server(saying(body.encode())) as port:
        asked = target(tmp_path, port)
        with asked.log.open("a") as log:
            log.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {PREFILL}\n")
        told = ServerPoll(asked).ask([me])
    assert (told.running, told.queued) == (running, gauges[1])
    assert told.tokens_per_s == (93.0 if running else 0.0)


@pytest.mark.parametrize(("asked", "places"), [(48, 13), (13, None), (8, None)])
def test_slots_that_allow_fewer_than_was_asked_for(asked: int, places: int | None, tmp_path: Path) -> None:
    (tmp_path / "diagnosis.json").write_text(
        '{"memory": {"max_running_requests": 13, "kv": {"tokens": 90000}, "mamba": {"slots": 67}}}'
    )
    capacity = read_capacity(replace(target(tmp_path, 1), asked_running=asked))
    assert capacity is not None
    assert (capacity.max_running, capacity.slot_places) == (13, places)


@pytest.mark.parametrize(("waiting", "running"), [(6, 3), (0, 0)])
def test_who_is_being_prefilled_takes_a_place(waiting: int, running: int, tmp_path: Path, me: ProcessIdentity) -> None:
    """0.5.11 tells of none on /v1/loads while it prefills; the decode line of the log (3) is from before."""
    body = b'{"loads": [{"dp_rank": 0, "num_running_reqs": 0, "num_waiting_reqs": %d, "token_usage": 0.5}]}' % waiting
    [told] = ask_in_turn(tmp_path, me, [saying(body)], 1)
    assert (told.source, told.running, told.queued) == (Source.LOADS, running, waiting)
