"""Supervision through the command line, over a simulated machine: what a person on a shared box needs it for."""

from __future__ import annotations

import json
import os
import signal

from tests.support.command_line import CommandLine
from tests.support.launches import make_ended_launch
from tests.support.waiting import wait_until
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.gpu.open import open_reader
from tui.keeper.states import State
from tui.settings import load_settings

MODEL = "Qwen/Qwen3-0.6B"
NAME = "qwen3-0.6b"


def kill_keeper(command_line: CommandLine, name: str) -> None:
    state = command_line.launches(name)[-1] / "state.json"
    os.kill(json.loads(state.read_text())["keeper"]["pid"], signal.SIGKILL)
    wait_until(lambda: not command_line.recorded(name).is_attended)


def test_unattended_servers_get_a_keeper_again(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok("launch", "--model", MODEL)
    command_line.wait_for(NAME, "loading")
    assert "every server is attended" in command_line.run("adopt").stderr
    kill_keeper(command_line, NAME)
    assert "`sgltui adopt` gives it a new one" in command_line.ok("ps")
    assert command_line.ok("adopt") == f"{NAME} has a keeper again\n"
    row = command_line.ps(NAME)
    assert (row["state"], row["attended"]) == ("loading", True)
    assert command_line.ok("adopt", NAME) == f"{NAME} is attended already\n"
    command_line.ok("stop", NAME, "--kill")
    done = command_line.run("adopt", NAME)
    assert (done.returncode, done.stdout) == (1, "")
    assert "isn't running: it is stopped" in done.stderr


GROUPED = """model = "Qwen/Qwen3-0.6B"
[flags]
mem-fraction-static = {fraction}
[launch]
group = "pair"
order = {order}
gpus = [0]
"""


def test_a_group_starts_in_order_on_one_gpu_and_stops_in_reverse(command_line: CommandLine) -> None:
    """The second sizes its pool from what the first has left, so it waits for it."""
    command_line.write_preset("a-large", GROUPED.format(fraction=0.8, order=2))
    command_line.write_preset("b-small", GROUPED.format(fraction=0.3, order=1))
    done = command_line.run("launch", "--group", "pair")
    assert done.returncode == 0, done.stderr
    small, large = (line.partition("/")[0] for line in done.stdout.splitlines())
    assert (small, large) == ("b-small", "a-large")
    rows = {name: command_line.ps(name) for name in (small, large)}
    assert {row["state"] for row in rows.values()} == {"ready"}
    assert rows[small]["gpus"] == rows[large]["gpus"]
    assert rows[small]["port"] != rows[large]["port"]
    done = command_line.run("stop", "--group", "pair")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [large, small]
    assert done.returncode == 0
    done = command_line.run("stop", "--group", "pair")
    assert (done.returncode, "no server of a group 'pair'" in done.stderr) == (2, True)


def test_a_group_ends_at_the_first_that_does_not_become_ready(command_line: CommandLine) -> None:
    command_line.environ["SGLTUI_SIM"] = "fail=weight load"
    command_line.write_preset("one", GROUPED.format(fraction=0.3, order=1))
    command_line.write_preset("two", GROUPED.format(fraction=0.3, order=2))
    done = command_line.run("launch", "--group", "pair")
    assert done.returncode == 1
    assert "not launched: two" in done.stderr
    assert command_line.launches("two") == []
    assert "no preset is in a group 'piar'; did you mean" in command_line.run("launch", "--group", "piar").stderr


def test_history_and_doctor_for_people_and_for_scripts(command_line: CommandLine) -> None:
    command_line.run("launch", "--force", "--model", MODEL, "--wait", "--", "--no-such-flag", "3")
    command_line.environ["SGLTUI_SIM"] = "fail=memory pool"
    command_line.run("launch", "--model", MODEL, "--wait")
    first, second = command_line.json("history", NAME)
    assert (first["state"], first["stage"], first["changed"]) == ("failed", "args", [])
    assert (second["state"], second["stage"]) == ("failed", "memory pool")
    assert second["changed"] == ["without --no-such-flag"]
    assert "without --no-such-flag" in command_line.ok("history", NAME)
    unknown = command_line.run("history", "qwen3-0.6")
    assert (unknown.returncode, "did you mean" in unknown.stderr) == (2, True)
    checks = {check["topic"]: check for check in command_line.json("doctor")}
    assert {checks[topic]["level"] for topic in ("GPUs", "SGLang", "records")} == {"ok"}
    command_line.machine.python.unlink()
    done = command_line.run("doctor")
    assert done.returncode == 1
    assert "PROBLEM  SGLang: no Python at" in done.stdout


def test_old_launches_are_forgotten_at_the_next_launch(command_line: CommandLine) -> None:
    command_line.places.settings_file.parent.mkdir(parents=True, exist_ok=True)
    command_line.places.settings_file.write_text("keep_launches = 2\n")
    for _ in range(2):
        make_ended_launch(command_line.places, NAME, State.FAILED)
    command_line.run("launch", "--force", "--model", MODEL, "--", "--no-such-flag")
    assert [launch.name[-4:] for launch in command_line.launches(NAME)] == ["0002", "0003"]


def test_the_ui_adopts_on_sight_and_not_when_it_only_looks(command_line: CommandLine) -> None:
    """Through the core that the UI asks once a second."""
    command_line.environ["SGLTUI_SIM"] = "hang=weight load"
    command_line.ok("launch", "--model", MODEL)
    command_line.wait_for(NAME, "loading")
    kill_keeper(command_line, NAME)
    places = command_line.places
    context = Context(places, load_settings(places), open_reader(places))
    looking = LocalCore(context)
    looking.snapshot()
    [instance] = looking.snapshot().instances
    assert instance.is_unattended
    core = LocalCore(context, adopts=True)
    wait_until(lambda: core.snapshot().instances[0].attended, what="a keeper")
    assert not looking.snapshot().instances[0].is_unattended
