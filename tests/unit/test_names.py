"""Host names whose name server doesn't answer: nobody waits for it."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from tests.support.rude import rude_server, saying
from tests.support.waiting import wait_until
from tui.keeper import names
from tui.keeper.readiness import ask
from tui.sglang.http import Answer, Endpoint, NoAnswerError, get

NAME = "gpu-box.example"


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set, the name server is silent; then the name is this machine's."""
    set_free, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:  # noqa: A002, PLR0917 - as its own
        if host == NAME and flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        if host == NAME:
            set_free.wait(60)
            host = "127.0.0.1"
        return real(host, port, family, type, proto, flags)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(names, "_lookups", {})
    monkeypatch.setattr(names, "_LIMIT_S", 0.05)
    return set_free


def test_a_silent_name_server_holds_up_neither_readiness_nor_figures(answer: threading.Event) -> None:
    with rude_server(saying(b"hello")) as port:
        assert names.addresses(NAME) == []
        assert ask(NAME, port, None, tls=False, path="/model_info") is None
        with pytest.raises(NoAnswerError, match=f"{NAME} can't be resolved"):
            get(Endpoint(NAME, port), "/metrics", 30)
        assert not answer.is_set(), "it was all over before the name server answered"
        answer.set()
        wait_until(lambda: names.addresses(NAME) == ["127.0.0.1"], what="the name")
        assert ask(NAME, port, None, tls=False, path="/model_info") == b"200"
        assert get(Endpoint(NAME, port), "/metrics", 30) == Answer(200, b"hello")


def test_what_is_known_holds_while_it_is_looked_up_again(
    answer: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer.set()
    assert names.addresses(NAME) == ["127.0.0.1"]
    first = names._lookups[NAME]
    answer.clear()
    monkeypatch.setattr(names, "_FRESH_S", -1.0)
    assert names.addresses(NAME) == ["127.0.0.1"]
    assert names._lookups[NAME] is not first
    answer.set()


def test_numbers_and_rubbish_are_told_at_once(answer: threading.Event) -> None:
    assert names.addresses("127.0.0.1") == ["127.0.0.1"]
    assert names.addresses("::1") == ["::1"]
    assert names._lookups == {}
    assert names.addresses("no\udcffname") == []
    assert names.addresses("a" * 300) == []
    assert not answer.is_set()
