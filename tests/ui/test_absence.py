"""What is said where something isn't there, or isn't right: what it is, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.fake_core import EMPTY, FakeCore, gpu, instance, story
from tests.support.screen import NARROW, STORY, running, screen_lines, screen_text, until, until_shown
from tui.app.app import SgltuiApp
from tui.errors import RefusedError
from tui.gpu import GpuProblem, GpuReading
from tui.keeper.states import State
from tui.observe import BrokenRecord, Snapshot

ONE_GPU = Snapshot(GpuReading((gpu(0),), driver="580.159"), ())
SIZES = [NARROW, STORY]


def words(app: SgltuiApp) -> str:
    """The whole screen as one line: where a sentence is wrapped doesn't matter."""
    return " ".join(screen_text(app).split())


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_run_says_what_can_be_done(size: tuple[int, int]) -> None:
    async with running(FakeCore(ONE_GPU), size=size) as (app, pilot):
        await until_shown(pilot, app, "✓ SGLang 0.5.11 of /opt/sglang/bin/python runs them")
        text = words(app)
        assert "No servers yet. Press a to launch one from a preset." in text
        assert "a shows what a preset takes here before anything starts" in text
        assert "sgltui preset import makes a preset of the command line that you use today" in text
        assert "sgltui demo is this screen over simulated GPUs and servers" in text
        assert "Nothing is selected. The launch form shows what a preset takes before it is launched." in text


@pytest.mark.parametrize("size", SIZES)
async def test_without_sglang_it_says_so_before_anything_is_launched(size: tuple[int, int]) -> None:
    core = FakeCore(ONE_GPU)
    hint = "pip install sglang into one and name it in config.toml, or say in the preset which one is to be used"
    core.runs = RefusedError("no Python with SGLang found", hint)
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "✗ no Python with SGLang found")
        assert hint in words(app)
        rows = screen_lines(app)
        start = next(number for number, row in enumerate(rows) if "pip install" in row)
        if size == NARROW:
            assert rows[start + 1].startswith("   "), "what is wrapped goes on under its first word"


async def test_who_may_only_read_is_not_told_to_launch() -> None:
    core = FakeCore(ONE_GPU)
    core.runs = RefusedError("nobody asked", "")
    async with running(core, read_only=True) as (app, pilot):
        await until_shown(pilot, app, "No servers yet.")
        assert "Press a" not in screen_text(app)
        assert "nobody asked" not in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "problem",
    [
        GpuProblem("no NVIDIA driver found (libnvidia-ml.so.1 is missing)", "install the driver, or try `sgltui demo`"),
        GpuProblem(
            "the NVIDIA driver finds no GPU", "see `nvidia-smi -L`; a container or a batch job must ask for GPUs"
        ),
    ],
    ids=["no driver", "no GPU"],
)
async def test_without_gpus_the_rest_works(tmp_path: Path, size: tuple[int, int], problem: GpuProblem) -> None:
    core = FakeCore(replace(story(tmp_path), gpus=GpuReading(problem=problem)))
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, f"✗ {problem.what}")
        assert problem.hint in words(app)
        assert "qwen36-mtp" in screen_text(app)


async def test_without_presets_the_form_says_how_to_get_one() -> None:
    async with running(FakeCore(ONE_GPU), size=NARROW) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, app, "No presets yet.")
        assert "`sgltui preset import` makes one from a" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_dead_keeper_says_what_gives_it_a_new_one(size: tuple[int, int]) -> None:
    core = FakeCore(replace(ONE_GPU, instances=(instance("alone", State.READY, attended=False),)))
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "not attended (sgltui adopt)")


@pytest.mark.parametrize("size", SIZES)
async def test_a_record_of_another_host_is_left_alone(size: tuple[int, int]) -> None:
    far = instance("far", State.READY, local=False, host="gpu-box-9", memory_bytes=None)
    async with running(FakeCore(replace(ONE_GPU, instances=(far,))), size=size) as (app, pilot):
        await until_shown(pilot, app, "on gpu-box-9: shown, left alone")
        assert "It was launched on gpu-box-9, and its GPUs can't be seen from here" in words(app)
        await pilot.press("x")
        await until_shown(pilot, app, "far runs on gpu-box-9; end it there")


@pytest.mark.parametrize("size", SIZES)
async def test_a_broken_record_says_which_file_and_what_to_do(size: tuple[int, int]) -> None:
    message = (
        "/home/me/.local/state/sgltui/instances/old/7/launch.json isn't a record of ours; move its directory aside"
    )
    core = FakeCore(replace(ONE_GPU, broken=(BrokenRecord("old", message),)))
    async with running(core, size=size) as (app, pilot):
        await until_shown(pilot, app, "✗ broken record")
        await until_shown(pilot, app, "nobody can tell what was launched")
        assert message in words(app)


async def test_a_state_folder_that_cannot_be_written_is_said_where_the_launch_was_asked_for() -> None:
    core = FakeCore(EMPTY)
    async with running(core, size=NARROW) as (app, pilot):
        core.now = RefusedError("/home/me/.local/state/sgltui can't be read: Permission denied", "check its owner")
        app._sampler.look_now()
        await until(pilot, lambda: "No new figures" in screen_text(app), "the trouble")
        assert "check its owner" in words(app)
