"""Servers under load: what limits each is named to scripts and on the screen, with what would help."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.support.command_line import LIMIT_S, CommandLine
from tests.support.screen import WIDE, running, screen_text, until, until_shown
from tests.support.simulated import ask_endlessly
from tui.app.app import SgltuiApp
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.gpu.open import open_reader
from tui.settings import Settings
from tui.simulator.machine import Machine, make_gpu

SMALL = ("--model", "Qwen/Qwen3-0.6B")
STORY = ("qwen36-27b-mtp",)
# What is launched, with which flags, so many requests without an end, what there isn't enough of, what would help.
LOADS = {
    "places": (SMALL, ("--max-running-requests", "2"), 4, "max-running-requests", "max-running-requests 4"),
    "cache": (SMALL, ("--max-total-tokens", "9000"), 4, "KV cache", "without max-total-tokens"),
    "slots": (STORY, ("--max-mamba-cache-size", "10"), 4, "state slots", "without max-mamba-cache-size"),
    "free": (SMALL, (), 2, "nothing", ""),
}


@pytest.fixture
def line(make_machine: Callable[..., Machine]) -> Iterator[CommandLine]:
    """A GPU for each, so that they can load together."""
    line = CommandLine(make_machine(pace=0.1, gpus=[make_gpu(index) for index in range(len(LOADS))]))
    launching = [
        line.start("launch", *what, "--name", name, "--on", str(gpu), "--force", "--wait", "--", *flags)
        for gpu, (name, (what, flags, *_)) in enumerate(LOADS.items())
    ]
    for process in launching:
        _, told = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, told
    yield line
    line.end_all()


@pytest.fixture
def load(line: CommandLine) -> Iterator[None]:
    with ExitStack() as stack:
        for name, (_, _, requests, *_) in LOADS.items():
            for _ in range(requests):
                stack.enter_context(ask_endlessly(line.recorded(name).launch.port))
        yield


@asynccontextmanager
async def watching(line: CommandLine) -> AsyncIterator[asyncio.Task[dict[str, Any]]]:
    """A `ps` of its own, read in a thread until all are limited by what they should be."""
    with line.start("ps", "--json", "--watch") as watch:
        try:
            yield asyncio.create_task(asyncio.to_thread(find_all_limits, watch))
        finally:
            watch.terminate()


def find_all_limits(watch: subprocess.Popen[str]) -> dict[str, Any]:
    """Of each server the line that says what limits it."""
    wanted = {name: bound for name, (*_, bound, _) in LOADS.items() if bound != "nothing"}
    found: dict[str, Any] = {}
    assert watch.stdout is not None
    for line in watch.stdout:
        row = json.loads(line)
        if row["limit"] is not None and row["limit"]["bound"] == wanted.get(row["name"]):
            found[row["name"]] = row
        if found.keys() == wanted.keys():
            return found
    raise AssertionError("`ps` has ended")


def selected(app: SgltuiApp) -> str:
    found = re.search(r"Live ▸ (\w+)", screen_text(app))
    return found[1] if found else ""


@pytest.mark.usefixtures("load")
async def test_what_limits_each_is_named_with_what_would_help(line: CommandLine) -> None:
    core = LocalCore(Context(line.places, Settings(), open_reader(line.places)))
    async with watching(line) as told, running(core, size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "run/queue")
        await pilot.press("6", "2")
        seen = {""}
        while len(seen) <= len(LOADS):
            await until(pilot, lambda: selected(app) not in seen, f"another than {seen}:\n{screen_text(app)}", LIMIT_S)
            *_, bound, helps = LOADS[selected(app)]
            limit = "NOT LIMITED  no request waits; 2 run" if bound == "nothing" else f"LIMITED by {bound}"
            for words in (limit, helps):
                await until(pilot, lambda: words in screen_text(app), f"{words} of {selected(app)}", LIMIT_S)  # noqa: B023
            seen.add(selected(app))
            await pilot.press("j")
        found = await asyncio.wait_for(told, LIMIT_S)
    assert found["places"]["requests"] == {"running": 2, "queued": 2, "max": 2}
    assert found["slots"]["slot_usage"] == 0.8, "of 5 slots each keeps one for the moment in which its state is copied"
    assert found["cache"]["retractions"] > 0
