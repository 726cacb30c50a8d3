"""The flag editor: what is typed is planned, what is proposed is one key away, and nothing happens before a yes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from tests.support.budgets import EXCEEDS, FITS
from tests.support.fake_core import FakeCore, Subject, identity, instance, preset, story
from tests.support.screen import NARROW, STORY, WIDE, running, screen_lines, screen_text, until, until_shown
from tui.app.core import Adjusted, LaunchRequest, Worked
from tui.app.flag_edits import with_change
from tui.app.flag_rows import flag_rows, value_words
from tui.app.messages import AdjustAsked
from tui.app.screens.adjust import AdjustScreen
from tui.app.screens.dashboard import Dashboard
from tui.app.widgets.flag_list import FlagList
from tui.budget.types import MemoryBudget
from tui.diagnosis.diagnosis import Change
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import Snapshot
from tui.sglang.edit import DiffLine, FlagEdit
from tui.sglang.flags import load_inventory

TYPED = (
    *("--model-path", "Qwen/Qwen3.6-27B", "--port", "30000", "--mem-fraction-static", "0.8"),
    *("--speculative-algorithm", "EAGLE", "--trust-remote-code"),
)
EIGHT = FlagEdit((("max-running-requests", ("8",)),))


def outcome(about: Subject) -> MemoryBudget:
    """Eight requests fit."""
    return FITS if isinstance(about, Adjusted) and ("max-running-requests", ("8",)) in about.edit.set else EXCEEDS


def core_with(*, state: State = State.FAILED, **changes: object) -> FakeCore:
    """A core over one server."""
    one = instance("story", state, **{"pid": None, **changes})
    core = FakeCore(Snapshot(GpuReading(story(Path("/nonexistent")).gpus.gpus), (one,)))
    core.budget, core.words = outcome, TYPED
    return core


@pytest.mark.parametrize("size", [NARROW, STORY, WIDE])
async def test_what_is_proposed_is_one_key_away_and_launched_with_the_next(size: tuple[int, int]) -> None:
    core = core_with()
    async with running(core, size=size) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "Relaunch story adjusted ── Qwen/Qwen3.6-27B ── SGLang 0.5.11")
        await until_shown(pilot, app, "DOESN'T FIT")
        assert "nothing is changed: the same flags again" in screen_text(app)
        await pilot.press("1")
        await until_shown(pilot, app, "FITS  173k tokens")
        assert "+ --max-running-requests 8" in screen_text(app)
        assert max(len(line) for line in screen_lines(app)) <= size[0]
        assert core.relaunches == []
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")
        assert core.relaunches == [Adjusted("story", "20261129T171001Z-0007", EIGHT)]
        await until_shown(pilot, app, "launched story/20261129T200000Z-0008; if it fails, b goes back to what worked")


async def test_the_cursor_goes_to_what_a_proposal_changed() -> None:
    """Also out of a search that doesn't show it, and to what is left out."""
    core = core_with()
    core.budget = EXCEEDS
    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "1-2 take")
        flags = app.screen.query_one(FlagList)
        assert flags.row is not None
        assert flags.row.name == "mem-fraction-static"
        await pilot.press("2")
        await until(pilot, lambda: flags.row is not None and flags.row.name == "mamba-ssm-dtype", "the changed flag")
        await until_shown(pilot, app, "1-2 take")
        await pilot.press("slash", *"page-size", "enter")
        await until(pilot, lambda: flags.row is not None and flags.row.name == "page-size", "the flag that was found")
        await pilot.press("1")
        await until(pilot, lambda: flags.row is not None and flags.row.name == "max-running-requests", "the next")
        assert "flag of SGLang 0.5.11" not in screen_text(app), "the search is over"


async def test_a_value_is_planned_as_it_is_typed_and_refused_if_it_cannot_be_meant() -> None:
    core = core_with()
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("slash", *"max-run", "enter", "enter", "8")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("x")
        await until_shown(pilot, app, "--max-running-requests 8x: must be a whole number")
        await pilot.press("enter")
        assert isinstance(app.focused, Input), "it isn't taken"
        await pilot.press("backspace", "enter")
        await until_shown(pilot, app, "+ max-running-requests")
        assert "must be a whole number" not in screen_text(app)
        await pilot.press("u")
        await until_shown(pilot, app, "nothing is changed")
        assert core.relaunches == []


async def test_escape_gives_up_what_was_typed_then_leaves() -> None:
    async with running(core_with()) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("enter", "9")
        await until_shown(pilot, app, "+ --mem-fraction-static 9")
        await pilot.press("escape")
        await until_shown(pilot, app, "nothing is changed")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


async def test_the_whole_command_takes_the_place_of_the_budget_where_there_is_no_room_for_both() -> None:
    core = core_with()
    async with running(core, size=NARROW) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("d")
        await until_shown(pilot, app, "--speculative-algorithm EAGLE")
        assert "--model-path Qwen/Qwen3.6-27B" in screen_text(app)
        assert "--trust-remote-code" in screen_text(app)
        assert "DOESN'T FIT" not in screen_text(app)
        await pilot.press("escape")
        await until_shown(pilot, app, "DOESN'T FIT")
        assert isinstance(app.screen, AdjustScreen)


async def test_what_would_fit_comes_when_typing_pauses() -> None:
    """The budget of a key doesn't wait for it, and nothing can be taken that isn't there."""
    core = core_with()
    looked = threading.Event()
    plan = core.plan

    def slow(about: Subject, gpus: GpuReading, *, changes: bool = True) -> MemoryBudget:
        if changes and isinstance(about, Adjusted) and about.edit:
            looked.wait(timeout=30)
        return plan(about, gpus, changes=changes)

    core.plan = slow  # type: ignore[method-assign]
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "1  max-running-requests 8")
        await pilot.press("slash", *"max-total", "enter", "enter", "9")
        await until_shown(pilot, app, "What would fit…")
        assert "1  max-running-requests 8" not in screen_text(app)
        assert "DOESN'T FIT" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.focused, Input), "the list has the keys")
        await pilot.press("1")
        await until_shown(pilot, app, "what would fit is still looked for")
        looked.set()
        await until_shown(pilot, app, "1  max-running-requests 8")


async def test_switches_are_switched_and_flags_left_out() -> None:
    core = core_with()
    async with running(core, size=WIDE) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("slash", *"trust-remote", "enter", "enter")
        await until_shown(pilot, app, "- --trust-remote-code")
        await pilot.press("escape", "slash", *"enable-metrics", "enter", "enter")
        await until_shown(pilot, app, "+ --enable-metrics")
        await pilot.press("escape", "R")
        await until(pilot, lambda: core.relaunches, "the relaunch")
        [about] = core.relaunches
        assert about.edit == FlagEdit((("enable-metrics", ()),), ("trust-remote-code",))


async def test_a_running_server_goes_only_after_a_yes() -> None:
    core = core_with(state=State.READY, pid=4211, members=(identity(4211),), memory_bytes=1 << 36, uptime_s=60.0)
    async with running(core) as (app, pilot):
        await pilot.press("r")
        await until_shown(pilot, app, "Stop story and launch it anew?")
        assert "pid 4211 on GPU 0 holds 64.0 GiB, up 1 min." in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "no is the default")
        assert core.relaunches == []
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("R")
        await until_shown(pilot, app, "Stop story and launch it anew?")
        await pilot.press("n")
        await until_shown(pilot, app, "story goes on as it was")
        await pilot.press("R", "y")
        await until(pilot, lambda: core.relaunches, "the relaunch")


async def test_a_refusal_leaves_what_was_changed() -> None:
    core = core_with()
    core.refusal = RefusedError("port 30000 is taken by pid 1", "give another --port")
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("1")
        await until_shown(pilot, app, "FITS")
        await pilot.press("R")
        await until_shown(pilot, app, "port 30000 is taken by pid 1")
        assert isinstance(app.screen, AdjustScreen)
        assert "+ --max-running-requests 8" in screen_text(app)


async def test_back_to_what_worked() -> None:
    core = core_with()
    async with running(core) as (app, pilot):
        await pilot.press("b")
        await until_shown(pilot, app, "no earlier launch of story became ready")
        worked = Adjusted("story", "20261129T170000Z-0003")
        core.worked = Worked(worked, (DiffLine("-", "--max-running-requests 512"), DiffLine(" ", "--tp-size 1")))
        await pilot.press("b")
        await until_shown(pilot, app, "Launch story with the flags that worked?")
        assert "- --max-running-requests 512" in screen_text(app)
        assert "--tp-size" not in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: core.relaunches == [worked], "the relaunch")


async def test_read_only_looks_and_changes_nothing() -> None:
    core = core_with()
    async with running(core, read_only=True) as (app, pilot):
        await pilot.press("r")
        await until_shown(pilot, app, "read-only: nothing is changed")
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("1", "R")
        await until_shown(pilot, app, "✗ read-only: nothing is changed")
        assert core.relaunches == []


async def test_a_sheet_that_cannot_be_read_is_told() -> None:
    core = core_with()

    def refuse(_about: Adjusted, *, ask: bool) -> None:
        del ask
        raise RefusedError("no interpreter with SGLang was found", "name one in the settings")

    core.sheet = refuse  # type: ignore[method-assign,assignment]
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "no interpreter with SGLang was found")
        assert isinstance(app.screen, Dashboard)


def test_the_rows_changed_first() -> None:
    core = FakeCore()
    core.words = TYPED
    sheet = core.sheet(Adjusted("story", "1"), ask=False)
    rows = flag_rows(sheet, EIGHT.unsetting("trust-remote-code"))
    assert [(row.name, row.value, row.was) for row in rows[:6]] == [
        ("changed", None, None),
        ("max-running-requests", "8", ""),
        ("trust-remote-code", None, "on"),
        ("given", None, None),
        ("mem-fraction-static", "0.8", None),
        ("speculative-algorithm", "EAGLE", None),
    ]
    found = flag_rows(sheet, FlagEdit(), "mamba dtype")
    assert [row.name for row in found] == ["1 flag of SGLang 0.5.11", "mamba-ssm-dtype"]
    flag = found[1].flag
    assert flag is not None
    assert value_words(flag) == "one of float32, bfloat16, float16"


def test_a_proposal_as_an_edit() -> None:
    change = replace(EXCEEDS.changes[0], set={"disable-radix-cache": "true", "tp-size": "2"}, unset=("page-size",))
    assert with_change(FlagEdit(), change, load_inventory("0.5.11")) == FlagEdit(
        (("disable-radix-cache", ()), ("tp-size", ("2",))), ("page-size",)
    )


async def test_a_preset_s_flags_are_changed_before_its_first_launch() -> None:
    core = FakeCore(core_with().now, [preset()])
    core.words = TYPED
    core.budget = lambda about: FITS if isinstance(about, LaunchRequest) and about.edit == EIGHT else EXCEEDS
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("e")
        await until_shown(pilot, app, "Launch qwen36-mtp adjusted ── Qwen/Qwen3.6-27B")
        await until_shown(pilot, app, "1  max-running-requests 8")
        await pilot.press("1")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("R")
        await until(pilot, lambda: core.launches, "the launch")
        assert core.launches == [LaunchRequest("qwen36-mtp", "qwen36-mtp", "0", 30000, EIGHT)]
        await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard")


async def test_other_gpus_are_planned_as_they_are_typed() -> None:
    core = core_with()
    core.budget = lambda about: FITS if isinstance(about, Adjusted) and about.gpus == "1" else EXCEEDS
    async with running(core) as (app, pilot):
        await pilot.press("R")
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("o")
        await until_shown(pilot, app, "a  GPU 0")
        await pilot.press("1")
        await until_shown(pilot, app, "FITS  173k tokens")
        await pilot.press("comma", "x")
        await until_shown(pilot, app, "'x' names no GPU")
        await pilot.press("backspace", "backspace", "enter")
        assert "SGLang 0.5.11 ── GPU 1" in screen_text(app)
        await pilot.press("R")
        await until(pilot, lambda: core.relaunches, "the relaunch")
        assert core.relaunches[0].gpus == "1"


async def test_what_the_log_suggests_is_offered_where_the_plan_finds_nothing_wrong() -> None:
    """It ran out of memory all the same: the diagnosis of its log knows better."""
    core = core_with()
    core.budget = FITS
    offers = (Change({"mem-fraction-static": 0.7}), Change(upgrade="0.5.13"))
    async with running(core) as (app, pilot):
        app.post_message(AdjustAsked(Adjusted("story", "20261129T171001Z-0007"), offers))
        await until_shown(pilot, app, "what would help")
        assert "1  --mem-fraction-static 0.7" in screen_text(app)
        await pilot.press("2")
        await until_shown(pilot, app, "for that, SGLang 0.5.13 or later has to be installed")
        await pilot.press("1")
        await until_shown(pilot, app, "+ --mem-fraction-static 0.7")
        assert "what would help" not in screen_text(app)


async def test_without_presets_there_is_nothing_to_edit() -> None:
    async with running(core_with()) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "No presets yet")
        await pilot.press("e")
        await until_shown(pilot, app, "No presets yet")
