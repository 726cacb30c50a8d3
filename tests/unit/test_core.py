"""What the UI asks of the product, on a simulated machine: plans in two steps, GPUs compared, presets saved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.launches import make_launch
from tui.app.core import Adjusted, LaunchRequest
from tui.budget.types import Verdict
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.errors import UsageError
from tui.gpu.open import open_reader
from tui.keeper.states import State
from tui.launch.gpu_choices import GpuChoice
from tui.launch.records import GivenGpu
from tui.paths import Places
from tui.presets import load_presets
from tui.presets.proof import Standing
from tui.settings import Settings
from tui.sglang.edit import FlagEdit
from tui.simulator.machine import Machine as SimulatedMachine

WORDS = (
    "--model-path Qwen/Qwen3.6-27B --port 31000 --mem-fraction-static 0.8 --speculative-algorithm EAGLE "
    "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 "
    "--mamba-scheduler-strategy extra_buffer"
)
MANY, FEW = FlagEdit((("max-running-requests", ("64",)),)), FlagEdit((("max-running-requests", ("8",)),))


@pytest.fixture
def context(make_machine: Callable[..., SimulatedMachine]) -> Context:
    machine = make_machine()
    places = Places(machine.directory / "state", machine.directory / "config", machine.directory)
    return Context(places, Settings(), open_reader(places))


@pytest.fixture
def story(context: Context) -> Adjusted:
    """The story's launch, as it failed on GPU 0."""
    gpu = context.reader.read().gpus[0]
    argv = ["python", "-m", "sglang.launch_server", *WORDS.split(), "--api-key", "***"]
    given = [GivenGpu(gpu.index, gpu.uuid, gpu.name)]
    records = make_launch(
        context.places, "story", argv=argv, model="Qwen/Qwen3.6-27B", gpus=given, sglang_version="0.5.11"
    )
    records.end(State.FAILED)
    return Adjusted("story", records.files.directory.name)


def test_the_budget_is_the_same_with_and_without_the_changes_that_are_looked_for(
    context: Context, story: Adjusted
) -> None:
    core, reading = LocalCore(context), context.reader.read()
    about = Adjusted(story.name, story.launch, MANY)
    first = core.plan(about, reading, changes=False)
    assert (first.verdict, first.changes) == (Verdict.EXCEEDS, ())
    whole = core.plan(about, reading)
    assert whole.changes[0].set == {"max-running-requests": "8"}
    assert (whole.reason, whole.ranks) == (first.reason, first.ranks)
    assert core.plan(about, reading, changes=False).changes == ()


def test_gpus_are_compared_whatever_was_chosen(context: Context, story: Adjusted) -> None:
    core, reading = LocalCore(context), context.reader.read()
    judged = core.gpu_choices(Adjusted(story.name, story.launch, MANY, gpus="1"), reading)
    assert [one.choice for one in judged] == [GpuChoice((0,)), GpuChoice((1,)), GpuChoice((0, 1), 2)]
    assert [one.verdict for one in judged] == [Verdict.EXCEEDS, Verdict.EXCEEDS, Verdict.FITS]
    assert judged[0].words.endswith("GiB short (pools)")
    assert judged[2].words.endswith("GiB stay free on each")
    few = core.gpu_choices(Adjusted(story.name, story.launch, FEW), reading)
    assert few[0].verdict is Verdict.FITS


def test_gpus_chosen_with_another_number_of_ranks_are_kept(context: Context) -> None:
    """An edit lets the GPUs go that a preset names, not those that a person has just chosen."""
    core, reading = LocalCore(context), context.reader.read()
    edit = FlagEdit((("tp-size", ("2",)),))
    budget = core.plan(LaunchRequest("qwen3-8b", gpus="1,0", edit=edit), reading)
    assert [card.index for card in budget.cards] == [1, 0]


def test_a_launch_is_saved_as_a_preset_and_the_earlier_version_is_kept(context: Context, story: Adjusted) -> None:
    core = LocalCore(context)
    address = f"{story.name}/{story.launch}"
    draft = core.draft_preset(address, "mine")
    assert draft.file.before is None
    assert any("proves nothing" in note for note in draft.proven.notes)
    assert core.save_preset(draft) is None
    saved = next(one for one in load_presets(context.places).presets if one.name == "mine")
    assert saved.flags["mem-fraction-static"] == 0.8
    assert "***" not in draft.file.text
    assert core.standings([saved])["mine"][0] is Standing.UNTESTED
    draft.file.path.write_text('model = "Qwen/Qwen3-8B"  # by hand\n')
    again = core.draft_preset(address, "mine")
    assert '-model = "Qwen/Qwen3-8B"  # by hand' in again.file.diff
    kept = core.save_preset(again)
    assert kept is not None
    assert "by hand" in kept.read_text()
    with pytest.raises(UsageError, match="can't be a preset's name"):
        core.draft_preset(address, "../x")
