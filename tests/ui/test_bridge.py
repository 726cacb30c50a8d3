"""Where threads meet the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading

import pytest
from textual.message import Message

from tests.support.fake_core import EMPTY, FakeCore, gpu
from tests.support.waiting import wait_until
from tui.app.bridge import Sampler, in_thread
from tui.app.messages import SnapshotFailed, SnapshotTaken
from tui.app.notices import Trouble
from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.observe import Snapshot


def test_the_sampler_posts_what_differs_and_says_what_fails() -> None:
    posted: queue.Queue[Message] = queue.Queue()
    core = FakeCore(EMPTY)
    sampler = Sampler(core.snapshot, posted.put)
    sampler.start()
    first = posted.get(timeout=20)
    assert isinstance(first, SnapshotTaken)
    assert first.snapshot is EMPTY
    _look_again(core, sampler)
    assert posted.empty()
    core.now = SgltuiError("no", "yes")
    sampler.look_now()
    second = posted.get(timeout=20)
    assert isinstance(second, SnapshotFailed)
    assert second.trouble == Trouble("no", "yes")
    core.now = EMPTY  # the same as before the failure, and still news
    sampler.look_now()
    assert isinstance(posted.get(timeout=20), SnapshotTaken)
    assert sampler.stop()
    looks = core.looks
    sampler.look_now()
    assert core.looks == looks


def test_a_fresh_look_is_begun_after_it_was_asked_for() -> None:
    core = FakeCore(EMPTY)
    sampler = Sampler(core.snapshot, lambda _message: None)
    assert sampler.look_fresh(0.0) is None
    sampler.start()
    wait_until(lambda: sampler.look_fresh(20.0) is EMPTY, what="the first look")
    newer = Snapshot(GpuReading((gpu(0),)), ())
    core.now = newer
    assert sampler.look_fresh(20.0) is newer
    core.now = SgltuiError("no", "yes")
    assert sampler.look_fresh(20.0) is newer  # what was seen last
    core.look_gate.clear()
    assert sampler.look_fresh(0.05) is newer  # a reader that hangs keeps nobody waiting
    core.look_gate.set()
    assert sampler.stop()


def test_a_reader_that_hangs_is_seen_and_not_waited_for() -> None:
    core = FakeCore(EMPTY)
    core.look_gate.clear()
    sampler = Sampler(core.snapshot, lambda _message: None)
    sampler.start()
    wait_until(lambda: core.asked, what="the first look")
    assert not sampler.is_stalled
    assert not sampler.stop()
    core.look_gate.set()


def test_only_the_newest_snapshot_waits_in_the_queue() -> None:
    older, newer = SnapshotTaken(EMPTY), SnapshotTaken(Snapshot(GpuReading((gpu(0),)), ()))
    failed = SnapshotFailed(Trouble("x"))
    assert newer.can_replace(older)
    assert failed.can_replace(SnapshotFailed(Trouble("y")))
    assert not newer.can_replace(failed)
    assert not failed.can_replace(older)


async def test_a_blocking_call_gives_its_result_or_its_error() -> None:
    loop_thread = threading.get_ident()
    assert await in_thread(threading.get_ident) != loop_thread
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_nobody_waits_for_a_call_that_was_given_up() -> None:
    gate = threading.Event()
    task = asyncio.create_task(in_thread(gate.wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()


def _look_again(core: FakeCore, sampler: Sampler) -> None:
    looks = core.looks
    sampler.look_now()
    wait_until(lambda: core.looks > looks, what="another look")
