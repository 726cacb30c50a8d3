"""Asking an interpreter for its flags: a real Python with a small `sglang` package whose parser is argparse's own."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tui.keeper.identity import read_stat
from tui.sglang.interpreter import Interpreter, find_interpreter
from tui.sglang.introspect import IntrospectionError, introspect
from tui.sglang.target import ask_target, cached_target, recorded_target
from tui.sglang.versions import parse_release

_SERVER_ARGS = """
import argparse, os, sys
print("noise while it is imported")
os.write(1, b"more noise\\n")
assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        with open({log!r}, "a") as log:
            log.write("asked ")
        parser.add_argument("--model-path", "--model", required=True, help="where it is, %(default)s")
        parser.add_argument("--own-size", type=int, default=3, choices=[3, 4])
        parser.add_argument("--own-switch", action="store_true", help="100% of it")
        parser.add_argument("--own-pair", action=argparse.BooleanOptionalAction)
        parser.add_argument("--own-list", nargs="+", type=float, help=argparse.SUPPRESS)
        {body}
"""


def make_python(folder: Path, body: str = "pass", version: str = "0.5.11+own") -> Path:
    """A wrapper of this Python whose import path holds a small SGLang."""
    site = folder / "site"
    package = site / "sglang" / "srt"
    package.mkdir(parents=True)
    for name in (site / "sglang" / "__init__.py", package / "__init__.py"):
        name.touch()
    (package / "server_args.py").write_text(_SERVER_ARGS.format(log=str(folder / "log"), body=body))
    (site / f"sglang-{version}.dist-info").mkdir()
    (site / f"sglang-{version}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n"
    )
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def open_python(python: Path) -> Interpreter:
    return find_interpreter(str(python), None, None)


def times_asked(folder: Path) -> int:
    return (folder / "log").read_text().count("asked")


def test_its_own_flags_and_help_texts(tmp_path: Path) -> None:
    inventory = introspect(make_python(tmp_path), "0.5.11")
    found = {flag.name: flag for flag in inventory.flags}
    assert list(found) == ["model-path", "own-size", "own-switch", "own-pair", "own-list"]
    assert found["model-path"].help == "where it is, None"
    assert (found["own-size"].type, found["own-size"].choices, found["own-size"].default) == ("int", (3, 4), 3)
    assert (found["own-switch"].action, found["own-switch"].help) == ("store_true", "100% of it")
    assert (found["own-pair"].action, inventory.find("--no-own-pair")) == ("boolean", found["own-pair"])
    assert (found["own-list"].nargs, found["own-list"].type, found["own-list"].help) == ("+", "float", "")


def test_a_simulated_interpreter_has_the_recorded_flags(tmp_path: Path) -> None:
    interpreter = replace(open_python(make_python(tmp_path, version="0.5.11")), is_simulated=True)
    waits: list[int] = []
    asked = ask_target(interpreter, tmp_path / "cache", about_to_ask=lambda: waits.append(1))
    assert asked is recorded_target(parse_release("0.5.11"))
    assert (waits, (tmp_path / "log").exists()) == ([], False)


def test_an_answer_is_kept_until_the_installation_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.sglang.interpreter._found", {})
    python, cache = make_python(tmp_path), tmp_path / "cache"
    waits: list[int] = []
    for _ in range(3):
        target = ask_target(open_python(python), cache, about_to_ask=lambda: waits.append(1))
        assert target.own
        assert target.note is None
    assert (times_asked(tmp_path), len(waits)) == (1, 1)
    assert cached_target(open_python(python), cache).own
    later = time.time() + 100
    os.utime(tmp_path / "site" / "sglang" / "srt" / "server_args.py", (later, later))
    assert not cached_target(open_python(python), cache).own
    ask_target(open_python(python), cache)
    assert times_asked(tmp_path) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b'{"schema": 2}', b"\xff\xfe", None])
def test_a_file_that_is_damaged_is_asked_anew(tmp_path: Path, damage: bytes | None) -> None:
    python, cache = make_python(tmp_path), tmp_path / "cache"
    ask_target(open_python(python), cache)
    [file] = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    assert not cached_target(open_python(python), cache).own
    assert ask_target(open_python(python), cache).own
    assert times_asked(tmp_path) == 2


def test_a_cache_that_cannot_be_written_costs_the_time_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert ask_target(open_python(make_python(tmp_path)), tmp_path / "cache").own


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("raise ImportError('no torchvision')", "failed to load SGLang's flags: ImportError: no torchvision"),
        ("os._exit(0)", "answered something else"),
        ("os.kill(os.getpid(), 9)", "failed to load"),
        ("sys.stderr.write('x' * 100000 + '\\\\x1b[31m'); raise SystemExit(3)", "failed to load"),
    ],
)
def test_one_that_cannot_tell_has_recorded_flags_stand_in(tmp_path: Path, body: str, part: str) -> None:
    target = ask_target(open_python(make_python(tmp_path, body)), tmp_path / "cache")
    assert not target.own
    assert target.note is not None
    assert part in target.note
    assert "\x1b" not in target.note
    assert target.note.endswith("the recorded flags of SGLang 0.5.11 stand in")


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/pid\nwait\n")
    python.chmod(0o755)
    with pytest.raises(IntrospectionError, match="didn't tell its flags within"):
        introspect(python, "0.5.11", limit_s=1)
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: (stat := read_stat(child)) is None or stat.is_dead, what="the end of what it started")


def test_too_much_output_is_cut_off(tmp_path: Path) -> None:
    body = """links = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[:-1]}
        [answer] = [int(fd) for fd, link in links.items() if "pipe" in link]
        while True: os.write(answer, b"x" * 65536)"""
    with pytest.raises(IntrospectionError, match="printed more"):
        introspect(make_python(tmp_path, body), "0.5.11", limit_s=60)


@pytest.mark.parametrize(
    ("version", "note"),
    [
        ("0.5.11", None),
        ("0.5.17", "those of 0.5.11 and 0.5.23 stand in"),
        ("0.5.24", "those of 0.5.23 stand in"),
        ("0.5.11+cu128", "a build of its own"),
    ],
)
def test_recorded_flags_say_what_is_uncertain(version: str, note: str | None) -> None:
    found = recorded_target(parse_release(version)).note
    assert (found is None) if note is None else (found is not None and note in found)
