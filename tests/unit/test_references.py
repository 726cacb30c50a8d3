"""Secrets are read from where they are named, and said to be missing without being said."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import wait_until
from tui.errors import RefusedError
from tui.sglang.ask import ask, explain_silence
from tui.sglang.references import Reference, Secret, resolve, resolve_environment, resolve_flags


def refuse(reference: Reference) -> str:
    with pytest.raises(RefusedError) as caught:
        resolve(reference, "--api-key")
    assert str(caught.value).startswith("--api-key comes from the ")
    return str(caught.value)


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " s3cret\n")
    value = resolve(Reference("env", "MY_KEY"), "--api-key")
    assert value == "s3cret"
    assert "s3cret" not in repr([value])


def test_a_variable_that_is_missing_or_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    assert "the environment variable MY_KEY, which isn't set; set it before" in refuse(Reference("env", "MY_KEY"))
    monkeypatch.setenv("MY_KEY", "  ")
    assert "the env 'MY_KEY', whose value is empty" in refuse(Reference("env", "MY_KEY"))


def test_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("\n s3cret \n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve(Reference("file", str(tmp_path / "key")), "k") == "s3cret"
    assert resolve(Reference("file", "~/key"), "k") == "s3cret"


def test_a_file_that_is_missing_empty_huge_or_no_file(tmp_path: Path) -> None:
    assert "which isn't there" in refuse(Reference("file", str(tmp_path / "absent")))
    os.mkfifo(tmp_path / "pipe")
    assert "which isn't there" in refuse(Reference("file", str(tmp_path / "pipe")))
    (tmp_path / "key").write_text("\n")
    assert "is empty" in refuse(Reference("file", str(tmp_path / "key")))
    (tmp_path / "key").write_text("s3cret\0")
    said = refuse(Reference("file", str(tmp_path / "key")))
    assert "NUL" in said
    assert "s3cret" not in said
    (tmp_path / "key").write_text("x" * 70_000)
    assert "too large" in refuse(Reference("file", str(tmp_path / "key")))


def test_from_a_command_without_a_shell() -> None:
    assert resolve(Reference("command", "printf ' s3cret $HOME\\nmore'"), "k") == "s3cret $HOME"


def test_a_command_that_fails_or_says_nothing() -> None:
    assert "which ended with status 3; run it by hand" in refuse(
        Reference("command", f"{sys.executable} -c 'print(\"s3cret\"); exit(3)'")
    )
    assert "s3cret" not in refuse(Reference("command", "sh -c 'printf s3c; printf ret; exit 1'")).replace("printf", "")
    assert "can't be started: No such file" in refuse(Reference("command", "/nonexistent/pass show"))
    assert "was ended by signal 9" in refuse(Reference("command", "sh -c 'kill -9 $$'"))
    assert "is empty" in refuse(Reference("command", "true"))


def test_a_command_that_hangs_is_killed_with_all_it_started() -> None:
    unique = f"1000.{uuid.uuid4().int}"
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        ask(["sh", "-c", f"sleep {unique} & wait"], limit_s=1.0)
    assert explain_silence(caught.value) == "gave no answer within 1 s"
    wait_until(lambda: not is_running(["sleep", unique]), what="the grandchild is gone")


def test_a_command_that_never_stops_printing_is_ended() -> None:
    said = refuse(Reference("command", "yes s3cret"))
    assert "'yes s3cret', which printed more than 64 KiB" in said


def test_an_agent_that_a_command_leaves_behind_holds_nobody_up(tmp_path: Path) -> None:
    """It is in a session of its own, as agents are, and has inherited where the command prints."""
    script = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 600' & echo s3cret"
    assert resolve(Reference("command", shlex.join(["sh", "-c", script])), "k") == "s3cret"
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"), what="the agent")
    agent = psutil.Process(int((tmp_path / "pid").read_text()))
    assert agent.is_running(), "it is left alone"
    agent.kill()


def is_running(words: list[str]) -> bool:
    return any(process.info["cmdline"] == words for process in psutil.process_iter(["cmdline"]))


def test_all_references_of_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    flags = resolve_flags({"api-key": Reference("env", "MY_KEY"), "tp-size": 2, "bs": [1, 2], "x": True})
    assert flags == {"api-key": "s3cret", "tp-size": 2, "bs": [1, 2], "x": True}
    assert isinstance(flags["api-key"], Secret)
    assert resolve_environment({"A": "b", "HF_TOKEN": Reference("env", "MY_KEY")}) == {"A": "b", "HF_TOKEN": "s3cret"}
    with pytest.raises(RefusedError, match=r"^HF_TOKEN comes from"):
        resolve_environment({"HF_TOKEN": Reference("file", "/nonexistent")})
