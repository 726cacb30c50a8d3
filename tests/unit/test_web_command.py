"""`sgltui web` before it serves: where it may listen, and what it says."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import pytest

from tui.cli.parser import build_parser
from tui.cli.web import announcement, listening, loopback, ui_command, web
from tui.errors import SgltuiError, UsageError


def options(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["web", *words])


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("127.8.8.8", "127.8.8.8"),
        ("[::1]", "::1"),
        ("::1", "::1"),
    ],
)
def test_loopback_addresses_are_taken(given: str, address: str) -> None:
    assert loopback(given) == address


@pytest.mark.parametrize("given", ["0.0.0.0", "10.0.0.7", "::", "fe80::1", "gpu-box-7", "example.com", ""])
def test_others_are_refused_with_the_reason(given: str) -> None:
    with pytest.raises(UsageError, match=r"loopback address: who reaches the page|of this machine alone"):
        loopback(given)


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SgltuiError, match=rf"port {port} of 127.0.0.1 is taken; give another one with --port"):
            listening("127.0.0.1", port)


def test_without_the_extra_its_command_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SGLTUI_CONFIG_DIR", str(tmp_path))
    monkeypatch.delitem(sys.modules, "tui.app.web", raising=False)
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    with pytest.raises(SgltuiError, match=r"pip install 'sgltui\[web\]'"):
        web(options())


def test_the_url_and_the_tunnel_are_printed() -> None:
    said = announcement("127.0.0.1", 8010, "k")
    assert said.startswith("http://127.0.0.1:8010/?key=k\n")
    assert "\nssh -N -L 8010:127.0.0.1:8010 " in said
    assert "http://[::1]:8010/?key=k" in announcement("::1", 8010, "k")


def test_options_of_the_ui_are_passed_on() -> None:
    command = ui_command(options("--read-only", "--ascii", "--presets", "/my presets"))
    assert command == f"{sys.executable} -m tui ui --read-only --ascii --presets '/my presets'"
    assert ui_command(options()) == f"{sys.executable} -m tui ui"
