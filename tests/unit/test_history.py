"""The attempts at a server, and which of them are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.launches import make_ended_launch, make_launch
from tests.support.logs import FIXTURES
from tui.keeper.states import State
from tui.launch.history import broken_records, missing_bytes, read_history
from tui.launch.prune import prune
from tui.launch.records import Machine, list_launches
from tui.paths import Places
from tui.units import GIB, MIB

COMMAND = ["python", "-m", "sglang.launch_server", "--model-path", "m"]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path / "state", config=tmp_path / "config")


def test_the_story_is_told_by_what_was_changed_from_one_attempt_to_the_next(places: Places) -> None:
    fraction = ["--mem-fraction-static", "0.80", "--port", "30000"]
    for changes in (
        fraction,
        ["--mem-fraction-static=0.90", "--port", "30001"],
        ["--mem-fraction-static", "0.9", "--max-running-requests", "512", "--tp", "2"],
        ["--max-running-requests", "8", "--tensor-parallel-size", "2"],
    ):
        make_ended_launch(places, state=State.FAILED, argv=[*COMMAND, *changes], sglang_version="0.5.11")
    make_ended_launch(places, argv=COMMAND, model="m2", sglang_version="0.5.23")
    changed = [attempt.changed for attempt in read_history(places, "one")]
    assert changed == [
        (),
        ("--mem-fraction-static 0.90",),
        ("--mem-fraction-static 0.9", "--max-running-requests 512", "--tensor-parallel-size 2"),
        ("--max-running-requests 8", "without --mem-fraction-static"),
        ("model m2", "SGLang 0.5.23", "without --max-running-requests", "without --tensor-parallel-size"),
    ]


def test_how_far_it_got_and_how_it_ended(places: Places) -> None:
    for recording in ("notenough", "clean"):
        records = make_launch(places)
        shutil.copy(FIXTURES / "real" / "0.5.11" / f"{recording}.log", records.files.log)
        records.end(State.FAILED if recording == "notenough" else State.STOPPED, was_ready=recording == "clean")
    failed, stopped = read_history(places, "one")
    assert (failed.stage, failed.was_ready, failed.state) == ("memory pool", False, State.FAILED)
    assert failed.cause is not None
    assert failed.cause.startswith("RuntimeError: Not enough memory.")
    assert (stopped.was_ready, stopped.state, stopped.short_bytes, stopped.cause) == (True, State.STOPPED, None, None)


def test_a_broken_attempt_hides_no_other_and_is_named(places: Places) -> None:
    make_ended_launch(places)
    make_ended_launch(places).files.launch.write_bytes(b"{")
    make_ended_launch(places)
    assert len(read_history(places, "one")) == 2
    [message] = broken_records(places, "one")
    assert "launch.json isn't a record of ours" in message


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity "
                "of 94.99 GiB of which 3.50 GiB is free. Including non-PyTorch memory\n"
            ),
            round(16.5 * GIB),
        ),
        (
            "Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 23.59 GiB of which 128.00 MiB is free.\n",
            384 * MIB,
        ),
        (
            "Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 23.59 GiB of which 0 bytes is free.\n",
            2 * MIB,
        ),
        # 20 - 80 x (1 - 0.7) = -4: the pool would be 4 GiB below nothing.
        (
            (
                "server_args=ServerArgs(mem_fraction_static=0.7, x=1)\nLoad weight begin. avail mem=80.00 GB\n"
                "Load weight end. elapsed=1.0 s, type=M, avail mem=20.00 GB, mem usage=60.00 GB.\n"
                "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
            ),
            4 * GIB,
        ),
        # There was something left for the pool; what a reserve took of it isn't in the log.
        (
            (
                "server_args={'mem_fraction_static': 0.9}\nLoad weight begin. avail mem=80.00 GB\n"
                "Load weight end. elapsed=1.0 s, avail mem=20.00 GB.\n"
                "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
            ),
            None,
        ),
        ("Load weight begin. avail mem=80.00 GB\nRuntimeError: something else\n", None),
    ],
)
def test_what_was_missing_by_the_figures_of_the_log(tmp_path: Path, text: str, missing: int | None) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    found = missing_bytes(log)
    assert found is None if missing is None else found == pytest.approx(missing, abs=MIB)
    assert missing_bytes(tmp_path / "none") is None


# Pruning ------------------------------------------------------------------------------------------------------------


def test_the_last_few_launches_are_kept(places: Places) -> None:
    for _ in range(5):
        make_ended_launch(places)
    before = list_launches(places, "one")
    assert prune(places, "one", 3) == [f"one/{launch}" for launch in before[:2]]
    assert list_launches(places, "one") == before[2:]
    assert sorted(path.name for path in (places.instances / "one").iterdir()) == [*before[2:], "current"]
    assert prune(places, "one", 3) == []


def test_what_somebody_was_deleting_when_he_was_killed_goes_with_the_next_launch(places: Places) -> None:
    make_ended_launch(places)
    half = places.instances / "one" / ".gone-20260101T000000Z-0001"
    half.mkdir()
    (half / "server.log").write_text("a long one")
    assert prune(places, "one", 3) == []
    assert not half.exists()


def test_a_launch_whose_pins_cannot_be_read_stays(places: Places) -> None:
    records = make_ended_launch(places)
    (records.files.directory / "pins.json").mkdir()
    make_ended_launch(places)
    assert prune(places, "one", 1) == []


def test_evidence_running_ones_and_other_machines_are_never_forgotten(places: Places) -> None:
    proof, plain = make_ended_launch(places), make_ended_launch(places)
    running = make_launch(places)
    elsewhere = make_ended_launch(places, machine=Machine("box-9", "f" * 32, "boot", "pid:[1]"))
    broken = make_ended_launch(places)
    broken.files.launch.write_bytes(b"{")
    make_ended_launch(places)
    preset = places.user_presets / "good.toml"
    preset.parent.mkdir(parents=True)
    evidence = f'[evidence]\nstatus = "verified"\nlaunch = "one/{proof.files.directory.name}"\n'
    preset.write_text('model = "m"\n' + evidence + "oops\n")
    assert prune(places, "one", 1) == [], "a preset that can't be read may name any of them"
    preset.write_text('model = "m"\n' + evidence)
    assert prune(places, "one", 1) == [f"one/{plain.files.directory.name}"]
    for kept in (proof, running, elsewhere, broken):
        assert kept.files.directory.exists()
