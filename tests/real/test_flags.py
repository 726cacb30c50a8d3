"""Flags against the real parsers: `make test-real REAL_FLAGS="-k test_flags"`."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.interpreters import find_interpreter
from tests.real.environments import UnavailableError
from tests.support.flag_words import samples
from tui.errors import UsageError
from tui.hiding import is_secret_flag
from tui.presets import Preset, dump_preset, load_preset
from tui.presets.importing import import_words
from tui.sglang.command import build_arguments
from tui.sglang.config_file import merge_config
from tui.sglang.flags import load_inventory
from tui.sglang.introspect import introspect
from tui.sglang.references import resolve_flags
from tui.sglang.versions import parse_release

_ROOT = Path(__file__).parents[2]
_STANDINGS = Path(__file__).parent / "standins"
_CONFIGS = (
    "tp-size: 4\ncuda_graph_max_bs: 8\ndisable-radix-cache: true\nlog-requests: false\n",
    "json-model-override-args: {a: [1, b]}\nchat-template: null\nserved-model-name: on\n",
    "lora-strict-loading: true\n",
    "lora-paths: [a, b]\n",
    "mem-fraction-static: 0.8\nunheard-of: true\n",
    "tensor-parallel-size: 010\n",
)

# lora-paths wants `name=path` or JSON, and some texts are read by functions that want more than text.
REFUSED = {"lora-paths", "cuda-graph-config", "cuda-graph-backend-decode", "cuda-graph-backend-prefill"}
# What a preset has a place of its own for, or a launch decides.
DECIDED_APART = frozenset({"model-path", "host", "port", "config"})


@pytest.fixture(scope="module", params=["0.5.11", "0.5.23"])
def engine(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A release and its interpreter."""
    try:
        return request.param, find_interpreter(request.param)
    except UnavailableError as error:
        pytest.skip(str(error))


def ask(python: Path, question: dict[str, Any]) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT}:{_STANDINGS}"}
    words = [str(python), "-m", "tests.oracles.parse_words"]
    done = subprocess.run(
        words, input=json.dumps(question), env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_every_preset_comes_back_from_its_command_line_as_the_real_parser_reads_it(
    engine: tuple[str, Path], tmp_path: Path
) -> None:
    """preset file -> argv -> preset file -> argv: both lines mean the same to SGLang, and both presets are the same."""
    release, python = engine
    inventory = load_inventory(release)
    pairs = [
        (flag.name, value)
        for flag in inventory.flags
        if flag.name not in DECIDED_APART and not is_secret_flag(f"--{flag.name}")
        for value in samples(flag)
    ]
    assert len(pairs) > len(inventory.flags)
    lines: list[list[str]] = []
    for name, value in pairs:
        first = through_file(tmp_path, Preset("p", "m", flags={name: value}))
        argv = build_arguments(resolve_flags(first.flags), first.model, None, 1, (inventory,))
        imported = import_words(["python", "-m", "sglang.launch_server", *argv], {}, "p", release).preset
        second = through_file(tmp_path, imported)
        assert second.flags == first.flags, argv
        lines += [argv[4:], build_arguments(resolve_flags(second.flags), second.model, None, 1, (inventory,))[4:]]
    answers = ask(python, {"lines": lines, "configs": []})["lines"]
    for before, after, words in zip(answers[::2], answers[1::2], lines[::2], strict=True):
        assert before == after, words
    refused = {name for (name, _), answer in zip(pairs, answers[::2], strict=True) if "refused" in answer}
    assert refused <= REFUSED


def through_file(folder: Path, preset: Preset) -> Preset:
    """Saved and read again."""
    path = folder / f"{preset.name}.toml"
    path.write_text(dump_preset(preset))
    return load_preset(path)


def test_config_files_are_merged_as_sglang_does(engine: tuple[str, Path], tmp_path: Path) -> None:
    release, python = engine
    paths = [tmp_path / f"{number}.yaml" for number in range(len(_CONFIGS))]
    for path, text in zip(paths, _CONFIGS, strict=True):
        path.write_text(text)
    answers = ask(python, {"lines": [], "configs": [str(path) for path in paths]})["configs"]
    for path, answer in zip(paths, answers, strict=True):
        words = ["--tp", "1", "--config", str(path), "--port", "2"]
        if isinstance(answer, dict):
            with pytest.raises(UsageError):
                merge_config(words, parse_release(release), load_inventory(release))
        else:
            assert list(merge_config(words, parse_release(release), load_inventory(release)).words) == answer


def test_an_interpreter_tells_the_recorded_flags(engine: tuple[str, Path]) -> None:
    """And their help texts, of which none are recorded."""
    release, python = engine
    told = introspect(python, release, {"PYTHONPATH": str(_STANDINGS)})
    assert [dataclasses.replace(flag, help="") for flag in told.flags] == list(load_inventory(release).flags)
    assert sum(bool(flag.help) for flag in told.flags) > 300
