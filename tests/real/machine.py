"""The product's command line on this machine, with one release of SGLang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.servers import START_LIMIT_S, RealServer, choose_port
from tui.keeper.files import LaunchFiles
from tui.paths import CONFIG_DIR_VARIABLE, SIMULATED_VARIABLE, STATE_DIR_VARIABLE, Places
from tui.sglang.command import build_arguments

_STANDINS = Path(__file__).parent / "standins"
_PRESET = """\
model = "{model}"
[preset]
description = "a tiny random model on the CPU"
[engine]
python = "{python}"
[flags]
device = "cpu"
attention-backend = "torch_native"
disable-cuda-graph = true
disable-overlap-schedule = true
mem-fraction-static = 0.1
max-total-tokens = 4096
[env]
PYTHONPATH = "{standins}"
SGLANG_USE_CPU_ENGINE = "1"
HF_HUB_OFFLINE = "1"
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """A real SGLang and models for it."""

    release: str
    python: Path
    dense_model: Path
    hybrid_model: Path


@dataclass
class RealMachine:
    """`sgltui …` on this machine, with folders of its own, and presets `dense` and `hybrid` for one SGLang release.

    Attributes:
        places: its own folders; they hold records, logs and presets.
        environ: variables to set, for servers too.
    """

    places: Places
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """This process's, without a simulated machine, and with folders of its own."""
        ours = {STATE_DIR_VARIABLE: str(self.places.state), CONFIG_DIR_VARIABLE: str(self.places.config)}
        kept = {name: value for name, value in os.environ.items() if name != SIMULATED_VARIABLE}
        return {**kept, **ours, **self.environ}

    def write_preset(self, name: str, model: Path, python: Path) -> None:
        """A preset for a tiny model."""
        self.places.user_presets.mkdir(parents=True, exist_ok=True)
        text = _PRESET.format(model=model, python=python, standins=_STANDINS)
        (self.places.user_presets / f"{name}.toml").write_text(text)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "tui", *arguments]
        return subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=2 * START_LIMIT_S, check=False
        )

    def ok(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ps(self, name: str) -> dict[str, Any]:
        """Its row in `ps --json`."""
        rows: list[dict[str, Any]] = json.loads(self.ok("ps", "--json"))
        return next(row for row in rows if row["name"] == name)

    def stop(self, name: str, *options: str) -> dict[str, Any]:
        """Stop it: the report of a clean stop."""
        [result] = json.loads(self.ok("stop", name, *options, "--json"))["results"]
        assert result["survivors"] == []
        found: dict[str, Any] = result
        return found

    def launch(self, name: str, *flags: str, port: int | None = None, preset: str = "dense") -> RealServer:
        """Launch and don't wait."""
        words = self.launch_words(name, *flags, port=port or choose_port(), preset=preset)
        return self._server(self.ok("launch", *words))

    def launch_and_wait(self, name: str, *flags: str, preset: str = "dense") -> RealServer:
        """Launch, and wait until it is ready."""
        words = self.launch_words(name, *flags, port=choose_port(), preset=preset)
        return self._server(self.ok("launch", "--wait", *words))

    def start_by_hand(self, port: int, log: Path) -> subprocess.Popen[bytes]:
        """The dense model's server as a person starts one, without the product: nobody promised it the port."""
        preset = tomllib.loads((self.places.user_presets / "dense.toml").read_text())
        arguments = build_arguments(preset["flags"], preset["model"], None, port)
        with log.open("wb") as stream:
            return subprocess.Popen(
                [preset["engine"]["python"], "-m", "sglang.launch_server", *arguments],
                env={**os.environ, **preset["env"]},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    @staticmethod
    def launch_words(name: str, *flags: str, port: int, preset: str = "dense") -> Sequence[str]:
        """What stands behind `launch`."""
        return [preset, "--name", name, "--port", str(port), "--", *flags]

    def find(self, name: str) -> RealServer:
        """The newest launch of a name."""
        return self._server(f"{name}/{self.ps(name)['launch']}")

    def _server(self, address: str) -> RealServer:
        files = LaunchFiles(self.places.instances / address.strip())
        return RealServer(files, json.loads(files.launch.read_text())["port"])
