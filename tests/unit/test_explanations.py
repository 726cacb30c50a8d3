"""Explanations for a front end: bounded looks at a growing log, the kept diagnosis of an ended launch, no secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.explanations import ROOT_TEXT, STORY_LOG
from tests.support.launches import make_launch
from tui.diagnosis.classes import NONE
from tui.gpu import GpuReading
from tui.keeper.records import LaunchRecords
from tui.keeper.states import State
from tui.launch import explanations
from tui.launch.explain import write_diagnosis
from tui.launch.explanation import Mark
from tui.launch.explanations import Explanations
from tui.launch.finding import read_finding
from tui.launch.history import read_history
from tui.launch.records import read_launch
from tui.observe import Observer
from tui.paths import Places

GPUS = GpuReading()


class _NoGpus:
    """No machine."""

    def read(self) -> GpuReading:
        return GPUS

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path / "state", config=tmp_path / "config", simulated=tmp_path)


def failed(places: Places, log: bytes, name: str = "one") -> LaunchRecords:
    """A launch that failed with this log, before anybody explained it."""
    records = make_launch(places, name, sglang_version="0.5.11")
    records.files.log.write_bytes(log)
    records.end(State.FAILED, returncode=-9, killed_by="itself")
    return records


def address(records: LaunchRecords) -> str:
    return read_launch(records.files.directory).address


def test_an_ended_launch_is_explained_from_what_was_kept(places: Places) -> None:
    records = failed(places, STORY_LOG.read_bytes())
    asked = Explanations(places)
    computed = asked.explain(address(records), GPUS)
    write_diagnosis(records.files.directory, places)
    kept = asked.explain(address(records), GPUS)
    assert kept.is_settled
    assert computed.is_settled
    assert kept.answer.root_text == computed.answer.root_text == ROOT_TEXT
    assert (kept.answer.changes, kept.answer.brief) == (computed.answer.changes, computed.answer.brief)
    assert kept.marks == computed.marks
    # The offset is that of line 37, to which a viewer jumps without counting.
    assert kept.root_offset is not None
    assert STORY_LOG.read_bytes()[kept.root_offset :].startswith(ROOT_TEXT.encode())
    assert [quote.number for quote in kept.quotes if quote.mark is Mark.ROOT] == [37]
    # It was really read, not computed: the file says something else now.
    document = json.loads(records.files.diagnosis.read_bytes())
    records.files.diagnosis.write_text(json.dumps(document | {"brief": "by hand"}))
    assert asked.explain(address(records), GPUS).answer.brief == "by hand"
    asked.close()


def test_the_last_word_follows_the_kept_diagnosis(places: Places) -> None:
    records = failed(places, STORY_LOG.read_bytes())
    observer = Observer(places, _NoGpus())
    assert observer.observe().instances[0].cause == ROOT_TEXT
    write_diagnosis(records.files.directory, places)
    words = "state for drafts 27.5 GiB, the pools have 24.1"
    assert observer.observe().instances[0].cause == words
    (attempt,) = read_history(places, "one")
    assert attempt.cause == words
    assert attempt.short_bytes == pytest.approx(3.46 * 2**30, abs=2**24)


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"{",
        b'{"schema": 2, "state": "failed", "brief": "newer"}',
        b'{"schema": 1, "state": "ready", "brief": "of when it became ready"}',
        b'{"schema": 1, "state": "flying", "brief": "no such state"}',
        b'{"schema": 1, "state": "failed", "brief": 5}',
        b"[" * 100_000,
        b"\xff" * 100,
    ],
)
def test_a_diagnosis_that_can_t_be_read_leaves_the_words_of_the_log(places: Places, kept: bytes) -> None:
    records = failed(places, STORY_LOG.read_bytes())
    records.files.diagnosis.write_bytes(kept)
    recorded = read_launch(records.files.directory)
    assert read_finding(recorded) is None
    assert Observer(places, _NoGpus()).observe().instances[0].cause == ROOT_TEXT
    asked = Explanations(places)
    assert asked.explain(recorded.address, GPUS).answer.failure == "pool_budget_negative"
    asked.close()


def test_a_kept_diagnosis_without_all_of_it_is_computed_anew(places: Places) -> None:
    records = failed(places, STORY_LOG.read_bytes())
    records.files.diagnosis.write_bytes(b'{"schema": 1, "state": "failed", "brief": "half"}')
    asked = Explanations(places)
    assert asked.explain(address(records), GPUS).answer.failure == "pool_budget_negative"
    asked.close()


def test_a_long_log_is_read_bit_by_bit(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "_TURN_BYTES", 1)
    usual = b"[2026-06-01 10:00:20] Decode batch, #running-req: 3, #token: 1800, gen throughput (token/s): 1.0\n"
    log = usual * (9 * 2**20 // len(usual)) + STORY_LOG.read_bytes()
    asked = Explanations(places)
    records = failed(places, log)
    read: list[float] = []
    while not read or read[-1] < 1:
        found = asked.explain(address(records), GPUS)
        assert not found.is_settled or found.done >= 1
        read.append(found.done)
        assert len(read) < 10
    assert read == sorted(read)
    assert len(read) > 2
    assert found.answer.root_text == ROOT_TEXT
    asked.close()


def test_no_secret_of_the_log_is_quoted(places: Places) -> None:
    secret = "s3cr3t-and-long"
    head = f"[2026-06-01 10:00:00] server_args=ServerArgs(model_path='/m', api_key='{secret}', tp_size=1)\n"
    end = f"Traceback (most recent call last):\nOddError: nobody knows {secret}\n"
    records = failed(places, (head + end).encode())
    write_diagnosis(records.files.directory, places)
    asked = Explanations(places)
    found = asked.explain(address(records), GPUS)
    assert found.answer.root_line == 3
    assert found.quotes
    assert secret not in str(found)
    assert secret not in asked.report(address(records), GPUS)
    asked.close()


def test_another_launch_begins_anew_and_a_missing_log_is_no_trouble(places: Places) -> None:
    first, second = failed(places, STORY_LOG.read_bytes()), make_launch(places, "two")
    asked = Explanations(places)
    assert asked.explain(address(first), GPUS).answer.failure == "pool_budget_negative"
    assert asked.explain(address(second), GPUS).answer.failure == NONE
    assert asked.explain(address(first), GPUS).answer.failure == "pool_budget_negative"
    asked.close()
