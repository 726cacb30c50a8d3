"""Presets on the command line, over a simulated machine: a launch becomes a preset with its proof."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.command_line import CommandLine
from tests.support.launches import make_ended_launch
from tests.support.simulated import Server
from tui.keeper.states import State
from tui.launch.prune import prune
from tui.launch.records import find_launch

MODEL = "Qwen/Qwen3-0.6B"
FROM_PRESET = (
    'model = "Qwen/Qwen3-0.6B"\n[preset]\ndescription = "to be proved"\n[flags]\nmem-fraction-static = 0.5\n'
    'api-key = { env = "MY_KEY" }\n[env]\nHF_TOKEN = { from = "file", path = "~/token" }\nLD_PRELOAD = ""\n'
    "[launch]\nport = {port}\n"
)


def listed(line: CommandLine, name: str) -> dict[str, Any]:
    [found] = [preset for preset in line.json("preset", "list")["presets"] if preset["name"] == name]
    return dict(found)


def test_a_launch_is_kept_with_what_it_proved(command_line: CommandLine, tmp_path: Path, unused_tcp_port: int) -> None:
    line = command_line
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("hf_sesame\n")
    line.environ.update(MY_KEY="open-sesame", HOME=str(home))
    line.write_preset("origin", FROM_PRESET.replace("{port}", str(unused_tcp_port)))
    assert listed(line, "origin")["standing"] == "untested"
    address = line.ok("launch", "origin", "--name", "one", "--wait", "--", "--max-running-requests", "8").strip()
    [directory] = line.launches("one")
    smoke = {"schema": 1, "at": "2026-11-30T00:00:00Z", "ok": True, "time_to_first_token_s": 0.2, "tokens_per_s": 41.5}
    (directory / "smoke.json").write_text(json.dumps(smoke))

    done = line.run("preset", "save", "proved", "--from", "one")
    assert done.returncode == 0, done.stderr
    path = line.places.user_presets / "proved.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    saved = tomllib.loads(path.read_text())
    assert "sesame" not in path.read_text()
    assert saved["flags"] == {"mem-fraction-static": 0.5, "api-key": {"env": "MY_KEY"}, "max-running-requests": 8}
    assert saved["env"] == {"HF_TOKEN": {"file": "~/token"}, "LD_PRELOAD": ""}
    assert saved["launch"] == {"port": unused_tcp_port}
    evidence = saved["evidence"]
    assert (evidence["status"], evidence["launch"], evidence["sglang"]) == ("verified", address, "0.5.11")
    assert "RTX PRO 6000" in evidence["gpu"]
    assert (evidence["smoke"], evidence["tokens_per_s"], evidence["gpus"]) == (True, 41.5, 1)
    assert evidence["driver"]
    log = (directory / "server.log").read_text()
    assert f"mem usage={evidence['weights_gib']:.2f} GB" in log
    assert f"max_total_num_tokens={evidence['kv_tokens']}" in log
    assert evidence["max_running_requests"] == 8
    assert evidence["peak_memory_gib"] > evidence["weights_gib"]
    assert evidence["seconds_to_ready"] >= 0

    assert listed(line, "proved")["standing"] == "proven here"
    assert "proven here" in line.ok("preset", "list")
    line.ok("stop", "one", "--kill")
    assert line.run("preset", "save", "again", "--from", address).returncode == 0, "also when it is over"
    path.write_text(path.read_text().replace("max-running-requests = 8", "max-running-requests = 9"))
    assert listed(line, "proved")["standing"] == "changed since"
    shown = line.run("preset", "show", "proved")
    assert "since then the file was changed" in shown.stderr
    assert "it sets LD_PRELOAD" in shown.stderr


def test_evidence_in_a_projects_folder_is_not_pruned_by_launches_that_do_not_know_it(
    command_line: CommandLine, tmp_path: Path
) -> None:
    line, project = command_line, tmp_path / "project"
    first = line.ok("launch", "--model", MODEL, "--name", "one", "--wait").strip()
    line.ok("preset", "save", "proved", "--from", "one", "--presets", str(project))
    assert [path.name for path in project.iterdir()] == ["proved.toml"]
    line.ok("stop", "one", "--kill")
    second, _ = (make_ended_launch(line.places, "one", State.FAILED).files.directory.name for _ in range(2))
    assert prune(line.places, "one", keep=1) == [f"one/{second}"]
    assert find_launch(line.places, first).address == first
    line.ok("preset", "remove", "proved", "--presets", str(project), "--yes")
    assert prune(line.places, "one", keep=1) == [first]


def test_a_launch_that_failed_proves_nothing(command_line: CommandLine) -> None:
    make_ended_launch(command_line.places, "one", State.FAILED)
    done = command_line.run("preset", "save", "mine", "--from", "one")
    assert done.returncode == 0
    assert "never became ready, so it proves nothing" in done.stderr
    assert listed(command_line, "mine")["evidence"] is None


def test_saving_over_a_preset_asks_and_keeps_what_was_there(command_line: CommandLine) -> None:
    line = command_line
    path = line.write_preset("mine", 'model = "m/x"  # by hand\n')
    pasted = 'sglang serve --model-path m/y --api-key "hunter22"'
    source = path.with_name("pasted.sh")
    source.write_text(pasted)
    refused = line.run("preset", "import", str(source), "--name", "mine")
    assert refused.returncode == 2
    assert "nobody to ask" in refused.stderr
    assert '-model = "m/x"  # by hand' in refused.stderr
    assert path.read_text() == 'model = "m/x"  # by hand\n'
    done = line.run("preset", "import", str(source), "--name", "mine", "--yes")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout)["flags"] == {"api-key": {"env": "SGLANG_API_KEY"}}
    assert "hunter22" not in done.stdout + done.stderr + path.read_text()
    assert path.with_name("mine.toml.~1~").read_text() == 'model = "m/x"  # by hand\n'
    diff = line.ok("preset", "diff", "mine")
    assert '-model = "m/x"  # by hand' in diff
    assert '+model = "m/y"' in diff
    line.ok("preset", "remove", "mine", "--yes")
    assert not path.exists()
    assert line.run("preset", "remove", "qwen3-0.6b", "--yes").returncode == 2, "it comes with sgltui"


def test_what_is_of_one_name_is_said_and_a_broken_file_hides_no_other(command_line: CommandLine) -> None:
    line = command_line
    line.write_preset("qwen3-8b", 'model = "m/mine"\n')
    line.write_preset("broken", "model = \n")
    done = line.run("preset", "list", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    [mine] = [preset for preset in answer["presets"] if preset["name"] == "qwen3-8b"]
    assert (mine["model"], mine["origin"]) == ("m/mine", "user")
    assert [Path(path).name for path in mine["hides"]] == ["qwen3-8b.toml"]
    [problem] = answer["problems"]
    assert problem["path"].endswith("broken.toml")
    table = line.run("preset", "list")
    assert "the first folder's counts" in table.stderr
    assert "hides" in table.stderr


def test_the_flags_of_a_running_server_are_taken_over(
    command_line: CommandLine, start_server: Callable[..., Server]
) -> None:
    server = start_server(
        command_line.machine,
        *("--max-running-requests", "4", "--api-key", "hunter22"),
        env={"CUDA_VISIBLE_DEVICES": "1", "HF_TOKEN": "hf_sesame"},
    )
    server.wait_until_ready()
    done = command_line.run("preset", "import", "--pid", str(server.process.pid), "--name", "found")
    assert done.returncode == 0, done.stderr
    preset = tomllib.loads((command_line.places.user_presets / "found.toml").read_text())
    assert preset["model"] == MODEL
    assert preset["flags"] == {"max-running-requests": 4, "api-key": {"env": "SGLANG_API_KEY"}}
    assert preset["launch"] == {"gpus": [1], "port": server.port}
    assert "env" not in preset, "of its environment nothing but the GPUs is read"
    assert "hunter22" not in done.stdout + done.stderr
    assert server.process.poll() is None, "nothing was done to it"
