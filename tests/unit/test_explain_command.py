"""`sgltui explain` on files: what is printed, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.diagnosing import LOGS, READY
from tui.cli import main
from tui.cli.context import print_json

STORY = str(LOGS / "story-mamba-spec-pool.log")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SGLTUI_STATE_DIR", "SGLTUI_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("SGLTUI_SIMULATED", raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_a_failure_is_shown_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", STORY, "--exit", "-9", "--sglang", "0.5.11"]) == 0
    out = capsys.readouterr().out
    assert "exit -9 (SGLang kills itself after an error; not the kernel)" in out
    assert "✗     37 | RuntimeError: Not enough memory" in out
    assert "39 | [2026-05-20 09:14:26] Received sigquit from a child process. It usually means" in out
    assert "(a consequence)" in out
    assert "1  --max-running-requests 8" in out


def test_json_is_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", STORY, "--json", "--exit", "-9", "--sglang", "0.5.11"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["class"], answer["root_cause_line"], answer["sglang"]) == ("pool_budget_negative", 37, "0.5.11")
    assert answer["changes"][0]["set"] == {"max-running-requests": 8}
    assert answer["memory"]["mamba"]["reserve_gib"] == 27.53


def test_the_moment_of_looking(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(LOGS / "nccl-init-silence.log")
    assert main(["explain", log, "--json", "--at", "2026-06-12 09:20:00"]) == 0
    assert json.loads(capsys.readouterr().out)["class"] == "hang_dist_init"
    assert main(["explain", log, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["class"] == "none"


def test_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", STORY, "--report"]) == 0
    assert capsys.readouterr().out.startswith("## SGLang")


def test_control_codes_of_a_log_don_t_reach_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(
        b'\x1b]0;title\x07RuntimeError: \x1b[2J\x9b31m b\nTraceback (most recent call last):\n  File "<frozen runpy>"'
        b", line 1, in _run_module_as_main\nRuntimeError: \x1b[2J boom\x07\n"
    )
    assert main(["explain", str(log), "--exit", "1"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_healthy_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    log.write_text("\n".join(READY) + "\n")
    assert main(["explain", str(log)]) == 0
    assert "is running in runtime; nothing wrong is logged" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["/" + "x" * 300, str(LOGS)])
def test_what_is_no_file_is_told_in_a_line(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", target]) in (1, 2)
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert target in captured.err


def test_a_terminal_without_the_signs_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["explain", STORY, "--exit", "-9", "--sglang", "0.5.11"]) == 0
    assert b"37 | RuntimeError: Not enough memory" in written.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_holds_whatever_names_there_are(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be called by bytes that are no text; the document can be read all the same."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", out := io.TextIOWrapper(written, encoding=encoding))
    value = {"command": "python \udcff.py", "model": "✗ 😀"}
    print_json(value)
    out.flush()
    assert json.loads(written.getvalue()) == value


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nobody"], "no server named 'nobody'"),
        (["/no/such/file.log"], "there is no file /no/such/file.log"),
        (["~nobody-is-called-that/x.log"], "'~nobody-is-called-that/x.log' is no path"),
        ([STORY, "--at", "yesterday"], "--at 'yesterday' isn't a time"),
        ([STORY, "--sglang", "x"], "'x' isn't a version of SGLang"),
    ],
)
def test_what_can_t_be_meant(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *words]) == 2
    assert told in capsys.readouterr().err
