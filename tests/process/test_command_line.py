"""The whole path through the command line: real processes, a simulated machine, and what scripts rely on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.keeping import is_running
from tests.support.waiting import wait_until

MODEL = "Qwen/Qwen3-0.6B"


def test_launch_ready_log_stop_and_the_memory_is_back(command_line: CommandLine, decoy: int) -> None:
    done = command_line.run("launch", "--model", MODEL, "--wait")
    assert done.returncode == 0, done.stderr
    name, _, launch = done.stdout.strip().partition("/")
    assert name == "qwen3-0.6b"

    row = command_line.ps(name)
    assert row["launch"] == launch
    assert (row["state"], row["attended"], row["host"]) == ("ready", True, "127.0.0.1")
    assert row["cause"] is None
    gpus = command_line.json("gpus")
    held = next(gpu for gpu in gpus if gpu["uuid"] == row["gpus"][0])
    parts = held["used_mib"] + held["free_mib"] + held["reserved_mib"]
    assert held["total_mib"] == 97887
    assert parts == pytest.approx(97887, abs=2), "each is rounded down to whole MiB"
    assert {process["instance"] for process in held["processes"]} == {name}
    assert row["memory_gib"] == pytest.approx(held["used_mib"] / 1024, abs=0.01)

    assert "Load weight end" in command_line.ok("logs", f"{name}/{launch}", "--grep", "^.*Load weight end")

    [result] = command_line.json("stop", name)["results"]
    assert result["survivors"] == []
    assert result["released"] is True
    assert result["port_free"] is True
    assert result["memory_before_gib"] == pytest.approx(held["used_mib"] / 1024, abs=0.01)
    assert result["memory_after_gib"] == 0
    assert not any(map(is_running, result["stopped"]))
    assert len(result["stopped"]) == 4, "main, resource tracker, scheduler, detokenizer"
    assert is_running(decoy)
    assert command_line.ps(name)["state"] == "stopped"
    assert all(gpu["processes"] == [] for gpu in command_line.json("gpus"))

    log = command_line.launches(name)[0].joinpath("server.log").read_text()  # nobody writes into it any more
    assert "The server is fired up and ready to roll!" in log
    assert command_line.ok("logs", name) == log
    assert command_line.ok("logs", name, "-n", "2").splitlines() == log.splitlines()[-2:]


def test_the_server_outlives_a_closed_terminal_and_a_killed_launcher(command_line: CommandLine) -> None:
    launcher = subprocess.Popen(
        command_line.words("launch", "--model", MODEL, "--wait"),
        env={**command_line.environment, "SGLTUI_SIM": "hang=weight load"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: command_line.launches("qwen3-0.6b"), what="a launch")
    command_line.wait_for("qwen3-0.6b", "loading")
    os.killpg(launcher.pid, signal.SIGHUP)
    launcher.wait(LIMIT_S)
    row = command_line.ps("qwen3-0.6b")
    assert row["attended"] is True
    assert row["state"] == "loading"
    assert row["stage"] == "weight load"
    assert is_running(row["pid"])


def test_a_preset_is_listed_shown_and_launched_with_its_flags(command_line: CommandLine) -> None:
    command_line.write_preset(
        "mine",
        'model = "Qwen/Qwen3-0.6B"\n[preset]\ndescription = "mine"\n[flags]\nmem-fraction-static = 0.5\ntp-size = 2\n'
        '[env]\nHF_TOKEN = { env = "MY_TOKEN" }\n',
    )
    assert "mine" in command_line.ok("preset", "list")
    assert "mem-fraction-static = 0.5" in command_line.ok("preset", "show", "mine")
    command_line.environ["MY_TOKEN"] = "hf_sesame"
    command_line.ok("launch", "mine", "--name", "two", "--wait", "--", "--enable-metrics")
    row = command_line.ps("two")
    assert len(row["gpus"]) == 2
    assert row["preset"] == "mine"
    [directory] = command_line.launches("two")
    argv = directory.joinpath("launch.json").read_text()
    for words in ('"--mem-fraction-static"', '"0.5"', '"--enable-metrics"', '"--tp-size"'):
        assert words in argv
    for path in directory.rglob("*"):
        if path.is_file():
            assert b"sesame" not in path.read_bytes(), f"a secret in {path.name}"


def test_an_api_key_is_used_for_the_proof_and_kept_out_of_the_records(command_line: CommandLine) -> None:
    command_line.ok("launch", "--model", MODEL, "--wait", "--", "--api-key", "open-sesame")
    [directory] = command_line.launches("qwen3-0.6b")
    for name in ("launch.json", "state.json", "events.jsonl", "keeper.log"):
        assert b"sesame" not in directory.joinpath(name).read_bytes()
    assert '"***"' in directory.joinpath("launch.json").read_text()


def test_a_failed_launch_tells_its_cause(command_line: CommandLine) -> None:
    done = command_line.run("launch", "--force", "--model", MODEL, "--wait", "--", "--no-such-flag", "3")
    assert done.returncode == 1
    assert "unrecognized arguments: --no-such-flag 3" in done.stderr
    row = command_line.ps("qwen3-0.6b")
    assert row["state"] == "failed"
    assert "unrecognized arguments" in row["cause"]
    assert "unrecognized arguments" in command_line.ok("logs", "qwen3-0.6b", "--problems")


def test_memory_that_does_not_come_back_is_status_5(command_line: CommandLine) -> None:
    config = command_line.places.settings_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("release_wait_s = 0\n")
    command_line.environ["SGLTUI_SIM"] = "leak"
    command_line.ok("launch", "--model", MODEL, "--wait")
    done = command_line.run("stop", "qwen3-0.6b")
    assert done.returncode == 5
    assert "of GPU memory did NOT come back" in done.stdout
    assert "hadn't come back" in command_line.ps("qwen3-0.6b")["cause"]
    assert "no process that the driver tells of" in command_line.ok("gpus")


def test_follow_shows_a_launch_from_its_first_line_to_its_end(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "fail=memory pool"
    command_line.ok("launch", "--model", MODEL)
    words = command_line.words("logs", "qwen3-0.6b", "-f", "-n", "100000")
    shown = subprocess.run(
        words, env=command_line.environment, stdout=subprocess.PIPE, timeout=LIMIT_S, check=True
    ).stdout
    [directory] = command_line.launches("qwen3-0.6b")
    assert shown == directory.joinpath("server.log").read_bytes()


def test_the_earlier_log_is_labelled(command_line: CommandLine) -> None:
    for flag in ("--first-wrong-flag", "--second-wrong-flag"):
        command_line.run("launch", "--force", "--model", MODEL, "--wait", "--", flag)
    assert "--second-wrong-flag" in command_line.ok("logs", "qwen3-0.6b")
    done = command_line.run("logs", "qwen3-0.6b", "--previous")
    first = command_line.launches("qwen3-0.6b")[0]
    assert "--first-wrong-flag" in done.stdout
    assert f"EARLIER launch qwen3-0.6b/{first.name}" in done.stderr


def test_stopping_several_tells_each_and_does_not_hide_the_unknown_one(command_line: CommandLine) -> None:
    for name in ("one", "two"):
        command_line.ok("launch", "--model", MODEL, "--name", name)
    done = command_line.run("stop", "one", "nobody", "two", "--grace", "0")
    assert done.returncode == 2
    assert "no server named 'nobody'" in done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["one", "two"]


def test_a_folder_of_presets_may_be_named_before_or_after_the_command(
    command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "projects-own.toml").write_text('model = "Qwen/Qwen3-0.6B"\n')
    assert "projects-own" in command_line.ok("--presets", str(tmp_path), "preset", "list")
    assert "projects-own" in command_line.ok("preset", "list", "--presets", str(tmp_path))


def test_launches_at_the_same_moment_share_neither_name_nor_port_nor_gpu(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    twins = [command_line.start("launch", "--model", MODEL, "--name", "twin") for _ in range(3)]
    outcomes = [(twin.communicate(timeout=LIMIT_S)[1], twin.returncode) for twin in twins]
    assert sorted(status for _, status in outcomes) == [0, 1, 1]
    assert sum("'twin' is already" in words for words, _ in outcomes) == 2
    assert len(command_line.launches("twin")) == 1
    command_line.ok("launch", "--model", MODEL, "--name", "other")
    twin, other = command_line.ps("twin"), command_line.ps("other")
    assert twin["port"] != other["port"]
    assert twin["gpus"] != other["gpus"], "the first has loaded nothing yet, but will"


def test_nothing_in_the_current_folder_stands_in_for_a_module_of_ours(
    command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "fcntl.py").write_text("raise SystemExit('not yours')\n")
    (tmp_path / "select.py").write_text("raise SystemExit('not yours')\n")
    words = [str(Path(sys.executable).parent / "sgltui"), "launch", "--model", MODEL]
    subprocess.run(words, env=command_line.environment, cwd=tmp_path, check=True, capture_output=True, timeout=LIMIT_S)


def test_a_relative_folder_means_the_same_to_keeper_and_server(command_line: CommandLine) -> None:
    directory = command_line.machine.directory
    words = command_line.words("launch", "--model", MODEL, "--wait")
    environment = {**command_line.environment, "SGLTUI_SIMULATED": directory.name}
    subprocess.run(words, env=environment, cwd=directory.parent, check=True, capture_output=True, timeout=LIMIT_S)
    assert command_line.ps("qwen3-0.6b")["state"] == "ready"


def test_a_stop_while_the_keeper_waits_for_memory_after_a_crash_gets_its_report(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "leak"
    command_line.ok("launch", "--model", MODEL, "--wait")
    os.kill(command_line.child("qwen3-0.6b", "sglang::detokenizer"), signal.SIGKILL)
    command_line.wait_for("qwen3-0.6b", "failed")
    command_line.places.settings_file.write_text("release_wait_s = 0\n")
    done = command_line.run("stop", "qwen3-0.6b")
    assert done.returncode == 5, done.stderr
    assert "did NOT come back" in done.stdout
    assert command_line.ps("qwen3-0.6b")["state"] == "failed"


def test_an_interrupted_stop_returns_at_once_and_the_keeper_goes_on(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "ignore-term"
    command_line.ok("launch", "--model", MODEL, "--wait")
    stopping = command_line.start("stop", "qwen3-0.6b", "--grace", "600")
    command_line.wait_for("qwen3-0.6b", "stopping")
    stopping.send_signal(signal.SIGINT)
    stopping.communicate(timeout=LIMIT_S)
    assert stopping.returncode == 130
    assert command_line.ps("qwen3-0.6b")["state"] == "stopping"
    [result] = command_line.json("stop", "--kill", "qwen3-0.6b")["results"]
    assert len(result["killed"]) >= 1


def test_a_reader_who_has_seen_enough_ends_a_command_quietly(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok("launch", "--model", MODEL)
    command_line.wait_for("qwen3-0.6b", "loading")
    for words in ("ps --json", "preset list", "logs qwen3-0.6b -f"):
        pipe = f"{' '.join(map(shlex.quote, command_line.words()))} {words} | head -n 1"
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {pipe}"],
            env=command_line.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), words
    full = subprocess.run(
        ["bash", "-c", f"{' '.join(map(shlex.quote, command_line.words()))} ps > /dev/full"],
        env=command_line.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert full.returncode == 1
    assert "No space left on device" in full.stderr


def test_a_mistyped_secret_is_neither_recorded_nor_shown(command_line: CommandLine) -> None:
    refused = command_line.run("launch", "--model", MODEL, "--wait", "--", "--apikey", "open-sesame")
    assert (refused.returncode, "did you mean --api-key?" in refused.stderr) == (1, True)
    assert "sesame" not in refused.stdout + refused.stderr
    done = command_line.run("launch", "--force", "--model", MODEL, "--wait", "--", "--apikey", "open-sesame")
    assert done.returncode == 1
    assert "sesame" not in done.stdout + done.stderr + command_line.ok("ps") + command_line.ok("ps", "--json")
    [directory] = command_line.launches("qwen3-0.6b")
    assert "sesame" not in directory.joinpath("launch.json").read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("ps >&-", 0, "No servers yet"),
        ("stop nobody 2>&-", 2, ""),
        ("preset import --dry-run <&-", 2, "no server of SGLang is started in that"),
        ("ps --json <&- 2>&-", 0, "[]"),
    ],
)
def test_a_closed_stream_hears_nothing_and_breaks_nothing(
    command_line: CommandLine, words: str, status: int, said: str
) -> None:
    line = f"{' '.join(map(shlex.quote, command_line.words()))} {words}"
    done = subprocess.run(
        ["bash", "-c", line], env=command_line.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == status, done.stderr
    shown = done.stdout + done.stderr
    assert said in shown if said else shown == ""
    assert "Traceback" not in shown


def test_nothing_to_list_is_no_failure(command_line: CommandLine) -> None:
    assert command_line.json("ps") == []
    assert "No servers yet" in command_line.run("ps").stderr


def test_an_interrupted_wait_leaves_the_server_alone(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    waiting = command_line.start("launch", "--model", MODEL, "--wait")
    wait_until(lambda: command_line.launches("qwen3-0.6b"), what="a launch")
    command_line.wait_for("qwen3-0.6b", "loading")
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=LIMIT_S)
    assert waiting.returncode == 130
    assert "interrupted" in errors
    assert command_line.ps("qwen3-0.6b")["state"] == "loading"
