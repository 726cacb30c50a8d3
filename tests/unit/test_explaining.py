"""What a keeper does where nobody can explain a launch: it goes on, and says so where there is a reason to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tui.keeper import explaining
from tui.keeper.files import LaunchFiles


def test_no_process_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    explaining.explain_apart(LaunchFiles(tmp_path))
    assert f"{tmp_path} isn't explained: " in capfd.readouterr().err


def test_only_the_keeper_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explaining, "_EXPLAINER", tmp_path / "gone")
    monkeypatch.setattr(os, "posix_spawn", lambda *_, **__: pytest.fail("started something"))
    explaining.explain_apart(LaunchFiles(tmp_path))
    assert capfd.readouterr().err == ""
