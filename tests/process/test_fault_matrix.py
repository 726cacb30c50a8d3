"""Each step of a start and of a stop, hit by each fault: never an orphan unseen, a second server, or a lost record."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytest

from tests.support import faults
from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.disk import full, small_disk
from tests.support.keeping import Kept, is_running
from tests.support.simulated import read_command
from tests.support.steps import Steps
from tests.support.waiting import wait_until
from tui.errors import SgltuiError
from tui.keeper import procfs
from tui.keeper.files import LaunchFiles
from tui.keeper.members import MARK_VARIABLE
from tui.keeper.steps import START_STEPS
from tui.keeper.stop import StopRequest
from tui.launch import guard
from tui.launch.adopt import adopt_launch, needs_keeper
from tui.launch.records import RecordError
from tui.launch.stop import stop_launch

NAME = "one"
QUICK = StopRequest(grace_s=0.2, release_wait_s=0)
OFTEN = {
    ("launcher-recorded", faults.FRONT),
    ("keeper-spawned", faults.KEEPER),
    ("keeper-started", faults.SCHEDULER),
    ("keeper-loading", faults.RECORD),
    ("keeper-ready", faults.DISK),
    ("keeper-stopping", faults.FRONT),
    ("keeper-kills", faults.KEEPER),
}
DAY_S = 24 * 60 * 60


def case(step: str, fault: str) -> Any:
    marks = [] if (step, fault) in OFTEN else [pytest.mark.soak]
    return pytest.param(step, fault, marks=marks, id=f"{step}, {fault}")


@pytest.mark.parametrize(("step", "fault"), [case(step, fault) for step, fault in faults.cells()])
def test_a_fault(command_line: CommandLine, steps: Steps, decoy: int, step: str, fault: str) -> None:
    with small_disk(command_line.places.state) if fault == faults.DISK else nullcontext():
        hit(command_line, steps, step, fault)
        kept = newest(command_line)
        wait_until(lambda: settle(command_line, kept), LIMIT_S, f"settled; {kept.files.directory}; {kept.trouble()}")
        outcomes = set().union(*(faults.STATES[outcome] for outcome in faults.expected(step, fault)))
        assert kept.state in outcomes
        assert len(command_line.launches(NAME)) == 1, "no second launch"
        assert left_of(kept) == []
        assert is_running(decoy)
        guard.check_name(command_line.places, NAME)


def hit(command_line: CommandLine, steps: Steps, step: str, fault: str) -> None:
    """Go as far as the step, and let the fault happen there."""
    command_line.environ["SGLTUI_SIM"] = "ignore-term"
    command_line.places.settings_file.parent.mkdir(parents=True, exist_ok=True)
    command_line.places.settings_file.write_text("release_wait_s = 0\n")
    launch = ("launch", "--model", "Qwen/Qwen3-0.6B", "--name", NAME)
    if step in START_STEPS:
        steps.hold(step)
        front = command_line.start(*launch)
    else:
        command_line.ok(*launch)
        command_line.wait_for(NAME, "ready")
        steps.hold(step)
        front = command_line.start("stop", NAME, "--grace", "0.2")
    at = steps.reached(step)
    with happening(command_line, fault, front, at):
        steps.release(step)
        if fault == faults.SUSPENDED:
            front.send_signal(signal.SIGKILL)  # or it would wait until the keeper goes on
        front.communicate(timeout=LIMIT_S)


@contextmanager
def happening(command_line: CommandLine, fault: str, front: subprocess.Popen[str], at: int) -> Iterator[None]:
    """The fault, for as long as it lasts; `at` is who stands at the step."""
    kept = newest(command_line)
    if fault == faults.FRONT:
        front.send_signal(signal.SIGKILL)
        front.wait(LIMIT_S)
    elif fault in (faults.KEEPER, faults.SUSPENDED):
        keeper = kept.keeper_pid if at == front.pid else at
        os.kill(keeper, signal.SIGSTOP if fault == faults.SUSPENDED else signal.SIGKILL)
        wait_until(lambda: fault == faults.SUSPENDED or not is_running(keeper))
        yield
        if fault == faults.SUSPENDED:
            os.kill(keeper, signal.SIGCONT)
        return
    elif fault == faults.RECORD:
        with suppress(FileNotFoundError):
            os.truncate(kept.files.state, 30)
    elif fault == faults.CLOCK:
        shift_times(kept.files)
    elif fault == faults.DISK:
        with full(command_line.places.state):
            yield
        return
    else:
        pid = victim(kept, at, fault)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid))
    yield


def victim(kept: Kept, keeper: int, fault: str) -> int:
    """The pid of the server's process that the fault names; a child may still have to be made."""

    def mains() -> list[int]:
        recorded = kept.read().state.server
        return [recorded.pid] if recorded is not None else list(procfs.children(keeper))

    if fault == faults.MAIN:
        return mains()[0]
    # Until it has imported everything, a child has no title: it is the one whose turn it is, of two.
    words = {faults.SCHEDULER: ("sglang::scheduler", 0), faults.DETOKENIZER: ("sglang::detokenizer", -1)}
    title, place = words[fault]

    def workers() -> list[int]:
        found = [
            pid for main in mains() for pid in procfs.children(main) if "resource_tracker" not in read_command(pid)
        ]
        return sorted(found)

    wait_until(lambda: len(workers()) > 1, LIMIT_S, "the server's children")
    return next((pid for pid in workers() if read_command(pid).startswith(title)), workers()[place])


def settle(command_line: CommandLine, kept: Kept) -> bool:
    """What whoever looks next does: adopt what needs a keeper, stop what runs. Nothing is left to do: True."""
    places = command_line.places
    with suppress(RecordError, SgltuiError):
        recorded = kept.read()
        if needs_keeper(recorded):
            adopt_launch(places, NAME)
        elif recorded.exit is None and recorded.is_attended and recorded.state.server is not None:
            stop_launch(places, NAME, QUICK)
        recorded = kept.read()
        never_taken = recorded.state.keeper is None and not (kept.files.directory / "keeper.log").exists()
        return never_taken or (recorded.exit is not None and not recorded.is_attended and not recorded.living_members())
    return False


def left_of(kept: Kept) -> list[int]:
    """Every process that carries the launch's mark, on record or not."""
    assignment = f"{MARK_VARIABLE}={kept.read().launch.mark}"
    return [pid for pid in procfs.all_pids() if procfs.has_environment(pid, assignment) and is_running(pid)]


def newest(command_line: CommandLine) -> Kept:
    return Kept(LaunchFiles(command_line.launches(NAME)[-1]))


def shift_times(files: LaunchFiles) -> None:
    """As if the clock had been set back by a day since they were written."""
    document = json.loads(files.launch.read_text())
    document["created_at"] = document["created_at"].replace("2", "3", 1)  # the next millennium
    files.launch.write_text(json.dumps(document))


def test_the_table_in_the_documentation_is_this_one() -> None:
    text = faults.DOCUMENT.read_text()
    assert faults.document_with(text, faults.table()) == text, "run `python -m tests.support.faults`"


def test_every_often_case_is_a_cell() -> None:
    assert set(faults.cells()) >= OFTEN
