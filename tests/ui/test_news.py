"""News of servers: each told once, in words, and to somebody who looks elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.support.fake_core import EMPTY, FakeCore, instance, story
from tests.support.screen import look, running, screen_text, until_shown
from tui.app.calls import Calls
from tui.app.news import News, Watch, notice_of, summary
from tui.app.notices import Kind
from tui.keeper.states import State
from tui.observe import Instance, Snapshot

READY, FAILED, STOPPED, LOADING = State.READY, State.FAILED, State.STOPPED, State.LOADING


def machine(*instances: Instance) -> Snapshot:
    return Snapshot(EMPTY.gpus, instances)


def states(watch: Watch, *instances: Instance) -> list[State]:
    return [news.state for news in watch.look(machine(*instances))]


def test_the_first_look_is_no_news() -> None:
    watch = Watch()
    assert states(watch, instance("a", FAILED), instance("b", READY)) == []
    assert states(watch, instance("a", FAILED), instance("b", FAILED)) == [FAILED]


def test_each_thing_is_told_once_a_launch() -> None:
    watch = Watch()
    assert states(watch, instance("a", LOADING)) == []
    assert states(watch, instance("a", READY)) == [READY]
    assert states(watch, instance("a", READY, uptime_s=9.0)) == []
    assert states(watch, instance("a", State.STOPPING)) == []
    assert states(watch, instance("a", READY)) == []  # a stop that was called off
    assert states(watch, instance("a", FAILED)) == [FAILED]
    assert states(watch, instance("a", READY, launch="20261129T201001Z-0008")) == [READY]


def test_a_stop_is_news_only_by_what_it_leaves_behind() -> None:
    watch = Watch()
    assert states(watch, instance("a", READY), instance("b", READY)) == []
    left = "3.2 GiB of GPU memory hadn't come back when the stop gave up waiting"
    assert states(watch, instance("a", STOPPED), instance("b", STOPPED, cause=left)) == [STOPPED]


def test_records_of_other_machines_are_no_news() -> None:
    watch = Watch()
    assert states(watch) == []
    assert states(watch, instance("a", FAILED, local=False)) == []


def test_news_in_words() -> None:
    now = machine(
        instance("a", READY),
        instance("b", FAILED, cause="512 requests need 294 GiB"),
        instance("c", STOPPED, cause="pid 77 survived"),
    )

    def told(one: Instance) -> tuple[Kind, str, str]:
        notice = notice_of(News(one.name, one.launch, one.state), now, finding_key="5")
        assert notice is not None
        return notice.kind, notice.text, notice.hint

    assert [told(one) for one in now.instances] == [
        (Kind.DONE, "a is ready on port 30000", ""),
        (Kind.PROBLEM, "b FAILED: 512 requests need 294 GiB", "5 shows why"),
        (Kind.PROBLEM, "c is stopped, but pid 77 survived", "`sgltui ps` shows who holds on"),
    ]
    assert summary(now) == "1 FAILED, 1 ready"
    assert notice_of(News("a", "another", READY), now, finding_key="5") is None


def written(ways: set[str], act: Callable[[Calls], object], environ: dict[str, str] | None = None) -> str:
    pieces: list[str] = []
    act(Calls(ways, pieces.append, environ or {}))
    return "".join(pieces)


def test_nothing_is_written_unless_it_is_wanted() -> None:
    def everything(calls: Calls) -> None:
        calls.call("a is ready")
        calls.show_title("sgltui")
        calls.end()

    assert written(set(), everything) == ""


def test_what_terminals_are_sent() -> None:
    # OSC 9: https://iterm2.com/documentation-escape-codes.html; OSC 2 and CSI 22/23 t: xterm's ctlseqs.
    assert written({"bell"}, lambda calls: calls.call("a is ready")) == "\x07"
    assert written({"desktop"}, lambda calls: calls.call("a is ready")) == "\x1b]9;sgltui: a is ready\x07"

    def title(calls: Calls) -> None:
        calls.show_title("one")
        calls.show_title("one")
        calls.end()

    assert written({"title"}, title) == "\x1b[22;2t\x1b]2;one\x07\x1b[23;2t"


def test_tmux_passes_on_what_it_does_not_know() -> None:
    # tmux(1), allow-passthrough: \ePtmux; … \e\\ with each escape doubled.
    sent = written({"desktop"}, lambda calls: calls.call("x"), {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert sent == "\x1bPtmux;\x1b\x1b]9;sgltui: x\x07\x1b\\"


@pytest.mark.parametrize("text", ["a\x07b", "a\x1b\\b", "a\x9cb", "a\nb", "a\x1b]52;c;YQ==\x07", "\u202e" + "x" * 9000])
def test_text_from_outside_ends_no_sequence_and_begins_none(text: str) -> None:
    def everything(calls: Calls) -> None:
        calls.call(text)
        calls.show_title(text)

    for way in ("desktop", "title"):
        sent = written({way}, everything)
        assert re.fullmatch(r"(\x1b\[22;2t)?\x1b\][29];[ -~…]{1,300}\x07", sent)


async def test_it_is_told_above_the_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.arranging._SETTLE_S", 0.05)
    first = story(tmp_path)
    core = FakeCore(first)
    async with running(core) as (app, pilot):
        await until_shown(pilot, app, "● ready")
        assert "FAILED:" not in screen_text(app)
        mtp, llama, failed = first.instances
        core.now = structs.replace(first, instances=(mtp, structs.replace(llama, state=READY), failed))
        await look(pilot, app, core)
        await until_shown(pilot, app, "✓ llama8b is ready on port 30001")
        ended = structs.replace(llama, state=FAILED, cause="weights need 30 GiB, 24 were free", members=())
        core.now = structs.replace(first, instances=(mtp, ended, failed))
        await look(pilot, app, core)
        await until_shown(pilot, app, "✗ llama8b FAILED: weights need 30 GiB, 24 were free; 5 shows why")


PROGRAM = """
import sys, threading, time
from pathlib import Path
from msgspec import structs
from tests.support.fake_core import FakeCore, story
from tui.app.app import SgltuiApp
from tui.app.preferences import Preferences
from tui.keeper.states import State

core = FakeCore(story(Path(sys.argv[1])))
app = SgltuiApp(core, where="gpu-box-7", preferences=Preferences(notify=frozenset(sys.argv[2:])))
mtp, llama, failed = core.now.instances

def change():
    while core.looks < 2:
        time.sleep(0.01)
    core.now = structs.replace(core.now, instances=(mtp, structs.replace(llama, state=State.READY), failed))
    looks = core.looks
    while core.looks < looks + 3:
        time.sleep(0.01)
    app.call_from_thread(app.exit)

threading.Thread(target=change, daemon=True).start()
app.run()
"""


def on_a_terminal(*words: str, environ: dict[str, str]) -> bytes:
    """What a program writes to its terminal until it ends."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdin=child, stdout=child, stderr=child, env=environ, close_fds=True
    )
    os.close(child)
    read, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([parent], [], [], 0.1)[0]:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # Linux's end of a terminal
                break
            if not piece:
                break
            read += piece
    os.close(parent)
    assert process.wait(timeout=30) == 0, read[-2000:]
    return read


@pytest.mark.parametrize("ways", [(), ("bell", "desktop", "title")])
def test_a_terminal_is_rung_once_and_left_as_it_was(tmp_path: Path, ways: tuple[str, ...]) -> None:
    environ = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
    root = str(Path(__file__).parents[2])
    environ |= {"TERM": "xterm-256color", "PYTHONPATH": root, "COLUMNS": "100", "LINES": "30"}
    sent = on_a_terminal(str(tmp_path), *ways, environ=environ)
    wanted = len(ways) > 0
    assert sent.count(b"\x1b]9;sgltui: llama8b is ready on port 30001\x07") == wanted
    outside = re.sub(rb"\x1b\][^\x07]*\x07", b"", sent)  # a bell also ends what is written to the terminal itself
    assert outside.count(b"\x07") == wanted
    titles = [found.decode() for found in re.findall(rb"\x1b\]2;([^\x07]*)\x07", sent)]
    counts = ["1 FAILED, 1 loading, 1 ready", "1 FAILED, 2 ready"]
    assert titles == [f"sgltui gpu-box-7 {count}" for count in counts] * wanted
    assert sent.count(b"\x1b[22;2t") == sent.count(b"\x1b[23;2t") == wanted
