"""GPUs that a launch could be given: neighbours first, then other numbers of ranks; what the plan says, in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support.budgets import EXCEEDS, FITS, UNKNOWN
from tests.support.fake_core import gpu, holding
from tui.app.glyphs import UNICODE
from tui.app.gpu_words import choice_line, choice_name, choices_sentence
from tui.budget.types import MemoryBudget, Verdict
from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.launch.gpu_choices import GpuChoice, find_choices, judge_choices

FOUR = GpuReading((gpu(0, [holding(1, 80)]), gpu(1), gpu(2, [holding(2, 10)]), gpu(3)))


@pytest.mark.parametrize(
    ("ranks", "tensor", "expected"),
    [
        (1, 1, ["0", "1", "2", "3", "1,3 tp 2", "0,1,2,3 tp 4"]),  # the two emptiest are 1 and 3
        (2, 2, ["0,1", "2,3", "1 tp 1", "0,1,2,3 tp 4"]),
        (4, 2, ["0,1,2,3", "1,3 tp 1"]),  # two pipeline stages
        (8, 8, ["1 tp 1", "1,3 tp 2", "0,1,2,3 tp 4"]),
    ],
)
def test_what_there_is_to_choose_from(ranks: int, tensor: int, expected: list[str]) -> None:
    found = find_choices(FOUR, ranks, tensor)
    assert [one.typed + (f" tp {one.tensor}" if one.tensor else "") for one in found] == expected


def test_gpus_that_cannot_be_read_are_none_to_choose() -> None:
    broken = replace_memory(FOUR)
    assert [one.typed for one in find_choices(broken, 1, 1)][:3] == ["1", "2", "3"]


def replace_memory(reading: GpuReading) -> GpuReading:
    """The first GPU has fallen off the bus."""
    first, *others = reading.gpus
    lost = type(first)(first.index, first.uuid, first.name, None, problem="lost")
    return GpuReading((lost, *others))


def test_each_is_judged_and_one_that_cannot_be_planned_says_why() -> None:
    answers: dict[str, MemoryBudget] = {"0": EXCEEDS, "1": FITS, "2": UNKNOWN}

    def plan(choice: GpuChoice) -> MemoryBudget:
        if choice.typed not in answers:
            raise SgltuiError("these flags need 2 GPUs")
        return answers[choice.typed]

    judged = judge_choices([GpuChoice((index,)) for index in range(4)], plan)
    assert [one.verdict for one in judged] == [Verdict.EXCEEDS, Verdict.FITS, Verdict.UNKNOWN, None]
    assert judged[0].words == "4.0 GiB short (pools)"
    assert judged[1].words.endswith("10.5 GiB stay free")
    assert judged[2].words.startswith("can't tell")
    assert judged[3].words == "these flags need 2 GPUs"


def test_in_words() -> None:
    pair = GpuChoice((0, 1), 2)
    [one, two] = judge_choices(
        [GpuChoice((1,)), pair], lambda choice: replace(FITS, ranks=FITS.ranks * len(choice.gpus))
    )
    assert choice_name(pair) == "GPUs 0,1 with TP 2"
    assert "10.5 GiB stay free on each" in choice_line("b", two, 20, UNICODE).plain
    [line] = choices_sentence([one, two], 90, UNICODE)
    assert line.plain == "GPU 1: fits · GPUs 0,1 with TP 2: fits ── o chooses"
    assert choices_sentence([one], 90, UNICODE) == []
