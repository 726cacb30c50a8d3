"""`--config FILE.yaml`. Expected words are what SGLang's own merger makes (`tests/real/test_flags.py` asks it)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui.errors import UsageError
from tui.sglang.config_file import merge_config
from tui.sglang.flags import load_inventory
from tui.sglang.versions import parse_release


def merged(path: Path, release: str = "0.5.23", *around: str) -> tuple[str, ...]:
    words = [*around[:1], "--config", str(path), *around[1:]]
    recorded = {"0.5.7": "0.5.6.post2", "0.5.14": "0.5.23"}.get(release, release)
    return merge_config(words, parse_release(release), load_inventory(recorded)).words


def write(folder: Path, text: str, name: str = "c.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_file_comes_first_so_that_what_is_typed_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "tp-size: 4\ncuda-graph-bs-decode: [1, 2]\ndisable-radix-cache: true\nlog-requests: false\n")
    words = merged(path, "0.5.23", "--tp=2", "--port", "1")
    own = ("--tp-size", "4", "--cuda-graph-bs-decode", "1", "2", "--disable-radix-cache")
    assert words == (*own, "--tp=2", "--port", "1")


@pytest.mark.parametrize(
    ("release", "text", "words"),
    [
        ("0.5.7", "tp_size: 2", ("--tp_size", "2")),
        ("0.5.11", "json-model-override-args: {a: 1}", ("--json-model-override-args", "{'a': 1}")),
        ("0.5.23", "json-model-override-args: {a: 1}", ("--json-model-override-args", '{"a": 1}')),
        ("0.5.7", "unheard-of: true", ("--unheard-of",)),
        ("0.5.11", "unheard-of: true", ("--unheard-of", "true")),
        ("0.5.23", "log-level: on", ("--log-level", "true")),
        ("0.5.23", "tp-size: 010", ("--tp-size", "8")),
        ("0.5.23", "chat-template: null", ("--chat-template", "None")),
        ("0.5.23", "cuda-graph-bs-decode: []", ()),
        ("0.5.23", "", ()),
    ],
)
def test_values_become_words_as_in_the_release(tmp_path: Path, release: str, text: str, words: tuple[str, ...]) -> None:
    assert merged(write(tmp_path, text), release) == words


def test_only_a_config_in_two_words_is_read(tmp_path: Path) -> None:
    words = (f"--config={write(tmp_path, 'tp-size: 4')}", "--tp", "2")
    assert merge_config(words, parse_release("0.5.23"), load_inventory("0.5.23")).words == words


_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("c.json", "{}", "end in .yaml"),
        ("c.yaml", "- a\n- b", "isn't a table"),
        ("c.yaml", "a: [1", "isn't YAML"),
        ("c.yaml", "a: !!python/object/apply:os.system ['true']", "isn't YAML"),
        ("c.yaml", "1: 2", "isn't the name of a flag"),
        ("c.yaml", "lora-strict-loading: true", "on the command line only"),
        ("c.yaml", "lora-paths: [a]", "on the command line only"),
        ("c.yaml", "x" * 300_000, "larger than 256 KiB"),
        ("c.yaml", _BOMB, "holds too much"),
        ("c.yaml", "a: &a [*a]", "nested too deep"),
        ("c.yaml", "a: \x1b[31m", "isn't YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, name: str, text: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        merged(write(tmp_path, text, name))


def test_a_file_that_is_not_there_or_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "absent.yaml", tmp_path / "pipe.yaml"):
        with pytest.raises(UsageError, match="no such file"):
            merged(path)
    with pytest.raises(UsageError, match="no file behind it"):
        merge_config(["--config"], parse_release("0.5.23"), load_inventory("0.5.23"))
    with pytest.raises(UsageError, match="twice"):
        merge_config(["--config", "a", "--config", "b"], parse_release("0.5.23"), load_inventory("0.5.23"))
