"""Memory failures with their arithmetic: the story's log says what the budget says, and never a number it can't know.

The figures: 153,944,064 bytes a slot x 48 requests x 4 drafts = 27.53 GiB; at 0.8 the pools have
42.91 - 94.21 x 0.2 = 24.07 GiB.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.diagnosing import LOGS, QUIT, SCHEDULER, diagnose, upto
from tests.support.logs import FIXTURES
from tui.diagnosis.detective import Detective
from tui.diagnosis.diagnosis import Diagnosis, Ending
from tui.diagnosis.words import explain as in_words
from tui.launch.explain import Case, explain, judge
from tui.sglang.versions import parse_release

STORY = LOGS / "story-mamba-spec-pool.log"
CONFIG = FIXTURES / "configs" / "qwen3.6-27b.json"
NOT_ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def of_file(path: Path, *, model: Path | None = CONFIG, release: str | None = "0.5.11") -> Diagnosis:
    known = None if release is None else parse_release(release)
    return explain(Case(path, known, Ending(returncode=-9), model=None if model is None else str(model))).diagnosis


def of_text(text: str, model: Path | None = None) -> Diagnosis:
    detective = Detective(parse_release("0.5.11"))
    detective.feed(text.encode())
    detective.close()
    return judge(detective, Case(STORY, ending=Ending(returncode=-9), model=None if model is None else str(model)))


@pytest.mark.parametrize("model", [CONFIG, None])
def test_the_story_s_log_says_what_the_budget_says(model: Path | None) -> None:
    """Also where the model isn't here: its published config is known."""
    found = of_file(STORY, model=model)
    words = in_words(found)
    assert "48 requests x 4 draft tokens takes 27.53 GiB" in words
    assert "the pool has 24.07 GiB, 3.46 GiB short before the first KV token" in words
    assert "With speculation SGLang allows 48 requests unless --max-running-requests is given" in words
    assert "extra_buffer doesn't double the state" in words
    assert "The weights took 51.30 of 94.21 GiB" in words
    assert found.direction == "leave"
    assert ("published config" in words) == (model is None)


def test_what_would_have_helped() -> None:
    changes = of_file(STORY).changes
    assert changes[0].set == {"max-running-requests": 8}
    assert "8 requests at once" in changes[0].effect
    assert {"mamba-ssm-dtype": "bfloat16"} in [change.set for change in changes]
    assert "0.5.13" in [change.upgrade for change in changes]
    fractions = [place for place, change in enumerate(changes) if "mem-fraction-static" in change.set]
    assert fractions in ([], [len(changes) - 1])


def test_without_the_config_there_are_no_numbers_of_states() -> None:
    """Only what the log tells: another model, of which nothing is published here."""
    found = of_text(STORY.read_text().replace("Qwen/Qwen3.6-27B", "Somebody/Hybrid-9B"))
    words = in_words(found)
    assert "27.5" not in words
    assert "The weights took 51.30 of 94.21 GiB" in words
    assert "the pools had 24.07 GiB" in words
    assert [change.set or change.upgrade for change in found.changes] == [
        {"max-running-requests": 8},
        {"mamba-ssm-dtype": "bfloat16"},
        "0.5.13",
    ]
    assert found.direction == "leave"


def test_a_config_of_another_model_isn_t_used() -> None:
    """The folder may hold something else by now."""
    found = of_text(STORY.read_text().replace("Qwen/Qwen3.6-27B", "x/y"), FIXTURES / "configs" / "llama-3.1-8b.json")
    assert "27.5" not in in_words(found)


def test_512_requests_need_more_than_any_card_has() -> None:
    text = STORY.read_text().replace("max_running_requests=48", "max_running_requests=512")
    text = re.sub(r"\[.*Max running requests is reset.*\n", "", text)
    found = of_text(text, CONFIG)
    assert "512 requests x 4 draft tokens takes 293.6" in in_words(found)
    assert "can't help" in in_words(found)
    assert found.direction == "leave"
    assert found.changes[0].set["max-running-requests"] == 8


def test_a_dense_model_s_fraction_goes_up_where_the_weights_fit() -> None:
    lines = [*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT]
    low = [line.replace("mem_fraction_static=0.85", "mem_fraction_static=0.3") for line in lines]
    found = diagnose(low, returncode=-9)
    assert found.direction == "up"
    fraction = found.changes[0].set["mem-fraction-static"]
    assert isinstance(fraction, float)
    assert 1 - 60.0 / 94.21 < fraction <= 0.95  # what the weights need, and not more than a card can give


def test_a_dense_model_that_fills_the_card_needs_another_answer() -> None:
    lines = [*upto("memory pool"), *SCHEDULER, NOT_ENOUGH, "", QUIT]
    full = [
        line.replace("avail mem=60.0 GB, mem usage=34.2 GB", "avail mem=1.2 GB, mem usage=93.0 GB") for line in lines
    ]
    found = diagnose(full, returncode=-9)
    assert found.direction == "leave"
    assert [change.set for change in found.changes] == [{"tp-size": 2}]


@pytest.mark.parametrize("stage", ["cuda graph capture", "warmup", "runtime"])
def test_behind_the_pools_the_fraction_goes_down(stage: str) -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    found = diagnose([*upto(stage), *SCHEDULER, oom, "", QUIT], returncode=-9)
    assert found.direction == "down"
    fractions = [change.set["mem-fraction-static"] for change in found.changes if "mem-fraction-static" in change.set]
    assert fractions == [0.8]


def test_changes_never_go_against_the_direction() -> None:
    """All logs, with every model at hand."""
    for path in sorted(LOGS.glob("*.log")):
        found = replace(of_file(path, model=None, release=None))
        fraction = found.memory.get("mem_fraction_static")
        for change in found.changes:
            value = change.set.get("mem-fraction-static")
            if found.direction == "down" and isinstance(value, float) and isinstance(fraction, float):
                assert value < fraction, path
