"""The budget of what is selected: asked for once, never in the way, and never shown under another name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.budgets import EXCEEDS, FITS, UNKNOWN
from tests.support.fake_core import FakeCore, Subject, gpu, holding, identity, instance, preset, story, uuid
from tests.support.screen import NARROW, STORY, WIDE, look, running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.app.core import LaunchedServer, LaunchRequest
from tui.budget.types import MemoryBudget
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.observe import BrokenRecord, Snapshot

SIZES = [(60, 16), NARROW, STORY, WIDE]


def answer(about: Subject) -> MemoryBudget:
    """What has 512 or 8b in its name doesn't fit."""
    name = about.preset if isinstance(about, LaunchRequest) else about.name
    return EXCEEDS if "512" in name or "8b" in name else FITS


def story_core(folder: Path) -> FakeCore:
    """The story's servers, with budgets."""
    core = FakeCore(story(folder), [preset(), preset("llama8b")])
    for name in ("llama8b", "qwen36-mtp"):
        (folder / f"{name}.log").write_text("[2026-11-29 19:10:41] Load weight begin. avail mem=94.30 GB\n")
    core.budget = answer
    return core


def subjects(core: FakeCore) -> list[str]:
    """Whose budgets were asked for, in order."""
    return [about.preset if isinstance(about, LaunchRequest) else about.name for about in core.plans]


def title(app: SgltuiApp) -> str:
    """The budget's first line."""
    return next(line for line in screen_lines(app) if "Budget" in line)


@pytest.mark.parametrize("size", SIZES)
async def test_the_selected_servers_budget_is_shown(tmp_path: Path, size: tuple[int, int]) -> None:
    core = story_core(tmp_path)
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        conditions = r" planned for SGLang 0\.5\.11 on GPU 0" if size[0] > SIZES[0][0] else ""  # the keys come first
        assert re.search(rf"Budget ▸ llama8b ──{conditions}", title(app))
        await pilot.press("j")
        await until_shown(pilot, app, "FITS  173k tokens")
        assert "Budget ▸ qwen36-mtp ──" in title(app)
        assert "DOESN'T FIT" not in screen_text(app)
        assert max(len(line) for line in screen_lines(app)) <= size[0]


async def test_everything_of_it_can_be_read(tmp_path: Path) -> None:
    async with running(story_core(tmp_path), size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "1  max-running-requests 8     173k tokens, 8 requests   costs 40 of 48 requests")
        text = screen_text(app)
        assert re.search(r"0 RTX PRO 6000  x\?+C+W+R+▶+·+  3\.95 GiB short", text)
        assert re.search(r"W weights +50\.96  exact +tensors of the checkpoint", text)
        assert re.search(r"C context, loading +~0\.8   est\. 0\.4-1\.3 ", text)
        assert re.search(r"weights +42\.2  ▇+\n✗ pools +-4\.0  the start ends here", text.replace("\n ", "\n"))
        assert "· SGLang would end with: RuntimeError: Not enough memory." in text


async def test_80x24_reach_its_end_by_scrolling(tmp_path: Path) -> None:
    async with running(story_core(tmp_path), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        assert "SGLang would end with" not in screen_text(app)
        await pilot.press("4", "G")
        await until_shown(pilot, app, "SGLang would end with")


async def test_it_is_asked_again_only_when_it_could_be_another(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        assert isinstance(core.now, Snapshot)
        idle = gpu(0, core.now.gpus.gpus[0].processes, utilization_percent=1, power_w=60.0)
        own = [holding(5120, 31.5)]
        # Other GPUs, its own memory and what the driver measures say nothing new about its budget.
        core.now = replace(core.now, gpus=replace(core.now.gpus, gpus=(idle, gpu(1, own))))
        await look(pilot, app, core)
        core.now = replace(core.now, gpus=replace(core.now.gpus, gpus=(idle, gpu(1, [*own, holding(77, 0.01)]))))
        await look(pilot, app, core)
        assert subjects(core) == ["llama8b"]
        core.now = replace(core.now, gpus=replace(core.now.gpus, gpus=(idle, gpu(1, [*own, holding(77, 2.0)]))))
        await look(pilot, app, core)
        await until(pilot, lambda: len(core.plans) == 2, "a neighbour's 2 GiB")
        core.now = replace(core.now, instances=(replace(core.now.instances[1], state=State.READY, progress=None),))
        await look(pilot, app, core)
        await until(pilot, lambda: len(core.plans) == 3, "it is ready now")


async def test_its_own_processes_are_named_to_the_planner(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        about = core.plans[0]
        assert isinstance(about, LaunchedServer)
        assert (about.name, about.launch, about.pids) == ("llama8b", "20261129T191001Z-0001", frozenset({5120}))


async def test_a_slow_plan_blocks_nothing_and_the_last_selection_wins(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    core.plan_gate.clear()
    async with running(core) as (app, pilot):
        await until(pilot, lambda: core.plans, "the first question")
        await until_shown(pilot, app, "planning…")
        # Of the one that failed the finding is seen first.
        for key, title in (("j", "Budget ▸ qwen36-mtp"), ("j", "qwen36-512 · attempt 3"), ("k", "Budget ▸ qwen36-mtp")):
            await pilot.press(key)
            await until_shown(pilot, app, f"{title} ")
        assert "FIT" not in screen_text(app)
        core.plan_gate.set()
        await until_shown(pilot, app, "FITS  173k tokens")
        assert subjects(core) == ["llama8b", "qwen36-mtp"]  # what was passed by was never planned


async def test_an_answer_about_another_server_is_not_shown(tmp_path: Path) -> None:
    core, second = story_core(tmp_path), threading.Event()

    def one_by_one(about: Subject) -> MemoryBudget:
        if isinstance(about, LaunchedServer) and about.name == "qwen36-mtp":
            second.wait(timeout=30)
        return answer(about)

    core.budget = one_by_one
    core.plan_gate.clear()
    async with running(core) as (app, pilot):
        await until(pilot, lambda: core.plans, "the first question")
        await pilot.press("j")
        core.plan_gate.set()
        await until(pilot, lambda: app.budget is not None and app.budget.budget is EXCEEDS, "the first answer")
        await until_shown(pilot, app, "planning…")
        assert "DOESN'T FIT" not in screen_text(app)
        second.set()
        await until_shown(pilot, app, "FITS  173k tokens")


@pytest.mark.parametrize(
    ("planned", "words"),
    [
        (
            RefusedError("nobody/x isn't in the Hugging Face cache", "download it with `hf download nobody/x`"),
            ["CAN'T TELL  nobody/x isn't in the Hugging Face cache", "· download it with `hf download nobody/x`"],
        ),
        (KeyError("[/bug]"), ["CAN'T TELL  KeyError: '[/bug]'", "this is a bug in sgltui"]),
        (UNKNOWN, ["CAN'T TELL  no size of its weights is known", "SGLang may start it all the same"]),
    ],
)
async def test_no_answer_is_told_with_what_to_do(
    tmp_path: Path, planned: MemoryBudget | Exception, words: list[str]
) -> None:
    core = story_core(tmp_path)
    core.budget = planned
    for size in (NARROW, STORY):
        async with running(core, size=size) as (app, pilot):
            for part in words:
                await until_shown(pilot, app, part)
            core.budget = answer
            await pilot.press("j")
            await until_shown(pilot, app, "FITS  173k tokens")  # one failure is no reason to plan no more
            core.budget = planned


async def test_files_that_are_never_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.planner._PATIENCE_S", 0.01)
    core = story_core(tmp_path)
    core.plan_gate.clear()
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "CAN'T TELL  the model's files haven't been read within")
        core.plan_gate.set()


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (Snapshot(GpuReading((gpu(0),)), ()), "Nothing is selected. The launch form shows what a preset takes"),
        (Snapshot(GpuReading((gpu(0),)), (), (BrokenRecord("old", "bad"),)), "Its record can't be read, so nobody"),
        (
            Snapshot(GpuReading((gpu(0),)), (instance("far", State.READY, local=False, host="box-9[/]"),)),
            "It was launched on box-9[/], and its GPUs can't be seen from here",
        ),
    ],
)
async def test_where_nothing_can_be_planned_words_say_so(snapshot: Snapshot, words: str) -> None:
    core = FakeCore(snapshot)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, words)
    assert not core.plans


async def test_budget_and_log_take_turns_in_24_lines(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    async with running(core, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        assert title(app).rstrip("─ ").endswith("── 3: log")
        assert "Log ▸" not in screen_text(app)
        await pilot.press("tab", "tab")
        await until_shown(pilot, app, "Log ▸ llama8b")
        assert "── 4: budget" in screen_text(app)
        assert "Budget ▸" not in screen_text(app)
        await pilot.press("shift+tab")
        await until_shown(pilot, app, "Budget ▸ llama8b")
        await pilot.press("l")
        await until_shown(pilot, app, "Log ▸ llama8b")
        assert "4: budget" not in screen_text(app)  # alone on the screen
        await pilot.press("escape", "4")
        await until_shown(pilot, app, "Budget ▸ llama8b")


async def test_both_are_seen_where_there_is_room(tmp_path: Path) -> None:
    async with running(story_core(tmp_path)) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        assert "Log ▸ llama8b" in screen_text(app)
        assert "3: log" not in screen_text(app)
        await pilot.resize_terminal(*NARROW)
        await until_shown(pilot, app, "── 3: log")
        await pilot.resize_terminal(*STORY)
        await until_shown(pilot, app, "Log ▸ llama8b")


async def test_tab_goes_round_all_panels(tmp_path: Path) -> None:
    async with running(story_core(tmp_path)) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        kinds = ["InstanceTable", "BudgetPanel", "LogView", "GpuPanel", "InstanceTable"]
        for kind in kinds[1:]:
            await pilot.press("tab")
            assert type(app.focused).__name__ == kind
        for kind in reversed(kinds[:-1]):
            await pilot.press("shift+tab")
            assert type(app.focused).__name__ == kind
    async with running(FakeCore(Snapshot(GpuReading((gpu(0),)), ()))) as (app, pilot):
        await pilot.press("1")
        await pilot.press("tab")
        assert type(app.focused).__name__ == "BudgetPanel"  # no servers, so nothing to go to there


async def test_zoomed_it_tells_each_item_and_cuts_nothing(tmp_path: Path) -> None:
    async with running(story_core(tmp_path), size=STORY) as (app, pilot):
        await pilot.press("j")
        await until_shown(pilot, app, "G CUDA graphs")
        await pilot.press("4", "z")
        await until_shown(pilot, app, "G prefill graphs")
        text = screen_text(app)
        assert re.search(r"G decode graphs +~0\.5   est\. 0\.2-1\.3 +4 sizes up to 8 requests x 4 draft tokens", text)
        assert "Servers" not in text
        await pilot.press("z")
        await until_shown(pilot, app, "G CUDA graphs")


@pytest.mark.parametrize("size", [NARROW, STORY])
async def test_ascii_and_no_colour_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    core = story_core(tmp_path)
    async with running(core, ascii_only=True, size=size) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        assert app.theme == "sgltui-dark-mono"
        assert re.search(r"0 RTX PRO 6000  \|x\?CW+R+>+\.*\|  3\.95 GiB short", screen_text(app))
        assert "- 3: log" in screen_text(app) or size == STORY
        assert screen_text(app).isascii()
        await pilot.press("a")
        await until_shown(pilot, app, "Budget > qwen36-mtp")
        await until_shown(pilot, app, "FITS  173k tokens")
        assert screen_text(app).isascii()


async def test_the_launch_form_plans_what_is_highlighted(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "DOESN'T FIT")
        await pilot.press("a")
        await until_shown(pilot, app, "FITS  173k tokens")
        assert core.plans[-1] == LaunchRequest("qwen36-mtp", gpus="0")
        await pilot.press("down")
        await until_shown(pilot, app, "Budget ▸ llama8b ── planned for SGLang 0.5.11 on GPU 0")
        await until(pilot, lambda: core.plans[-1] == LaunchRequest("llama8b", gpus="0"), "the other preset")
        await until(pilot, lambda: screen_text(app).count("DOESN'T FIT") == 1, "its budget")
        await pilot.press("escape")
        await until_shown(pilot, app, "Budget ▸ llama8b ── planned")


async def test_the_launch_form_plans_for_the_gpus_that_are_typed(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "FITS  173k tokens")
        box = app.screen.query_one("#field-gpus", Input)
        box.value = "1"
        await until(pilot, lambda: core.plans[-1] == LaunchRequest("qwen36-mtp", gpus="1"), "GPU 1")
        box.value = "1;"
        await until_shown(pilot, app, "'1;' names no GPU: give indices or uuids")
        box.value = ""
        await until(pilot, lambda: core.plans[-1] == LaunchRequest("qwen36-mtp"), "the core's choice")
        planned = len(core.plans)
        app.screen.query_one("#field-name", Input).value = "other"
        app.screen.query_one("#field-port", Input).value = "31000"
        await pilot.pause()
        assert len(core.plans) == planned  # neither changes what it takes


async def test_a_slow_plan_is_not_in_the_way_of_a_launch(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    core.plan_gate.clear()
    async with running(core) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "▸ qwen36-mtp")
        await pilot.press("enter", "enter")
        await until_shown(pilot, app, "✓ launched")
        core.plan_gate.set()


async def test_the_form_does_not_take_the_dashboards_answer_away(tmp_path: Path) -> None:
    core = story_core(tmp_path)
    core.plan_gate.clear()
    async with running(core) as (app, pilot):
        await until(pilot, lambda: core.plans, "the first question")
        await pilot.press("j")
        await until_shown(pilot, app, "Budget ▸ qwen36-mtp")
        await pilot.press("a")
        await until_shown(pilot, app, "Launch a server")
        core.plan_gate.set()
        await until(pilot, lambda: len(core.plans) == 3, "both were asked for")
        await pilot.press("escape")
        await until_shown(pilot, app, "FITS  173k tokens")


async def test_other_gpus_are_other_lines(tmp_path: Path) -> None:
    members = (identity(4211),)
    whole = instance("deepseek", State.READY, gpus=(uuid(0), uuid(1)), members=members, log_path=tmp_path / "log")
    core = FakeCore(Snapshot(story(tmp_path).gpus, (whole,)))
    crowded = FITS.ranks[0]
    idle = structs.replace(crowded, gpu=1, items=crowded.items[:1])
    core.budget = structs.replace(FITS, ranks=(crowded, idle))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "on GPU 0 ")
        assert re.search(r"0 RTX PRO 6000  x\?CW+", screen_text(app))
        assert re.search(r"\n 1 RTX PRO 6000  x·+ +0\.6 / 96\.0 GiB|\n 1 +x·+ +0\.6 / 96\.0 GiB", screen_text(app))


SnapCompare = Callable[..., bool]


def test_a_budget_that_does_not_fit_120x34(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # A red badge and the sentence with the numbers; three numbered changes in columns; a bar of grey, clay, a long
    # blue W, a pink R and four red ▶ before dots, "3.95 GiB short" in red; the table's letters have the bar's tones.
    async def ready(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SgltuiApp)
        await until_shown(pilot, pilot.app, "DOESN'T FIT")
        await until_shown(pilot, pilot.app, "Load weight begin")

    assert snap_compare(SgltuiApp(story_core(tmp_path), where="gpu-box-7"), terminal_size=STORY, run_before=ready)


def test_a_budget_that_fits_80x24(snap_compare: SnapCompare, tmp_path: Path) -> None:
    # A green FITS over two lines, the bar with its letters, and the table down to the state slots; the title says
    # which key shows the log.
    async def ready(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SgltuiApp)
        await pilot.press("j")
        await until_shown(pilot, pilot.app, "FITS  173k tokens")

    assert snap_compare(SgltuiApp(story_core(tmp_path), where="gpu-box-7"), terminal_size=NARROW, run_before=ready)
