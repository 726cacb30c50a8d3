"""The shipped presets: honest, of flags that exist, fitting the GPUs that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui.budget.answer import to_json
from tui.budget.types import Verdict
from tui.launch.planning import Described, count_gpus, describe_cards, plan_launch
from tui.launch.spec import spec_from_preset
from tui.paths import Places
from tui.presets import (
    Preset,
    load_presets,
)
from tui.sglang.flags import RELEASES, load_inventory
from tui.sglang.versions import parse_release


def shipped() -> tuple[Preset, ...]:
    found = load_presets(Places(state=Path("/nowhere"), config=Path("/nowhere")))
    assert found.problems == ()
    return found.presets


@pytest.mark.parametrize("preset", shipped(), ids=lambda preset: preset.name)
def test_a_shipped_preset_is_honest_and_its_flags_exist(preset: Preset) -> None:
    assert preset.description
    assert preset.evidence is not None
    assert preset.evidence.sglang == preset.engine.sglang in RELEASES
    assert preset.evidence.status == "verified" or "not run on a GPU by us" in preset.evidence.note
    inventory = load_inventory(preset.engine.sglang or "")
    for name, value in preset.flags.items():
        known = inventory.find(f"--{name}")
        assert known is not None, name
        assert not known.deprecated
        assert known.choices is None or value in known.choices


@pytest.mark.parametrize("preset", shipped(), ids=lambda preset: preset.name)
def test_a_shipped_preset_fits_the_gpus_that_it_names(preset: Preset) -> None:
    """Planned from the published config alone, as for somebody who hasn't downloaded anything yet."""
    assert preset.evidence is not None
    match = re.fullmatch(r"(.+), (\d+) MiB( each)?", preset.evidence.gpu or "")
    assert match is not None
    spec, release = spec_from_preset(preset), parse_release(preset.engine.sglang or "")
    count = count_gpus(spec, release)
    assert count == (preset.evidence.gpus or 1)
    cards = describe_cards(Described(match[1], int(match[2]), None, count))
    budget = plan_launch(spec, release, cards, int(match[2]), hub=Path("/nowhere"))
    assert budget.verdict in (Verdict.FITS, Verdict.TIGHT), budget.reason
    assert any("isn't downloaded" in note for note in budget.notes)
    planned = to_json(budget)
    told = re.search(r"\((\d+\.\d) GiB free at start: (\d+) thousand tokens\)", preset.evidence.note)
    assert told is not None
    assert float(told[1]) == pytest.approx(planned["avail_before_gib"], abs=0.06)
    assert int(told[2]) == round(planned["kv"]["tokens"] / 1000)
    assert planned["max_running_requests"] == preset.flags["max-running-requests"]


def test_what_is_shipped_covers_what_people_run() -> None:
    flags = {preset.name: preset.flags for preset in shipped()}
    assert (flags["qwen36-27b-mtp"]["max-running-requests"], flags["qwen36-27b-mtp"]["mem-fraction-static"]) == (8, 0.8)
    assert len(flags) >= 12
    tensor = {
        value for given in flags.values() for name, value in given.items() if name.startswith("t") and "size" in name
    }
    assert tensor == {2, 4, 8}
    assert {given["speculative-algorithm"] for given in flags.values() if "speculative-algorithm" in given} == {
        "EAGLE",
        "EAGLE3",
    }
    assert {preset.engine.sglang for preset in shipped()} == {"0.5.11", "0.5.23"}
