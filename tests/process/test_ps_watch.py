"""`sgltui ps --watch` as a process: what it writes, and how it ends."""

from __future__ import annotations

import json
import signal

from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.launches import make_ended_launch
from tui.errors import ExitCode
from tui.keeper.states import State


def test_a_change_is_a_line_and_ctrl_c_ends_it_without_words(command_line: CommandLine) -> None:
    make_ended_launch(command_line.places, "one")
    watch = command_line.start("ps", "--watch")
    assert watch.stdout is not None
    assert "one: stopped" in watch.stdout.readline()
    make_ended_launch(command_line.places, "two", State.FAILED)
    assert "two: failed" in watch.stdout.readline()
    watch.send_signal(signal.SIGINT)
    rest, complaints = watch.communicate(timeout=LIMIT_S)
    assert (rest, complaints, watch.returncode) == ("", "", ExitCode.INTERRUPTED)


def test_json_is_an_object_a_line(command_line: CommandLine) -> None:
    make_ended_launch(command_line.places, "one")
    watch = command_line.start("ps", "--watch", "--json")
    assert watch.stdout is not None
    assert json.loads(watch.stdout.readline())["name"] == "one"
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=LIMIT_S)


def test_it_ends_when_nobody_reads_any_more_though_nothing_changes(command_line: CommandLine) -> None:
    make_ended_launch(command_line.places, "one")
    watch = command_line.start("ps", "--watch")
    assert watch.stdout is not None
    watch.stdout.readline()
    watch.stdout.close()
    assert watch.wait(LIMIT_S) == ExitCode.DONE
    assert watch.stderr is not None
    assert watch.stderr.read() == ""
    watch.stderr.close()
