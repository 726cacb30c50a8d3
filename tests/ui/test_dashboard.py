"""The dashboard as a person meets it: what is on the screen, and when it is painted."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from tests.support.fake_core import EMPTY, FakeCore, gpu, instance, story, uuid
from tests.support.screen import NARROW, STORY, WIDE, look, running, screen_lines, screen_text, until, until_shown
from tui.app.messages import SnapshotTaken
from tui.app.screens.dashboard import Dashboard
from tui.app.widgets.instance_table import InstanceTable
from tui.diagnosis.progress import Progress, Stage
from tui.errors import SgltuiError
from tui.gpu import GpuProblem, GpuReading
from tui.keeper.states import State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import BrokenRecord, Snapshot

HOSTILE = "[/x] [bold]b[/] \x1b]0;pwned\x07\x9b31m\r\n \u202e漢字 \udc80"


async def test_the_story_is_on_the_screen(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        text = screen_text(app)
        for words in (
            "sgltui · gpu-box-7",
            "driver 580.159 · 2 GPUs",
            "0 RTX PRO 6000  AAAAA",
            "73.2 / 95.6 GiB   97 %   71 °C   512 W",
            "A qwen36-mtp 71.8   B llama8b 18.0   ? GPU 0: python3, pid 3321, user bob 0.8   x reserved 1.2",
            "◐ loading 12/29",
            "weights",
            "● ready",
            "✗ FAILED pool",
            "512 requests need 294 GiB of state, the pool has 38",
            "Log ▸ llama8b/20261129T191001Z-0001 ── following",
        ):
            assert words in text, words
        assert "simulated" not in text.lower()
        assert "read-only" not in text


async def test_the_living_come_first_and_the_newest_first_among_them(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    old = instance("ancient", State.READY, launch="20250101T000000Z-0001")
    core = FakeCore(replace(snapshot, instances=(old, *snapshot.instances[::-1])))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "ancient")
        text = screen_text(app)
        places = [re.search(rf"^ .. +{name} ", text, re.MULTILINE) for name in _NAMES]
        starts = [place.start() for place in places if place is not None]
        assert len(starts) == len(_NAMES)
        assert starts == sorted(starts)


_NAMES = ("llama8b", "qwen36-mtp", "ancient", "qwen36-512")


async def test_only_a_different_snapshot_is_posted_and_repaints(tmp_path: Path) -> None:
    seen: list[Message] = []
    core = FakeCore(story(tmp_path))
    async with running(core, hook=seen.append) as (app, pilot):
        looks = core.looks
        for _ in range(3):
            looks = core.looks
            app._sampler.look_now()
            await until(pilot, lambda: core.looks > looks, "another look")  # noqa: B023 the loop waits for it
        taken = [message for message in seen if isinstance(message, SnapshotTaken)]
        assert len({id(message) for message in taken}) == 1
        assert taken[0].snapshot == core.now


async def test_the_cursor_stays_on_its_server(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await pilot.press("down")
        table = app.screen.query_one(InstanceTable)
        assert table.selected == "qwen36-mtp"
        # A newcomer above it, and another one dies below: the selection doesn't move to somebody else.
        assert isinstance(core.now, Snapshot)
        newcomer = instance("newest", State.STARTING, launch="20261130T000000Z-0001")
        core.now = replace(core.now, instances=(*core.now.instances, newcomer))
        await look(pilot, app, core)
        assert table.selected == "qwen36-mtp"
        assert re.search(r"▸A +qwen36-mtp", screen_text(app))
        # When it is gone itself, whoever stands in its place is selected.
        core.now = replace(core.now, instances=tuple(one for one in core.now.instances if one.name != "qwen36-mtp"))
        await look(pilot, app, core)
        assert table.selected == "qwen36-512"


async def test_a_snapshot_right_behind_a_key_does_not_undo_it(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        table = app.screen.query_one(InstanceTable)
        table.action_cursor_down()
        assert app.snapshot is not None
        table.show(app.snapshot, {})  # before the table has handled its own news of the move
        await pilot.pause()
        assert table.selected == "qwen36-mtp"
        assert table.cursor_row == 1
        await until_shown(pilot, app, "Log ▸ qwen36-mtp")


async def test_nothing_read_yet_is_said(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    core.look_gate.clear()
    app_lines: list[str] = []
    async with running(core, wait=False) as (app, pilot):
        await pilot.pause()
        app_lines = [line for line in screen_lines(app) if "reading…" in line]
        core.look_gate.set()
        await until_shown(pilot, app, "qwen36-mtp")
        assert "reading…" not in screen_text(app)
        assert "no log" not in screen_text(app)
    assert len(app_lines) == 4  # GPUs, servers, budget and log


async def test_no_servers_says_what_to_do() -> None:
    async with running(FakeCore(replace(EMPTY, gpus=GpuReading((gpu(0),), driver="580.159")))) as (app, pilot):
        await until_shown(pilot, app, "No servers yet. Press a to launch one from a preset.")
        assert "driver 580.159 · 1 GPU" in screen_text(app)
        await pilot.press("x")
        await until_shown(pilot, app, "no server is selected")


async def test_a_gpu_problem_stands_in_the_panels_place() -> None:
    problem = GpuProblem(
        "NVML can't talk to the driver (Driver/library version mismatch)", "reboot, or reload the module"
    )
    async with running(FakeCore(Snapshot(GpuReading(problem=problem), ()))) as (app, pilot):
        await until_shown(pilot, app, f"✗ {problem.what}")
        assert problem.hint in screen_text(app)


async def test_one_broken_gpu_says_so_in_its_line(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    first, second = snapshot.gpus.gpus
    lost = replace(second, memory=None, problem="GPU is lost: reboot, and look for Xid 79 in dmesg")
    core = FakeCore(replace(snapshot, gpus=replace(snapshot.gpus, gpus=(first, lost))))
    async with running(core, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "1 RTX PRO 6000  ✗ GPU is lost: reboot, and look for Xid 79")
        assert "73.2 / 95.6 GiB" in screen_text(app)


async def test_a_failing_look_is_said_and_ends_nothing(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    good = core.now
    async with running(core) as (app, pilot):
        core.now = SgltuiError("the state folder can't be read: /x", "check its permissions")
        app._sampler.look_now()
        await until_shown(pilot, app, "✗ No new figures: the state folder can't be read: /x; check its permissions")
        assert "qwen36-mtp" in screen_text(app)  # what is known stays
        core.now = ZeroDivisionError("surprise [/x]")
        app._sampler.look_now()
        await until_shown(pilot, app, "ZeroDivisionError: surprise [/x]; this is a bug in sgltui")
        core.now = good
        app._sampler.look_now()
        await until(pilot, lambda: "No new figures" not in screen_text(app), "the trouble is over")


async def test_a_stop_counts_its_seconds_in_one_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = instance("a", State.STOPPING, phase="draining", phase_s=11.2)
    core = FakeCore(Snapshot(story(tmp_path).gpus, (stopping,)))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "draining 11 s")
        painted: list[str] = []
        refresh = InstanceTable.refresh

        def recording(table: InstanceTable, *regions: Region, **how: bool) -> Widget:
            refreshed = refresh(table, *regions, **how)
            for region in regions or (table.size.region,):
                painted.extend(strip.text for strip in table.render_lines(region))
            return refreshed

        monkeypatch.setattr(InstanceTable, "refresh", recording)
        for phase_s in (11.9, 12.1):
            core.now = Snapshot(story(tmp_path).gpus, (replace(stopping, phase_s=phase_s),))
            await look(pilot, app, core)
        await until_shown(pilot, app, "draining 12 s")
        assert [text.rstrip() for text in painted] == ["draining 12 s"]


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_the_log_title_says_how_the_server_is(tmp_path: Path, *, ascii_only: bool) -> None:
    rule = "--" if ascii_only else "──"
    snapshot = story(tmp_path)
    snapshot.instances[2].log_path.write_text("".join(f"line {number}\n" for number in range(100)))
    async with running(FakeCore(snapshot), ascii_only=ascii_only) as (app, pilot):
        await until_shown(pilot, app, f"llama8b/20261129T191001Z-0001 {rule} following")
        await pilot.press("l")
        await until_shown(pilot, app, f"{rule} loading 12/29 :30001 {rule} following")
        await pilot.press("escape", "G")
        await until_shown(pilot, app, f"qwen36-512/20261129T161001Z-0003 {rule} FAILED pool ")
        assert "following" not in screen_text(app)
        await pilot.press("3", "g")
        await until_shown(pilot, app, f"{rule} FAILED pool {rule} G goes to its end, 100 lines")


async def test_80_columns_say_the_port_in_the_log_title(tmp_path: Path) -> None:
    snapshot = story(tmp_path)
    long = replace(snapshot.instances[0], name="a-server-with-quite-a-long-name-for-so-few-columns")
    async with running(FakeCore(replace(snapshot, instances=(long,))), size=NARROW) as (app, pilot):
        await pilot.press("3")
        await until_shown(pilot, app, "── ready :30000 ── following")
        assert "Log ▸ a-server-" in screen_text(app)


async def test_unattended_foreign_and_lost_servers_say_so(tmp_path: Path) -> None:
    instances = (
        instance("alone", State.READY, attended=False),
        instance("far", State.READY, local=False, host="gpu-box-9", memory_bytes=None),
        instance("gone", State.LOST),
        instance("half", State.LOADING, attended=False, progress=Progress(Stage.CUDA_GRAPH_CAPTURE, 3, 23)),
    )
    async with running(FakeCore(Snapshot(story(tmp_path).gpus, instances))) as (app, pilot):
        await until_shown(pilot, app, "on gpu-box-9: shown, left alone")
        text = screen_text(app)
        assert re.search(r"alone +● ready .* not attended", text)
        assert re.search(r"half +◐ loading 3/23 .* graphs, not attended", text)
        assert re.search(r"gone +\? LOST .* gone, nobody saw how", text)
        await pilot.press("j", "j")
        assert app.screen.query_one(InstanceTable).selected == "half"


async def test_text_from_outside_is_shown_as_it_is(tmp_path: Path) -> None:
    evil = instance(HOSTILE, State.FAILED, cause=HOSTILE, host=HOSTILE, launch="[/]", log_path=tmp_path / "no\nlog")
    foreign = replace(gpu(0, name=HOSTILE), problem=None)
    process = replace(story(tmp_path).gpus.gpus[0].processes[1], command=f"/bin/{HOSTILE}", user=HOSTILE)
    reading = GpuReading((replace(foreign, processes=(process,)),), driver=HOSTILE)
    core = FakeCore(
        Snapshot(reading, (evil, replace(evil, name="far", local=False)), (BrokenRecord(HOSTILE, HOSTILE),))
    )
    for size in (STORY, NARROW, WIDE):
        async with running(core, size=size) as (app, pilot):
            await until_shown(pilot, app, "FAILED")
            await pilot.press("j", "l", "escape", "question_mark", "escape", "x")
            text = screen_text(app)
            assert "[/x]" in text
            assert r"\x1b" in text
            assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("size", [(60, 16), NARROW, STORY, WIDE])
async def test_numbers_are_never_cut(tmp_path: Path, size: tuple[int, int]) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        text = screen_text(app)
        for number in ("73.2 / 95.6 GiB", "18.6 / 95.6 GiB", " 71.8", " 18.0", "12/29"):
            assert number in text
        for cut in re.findall(r"\S+…", text):
            assert not re.search(r"\d…$", cut), cut
        assert max(len(line) for line in screen_lines(app)) <= size[0]


@pytest.mark.parametrize("size", [(59, 24), (80, 15), (20, 4)])
async def test_too_small_is_one_line(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(FakeCore(story(tmp_path)), size=size) as (app, pilot):
        await pilot.pause()
        words = " ".join(screen_text(app).split())
        assert words == f"{size[0]}x{size[1]} is too small: sgltui needs 60x16"
        await pilot.resize_terminal(80, 24)
        await until_shown(pilot, app, "qwen36-mtp")


async def test_simulated_is_said() -> None:
    core = FakeCore(Snapshot(GpuReading((gpu(0),), simulated=True), ()))
    for size in (STORY, NARROW, (60, 16)):
        async with running(core, size=size) as (app, pilot):
            await until_shown(pilot, app, "SIMULATED")


async def test_ascii_mode_is_ascii(tmp_path: Path) -> None:
    core = FakeCore(replace(story(tmp_path), broken=(BrokenRecord("naïve", "…"),)))
    async with running(core, ascii_only=True, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "qwen36-512")
        assert re.search(r"\|A+\?x\.+\|", screen_text(app))
        assert screen_text(app).isascii()
        for keys in (["a"], ["x"], ["question_mark"]):
            await pilot.press(*keys)
            await until(pilot, lambda: not isinstance(app.screen, Dashboard), "a dialogue")
            assert screen_text(app).isascii()
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, Dashboard), "the dashboard again")


async def test_many_gpus_and_a_server_over_all_of_them() -> None:
    reading = GpuReading(tuple(gpu(index, name="NVIDIA H200") for index in range(8)))
    whole = instance("deepseek", State.READY, gpus=tuple(uuid(index) for index in range(8)))
    async with running(FakeCore(Snapshot(reading, (whole,))), size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "7 H200")
        assert re.search(r"deepseek +● ready +0-7", screen_text(app))


async def test_only_the_line_that_changed_is_painted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "97 %")
        painted: list[Widget] = []
        refresh = Widget.refresh

        def recording(widget: Widget, *regions: Region, **how: bool) -> Widget:
            painted.append(widget)
            return refresh(widget, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", recording)
        assert isinstance(core.now, Snapshot)
        first, second = core.now.gpus.gpus
        busy = replace(second, utilization_percent=55)
        core.now = replace(core.now, gpus=replace(core.now.gpus, gpus=(first, busy)))
        await look(pilot, app, core)
        await until_shown(pilot, app, "55 %")
        assert [type(widget).__name__ for widget in painted] == ["TextLines"]


async def test_a_reader_that_hangs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.bridge._STALLED_AFTER_S", 0.0)
    core = FakeCore(story(tmp_path))
    async with running(core) as (app, pilot):
        core.look_gate.clear()
        app._sampler.look_now()
        await until_shown(pilot, app, "✗ No new figures: the machine hasn't answered for seconds")
        core.look_gate.set()
        await until(pilot, lambda: "No new figures" not in screen_text(app), "it answered")


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({}, "sgltui-dark"),
        ({"COLORFGBG": "0;15"}, "sgltui-light"),
        ({"COLORFGBG": "15;default;0"}, "sgltui-dark"),
        ({"NO_COLOR": "1"}, "sgltui-dark-mono"),
        ({"TEXTUAL_THEME": "nord", "NO_COLOR": "1"}, "nord"),
        ({"TEXTUAL_THEME": "no-such-theme"}, "sgltui-dark"),
        ({"TEXTUAL_THEME": "ansi-dark"}, "ansi-dark"),
        ({"TEXTUAL_THEME": "ansi-light"}, "ansi-light"),
        ({"TEXTUAL_THEME": "ansi-light", "NO_COLOR": "1"}, "sgltui-light-mono"),
    ],
)
async def test_themes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], theme: str) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        assert app.theme == theme
        await until_shown(pilot, app, "FAILED")
        app.theme = "gruvbox"  # a theme that knows nothing of our colours
        await pilot.pause()
        assert "FAILED" in screen_text(app)


async def test_what_a_server_does_now_stands_in_its_row(tmp_path: Path) -> None:
    core = FakeCore(story(tmp_path))
    at = datetime(2026, 11, 29, 17, 12, tzinfo=UTC)
    live = LiveMetrics(
        at=at, source=Source.METRICS, running=6, queued=0, tokens_per_s=412.4, kv_usage=0.314, slot_usage=0.75
    )
    first, *others = story(tmp_path).instances
    core.now = replace(story(tmp_path), instances=(replace(first, live=live), *others))
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "run/queue")
        assert re.search(r"qwen36-mtp +● ready .* 6 / 0 +412 +31 % +75 %", screen_text(app))
        assert "512 requests need 294 GiB…" in screen_text(app), "the last word keeps its number"
    async with running(core, size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "slots")
        text = screen_text(app)
        assert re.search(r"qwen36-mtp +● ready .* 6 / 0 +412 +31 % +75 %", text)
        assert re.search(r"llama8b .* 41 s +- +- +- +- +weights", text)
    dense = replace(live, slot_usage=None)
    core.now = replace(story(tmp_path), instances=(replace(first, live=dense), *others))
    async with running(core, size=WIDE) as (app, pilot):
        await until_shown(pilot, app, "tok/s")
        assert "slots" not in screen_text(app), "no server has any"
    async with running(core, size=NARROW) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        assert "tok/s" not in screen_text(app)
        assert max(len(line) for line in screen_lines(app)) <= NARROW[0]


async def test_t_tests_a_ready_server(tmp_path: Path) -> None:
    async with running(FakeCore(story(tmp_path))) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        await pilot.press("t")
        await until_shown(pilot, app, "llama8b isn't ready: it is loading")
        await pilot.press("j", "t")
        await until_shown(pilot, app, "qwen36-mtp answers, first token after 0.21 s, 41 tokens/s")


async def test_a_log_that_grew_is_painted_with_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.widgets.log_panel.LogPanel._look", lambda _: None)  # it looks by itself, too
    core = FakeCore(snapshot := story(tmp_path))
    log = snapshot.instances[1].log_path
    log.write_text("before\n")
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "before")
        with log.open("a") as file:
            file.write("and after\n")
        core.now = replace(snapshot, gpus=replace(snapshot.gpus, driver="580.160"))
        await look(pilot, app, core)
        await until_shown(pilot, app, "and after")
