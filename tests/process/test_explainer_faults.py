"""The explainer is killed, or has no disk, just as it writes: its keeper goes on, and the next one has the whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from tests.process.test_restart import FAIL
from tests.support.disk import full, small_disk
from tests.support.keeping import Keeping, Kept, is_running
from tests.support.steps import Steps
from tests.support.waiting import wait_until

STEP = "explainer-writes"


def launch_failing(keeping: Keeping, steps: Steps) -> tuple[Kept, int]:
    """A launch that has failed, and its explainer, about to write."""
    steps.hold(STEP)
    kept = keeping.launch(FAIL)
    return kept, steps.reached(STEP, kept.trouble())


def assert_keeper_has_gone_on(kept: Kept) -> None:
    kept.wait_for("failed")
    wait_until(lambda: kept.exit().get("stop"))
    assert kept.exit()["stop"]["survivors"] == []
    wait_until(lambda: not kept.read().is_attended)


def explain(kept: Kept) -> tuple[int, str]:
    words = [sys.executable, "-m", "tui.launch.explain", str(kept.files.directory)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def files_of(kept: Kept) -> set[str]:
    return {path.name for path in kept.files.directory.iterdir() if "diagnosis" in path.name}


def assert_explained(kept: Kept) -> None:
    assert explain(kept) == (0, "")
    assert json.loads((kept.files.directory / "diagnosis.json").read_bytes())["outcome"] == "failed"


def test_an_explainer_that_is_killed(keeping: Keeping, steps: Steps) -> None:
    kept, explainer = launch_failing(keeping, steps)
    os.kill(explainer, signal.SIGKILL)
    steps.release(STEP)
    assert_keeper_has_gone_on(kept)
    assert files_of(kept) == set()
    assert_explained(kept)


def test_an_explainer_without_space(keeping: Keeping, steps: Steps) -> None:
    keeping.places.state.mkdir(parents=True)
    with small_disk(keeping.places.state, "64k"):
        kept, explainer = launch_failing(keeping, steps)
        assert_keeper_has_gone_on(kept)
        with full(keeping.places.state):
            steps.release(STEP)
            wait_until(lambda: not is_running(explainer))
            assert files_of(kept) == set(), "neither a part of it, nor a temporary file"
            status, said = explain(kept)
            assert (status, "No space left" in said) == (1, True)
            assert kept.state == "failed"
        assert_explained(kept)
        keeping.clean_up()
        keeping.launched.clear()


def test_a_part_that_a_killed_one_left_is_in_nobodys_way(keeping: Keeping) -> None:
    """Killed between the first byte and the rename."""
    kept = keeping.launch(FAIL)
    part = kept.files.directory / ".diagnosis.json.x1"
    part.write_text('{"schema": 1, "outc')
    assert_keeper_has_gone_on(kept)
    assert_explained(kept)
