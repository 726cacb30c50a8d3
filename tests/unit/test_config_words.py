"""Flags that stand in a server's config file alone count wherever its command line is asked for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.launches import make_launch
from tui.launch.config_words import read_words
from tui.launch.keeping import make_order
from tui.launch.nodes import is_follower
from tui.launch.records import read_launch
from tui.paths import Places

HEAD = ["python", "-m", "sglang.launch_server"]
TEXT = "api-key: s3cret\nnode-rank: 1\nenable-metrics: true\nport: 4000\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a server was started, with its file."""
    (tmp_path / "flags.yaml").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize("version", ["0.5.6.post2", "0.5.11", "0.5.23", None, "no release"])
def test_what_the_file_says_counts_and_what_is_typed_wins(folder: Path, version: str | None) -> None:
    words = read_words([*HEAD, "--config", "flags.yaml", "--port", "30001"], version, folder)
    assert words.get("--api-key") == "s3cret"
    assert words.get_int("--node-rank", 0) == 1
    assert words.has("--enable-metrics")
    assert words.get_int("--port", 0) == 30001


@pytest.mark.parametrize("name", ["missing.yaml", "bad.yaml", "flags.txt"])
def test_a_file_that_cannot_be_used_leaves_the_command_line(folder: Path, name: str) -> None:
    (folder / "bad.yaml").write_text("{")
    (folder / "flags.txt").write_text(TEXT)
    words = read_words([*HEAD, "--config", name, "--port", "30001"], "0.5.11", folder)
    assert words.get("--api-key") is None
    assert words.get_int("--port", 0) == 30001


def test_without_a_file_nothing_is_read(tmp_path: Path) -> None:
    assert read_words([*HEAD, "--api-key", "k"], "0.5.11", tmp_path / "gone").get("--api-key") == "k"


def test_a_keeper_is_told_the_key_of_the_file_and_no_record_holds_it(folder: Path, tmp_path: Path) -> None:
    places = Places(tmp_path / "state", tmp_path / "config")
    argv = [*HEAD, "--model-path", "m", "--config", "flags.yaml"]
    files = make_launch(places, "worker", argv=argv, cwd=str(folder)).files
    record = read_launch(files.directory).launch
    assert make_order(record.argv, {}, record)["api_key"] == "s3cret"
    assert is_follower(places, "worker")
    assert not any(b"s3cret" in path.read_bytes() for path in files.directory.rglob("*") if path.is_file())
