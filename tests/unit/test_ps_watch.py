"""`sgltui ps --watch` in words and as JSON: what is told, and what is no reason to tell anything."""

from __future__ import annotations

import json
import re

from msgspec import structs

from tests.support.fake_core import gpu, instance
from tui.cli.ps_watch import Changes
from tui.diagnosis.progress import Progress, Stage
from tui.gpu import GpuProblem, GpuReading
from tui.keeper.states import State
from tui.metrics.limits import Bound, Limit
from tui.metrics.live import LiveMetrics
from tui.observe import BrokenRecord, Instance, Snapshot
from tui.units import GIB

READY = instance("qwen36-mtp", State.READY, uptime_s=7200.0, memory_bytes=72 * GIB)


def machine(*instances: Instance, **fields: object) -> Snapshot:
    return structs.replace(Snapshot(GpuReading((gpu(0),)), instances), **fields)


def told(changes: Changes, snapshot: Snapshot) -> list[str]:
    """Lines without their time."""
    lines = list(changes.lines(snapshot))
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
    return [line[9:] for line in lines]


def loading(done: int) -> Instance:
    return instance("a", State.LOADING, progress=Progress(Stage.WEIGHT_LOAD, done, 29))


def test_at_first_all_servers_are_told_in_words() -> None:
    assert told(Changes(), machine(READY)) == ["qwen36-mtp: ready, GPU 0, port 30000, 72.0 GiB"]
    assert told(Changes(), machine()) == ["no servers yet"]


def test_figures_that_always_move_are_no_news() -> None:
    changes = Changes()
    told(changes, machine(READY))
    live = LiveMetrics(at=READY.started_at, source=None, running=6, queued=1)  # type: ignore[arg-type]
    later = structs.replace(READY, uptime_s=7201.0, memory_bytes=73 * GIB, live=live)
    assert told(changes, machine(later)) == []


def test_what_limits_a_server_is_news_and_so_is_its_end() -> None:
    changes, full = Changes(), {"qwen36-mtp": Limit(Bound.KV, "7 requests wait")}
    told(changes, machine(READY))
    [line] = changes.lines(machine(READY), full)
    assert line.endswith(", limited by KV cache")
    assert not list(changes.lines(machine(READY), {"qwen36-mtp": Limit(Bound.KV, "8 requests wait")}))
    assert len(told(changes, machine(READY))) == 1
    for quiet in (Bound.NOTHING, Bound.UNKNOWN):
        assert not list(changes.lines(machine(READY), {"qwen36-mtp": Limit(quiet, "")}))
    [line] = changes.json_lines(machine(READY), full)
    assert json.loads(line)["limit"] == {"bound": "KV cache", "why": "7 requests wait"}


def test_a_start_is_followed_in_a_few_lines() -> None:
    changes = Changes()
    lines = [line for done in range(30) for line in told(changes, machine(loading(done)))]
    assert lines[0] == "a: loading: weight load 0/29, GPU 0, port 30000"
    assert len(lines) == 5
    ready = instance("a", State.READY, live=LiveMetrics(at=READY.started_at, source=None, running=0, queued=0))  # type: ignore[arg-type]
    assert told(changes, machine(ready)) == ["a: ready, GPU 0, port 30000, 0 running, 0 queued"]


def test_the_end_and_its_cause_are_told_and_so_is_a_record_that_went_away() -> None:
    changes = Changes()
    told(changes, machine(READY))
    failed = structs.replace(READY, state=State.FAILED, cause="512 requests need 294 GiB", memory_bytes=None)
    assert told(changes, machine(failed)) == ["qwen36-mtp: failed, GPU 0, port 30000, 512 requests need 294 GiB"]
    assert told(changes, machine()) == ["qwen36-mtp: not listed any more"]


def test_trouble_is_told_once_as_long_as_it_lasts() -> None:
    changes = Changes()
    lost = machine(READY, gpus=GpuReading(problem=GpuProblem("the driver is gone", "reboot")))
    assert told(changes, lost)[0] == "GPUs: the driver is gone; reboot"
    assert told(changes, lost) == []
    told(changes, machine(READY))
    assert told(changes, lost) == ["GPUs: the driver is gone; reboot"]
    broken = machine(READY, broken=(BrokenRecord("b", "state.json isn't a record of ours"),))
    assert told(changes, broken) == ["b: state.json isn't a record of ours"]


def test_nothing_in_a_line_steers_the_terminal() -> None:
    evil = structs.replace(READY, state=State.FAILED, cause="\x1b]0;owned\x07\nroot: ready")
    [line] = told(Changes(), machine(evil))
    assert line.isprintable()


def test_each_json_line_is_one_object_with_the_fields_of_ps() -> None:
    changes = Changes()
    [line] = changes.json_lines(machine(READY))
    first = json.loads(line)
    assert (first["name"], first["state"], first["memory_gib"]) == ("qwen36-mtp", "ready", 72.0)
    assert first["at"].endswith("Z")
    [line] = changes.json_lines(machine())
    last = json.loads(line)
    assert (last["name"], last["gone"]) == ("qwen36-mtp", True)
