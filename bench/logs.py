"""How fast a large log is open at its end, searched and followed, beside toolong and lnav where they are installed.

    python bench/logs.py [--gib 1] [--runs 3] [--seconds 5] [--folder .] [--toolong PATH] [--lnav PATH]

Every program runs in a pseudo-terminal of 160x48; what it writes there is read for the words that prove a paint. The
peers repaint parts of words, so `pyte` (`pip install pyte`) plays their terminal and its screen is read; without it
they are left out. Runs are interleaved and medians compared. Needs `--gib` of free space in the folder; takes some five
minutes with 1 GiB on two cores that have nothing else to do.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import psutil

try:
    import pyte
except ImportError:
    pyte = None
from textual import events
from textual.app import App, ComposeResult

from tui.app.glyphs import UNICODE
from tui.app.widgets.log_panel import LogPanel
from tui.app.widgets.log_prompt import take_typed_ahead
from tui.app.widgets.log_view import LogView

LINE = (
    b"[2026-11-29 08:06:39 TP0] Decode batch, #running-req: 31, gen throughput (token/s): 1312.77, #queue-req: %09d\n"
)
END = "END-MARK"
NEEDLE = "CUDA out of memory"
_AGAIN_S = 0.2
PROOF = rb"allocate 1\.50 GiB"
Programs: TypeAlias = dict[str, tuple[list[str], str, str]]
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_PRIVATE = re.compile(rb"\x1b\[[<=>][0-9;:]*[a-zA-Z]|\x1b\[\?\d+\$p|\x1b[P_^][^\x1b]*\x1b\\\\")  # more than pyte knows
_STAMP = re.compile(rb"SEQ=(\d{9}) T=(\d+)")


class Viewer(App[None]):
    """The log panel alone, for this measurement."""

    CSS = "LogPanel, LogView { height: 1fr; }"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.animation_level = "none"
        self._path = path

    def compose(self) -> ComposeResult:
        """One panel."""
        yield LogPanel(UNICODE, id="log", classes="panel")

    def on_mount(self) -> None:
        """Follow it as the dashboard does."""
        panel = self.query_one(LogPanel)
        panel.query_one(LogView).show(self._path)
        panel.watch_file(0.25)
        panel.log_view.focus()

    def on_key(self, event: events.Key) -> None:
        """As the real app does."""
        take_typed_ahead(self, event)


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, words: list[str], *, emulated: bool = False) -> None:
        self.screen = pyte.Screen(160, 48) if emulated else None
        self._stream = pyte.ByteStream(self.screen) if emulated else None
        self.seen = b""
        self.bytes = 0
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LESS="")
            os.execvp(words[0], words)  # noqa: S606 - a program in a terminal is what is measured
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        self.process = psutil.Process(self.pid)

    def read(self, wait_s: float) -> bytes:
        """What it wrote meanwhile, without escape sequences."""
        if not select.select([self._fd], [], [], wait_s)[0]:
            return b""
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return b""
        if b"\x1b[c" in data or b"\x1b[0c" in data:
            os.write(self._fd, b"\x1b[?62;22c")
        if b"\x1b[6n" in data:
            os.write(self._fd, b"\x1b[1;1R")
        self.bytes += len(data)
        if self._stream is not None and self.screen is not None:
            self._stream.feed(_PRIVATE.sub(b"", data))
            self.seen = "\n".join(self.screen.display).encode()
            return self.seen
        text = _ESCAPES.sub(b"", data)
        self.seen = (self.seen + text)[-200_000:]
        return text

    def until(self, words: bytes, limit_s: float, again: str = "") -> float | None:
        """Seconds from now until these words are painted, or None; `again` is typed meanwhile, less and less often."""
        begun, due = time.monotonic(), _AGAIN_S
        if self.screen is None:
            self.seen = b""
        while (passed := time.monotonic() - begun) < limit_s:
            self.read(0.005)
            if again and passed > due:
                due = 2 * passed  # what is under way when it is typed may begin anew
                self.type(again)
            if re.search(words, self.seen):
                return passed
        return None

    def settle(self, seconds: float) -> None:
        """Read for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def memory_mib(self) -> float:
        """Resident memory."""
        return sum(one.memory_info().rss for one in self._all()) / 2**20

    def cpu_s(self) -> float:
        """CPU time so far."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def close(self) -> None:
        """End it."""
        for one in reversed(self._all()):
            with contextlib.suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _all(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@contextlib.contextmanager
def terminal(words: list[str]) -> Iterator[Terminal]:
    """A program that is ended afterwards."""
    one = Terminal(words, emulated=words[0] != sys.executable)
    try:
        yield one
    finally:
        one.close()


def make_log(path: Path, size: int) -> None:
    """Lines of a busy server, one out-of-memory traceback in the middle, a mark at the end."""
    block = b"".join([LINE % number for number in range(100_000)])
    trouble = (
        b"Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\n"
    )
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)
            if trouble and file.tell() > size // 2:
                file.write(trouble)
                trouble = b""
        file.write(b"[2026-11-29 23:59:59 TP0] END-MARK\n")


def open_and_search(words: list[str], keys: str, again: str = "") -> tuple[float | None, float | None, float]:
    """Seconds to the end painted, seconds to the hit painted, and MiB then."""
    with terminal(words) as one:
        shown = one.until(END.encode(), 300, "G" if "lnav" in words[0] else "")  # it stays at the top otherwise
        one.settle(2.0)
        one.type(keys[:1])
        one.settle(1.0)  # toolong drops what is typed before its prompt is there
        one.type(keys[1:])
        found = one.until(PROOF, 60, again) if keys else None
        one.settle(0.3)
        return shown, found, one.memory_mib()


def follow(words: list[str], log: Path, rate: int, seconds: float) -> tuple[float, float, float, float]:
    """Median and 95th percentile of how old the newest line on the screen is (ms), CPU in percent, kB/s."""
    log.write_bytes((LINE % 0) * 20_000 + b"END-MARK\n")
    ages: list[float] = []
    with terminal(words) as one:
        one.until(END.encode(), 30)
        one.settle(1.5)
        cpu, sent = one.cpu_s(), one.bytes
        writer = subprocess.Popen([sys.executable, __file__, "--write", str(log), str(rate), str(seconds)])
        begun, newest = time.monotonic(), 0
        while writer.poll() is None:
            stamps = _STAMP.findall(one.read(0.01))
            now = time.monotonic_ns()
            newest = max([newest, *(at for _, word in stamps if (at := int(word)) < now)])
            if newest and time.monotonic() - begun > 1:
                ages.append((time.monotonic_ns() - newest) / 1e6)
        passed = time.monotonic() - begun
        cpu, sent = one.cpu_s() - cpu, one.bytes - sent
    ages = sorted(ages) or [float("nan")]
    return ages[len(ages) // 2], ages[int(len(ages) * 0.95)], cpu / passed * 100, sent / passed / 1000


def write(path: str, rate: float, seconds: float) -> None:
    """Lines that tell when they were written."""
    tail = b" Decode batch, #running-req: 31, token usage: 0.58, gen throughput (token/s): 1312.77, #queue-req: 3\n"
    log, begun, written = os.open(path, os.O_WRONLY | os.O_APPEND), time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        due, now = int(rate * passed) + 1, time.monotonic_ns()
        os.write(log, b"".join([b"[2026-11-29 08:06:39] SEQ=%09d T=%d" % (n, now) + tail for n in range(written, due)]))
        written = due
        time.sleep(0.005)


def endure(words: list[str], log: Path, seconds: float) -> None:
    """100,000 lines a second: how long a key takes, and what memory it costs."""
    log.write_bytes((LINE % 0) * 20_000 + b"END-MARK\n")
    answers: list[float] = []
    controls: list[float] = []
    with terminal(words) as one:
        one.until(END.encode(), 30)
        one.settle(2)
        before = one.memory_mib()
        quiet = log.with_name("quiet.log")
        quiet.write_bytes((LINE % 0) * 20_000 + b"END-MARK\n")
        with terminal([*words[:-1], str(quiet)]) as other:
            other.until(END.encode(), 30)
            writer = subprocess.Popen([sys.executable, __file__, "--write", str(log), "100000", str(seconds)])
            while writer.poll() is None:
                answers.append(press(one, other))
                controls.append(press(other, one))
        one.settle(1)
        grown = one.memory_mib() - before
    lines = log.stat().st_size / len(LINE % 0) / 1e6
    print(f"\n100,000 lines/s for {seconds:.0f} s ({lines:.1f} million lines): a key is answered in (median / longest)")
    for name, times in (("under the flood", answers), ("on a silent log", controls)):
        print(f"{name}: {statistics.median(times):.0f} / {max(times):.0f} ms")
    print(f"memory grew by {grown:.1f} MiB, {grown / lines * 10:.1f} MiB for each 10 million lines (goal: 16)")


def press(one: Terminal, other: Terminal) -> float:
    """Milliseconds from a key to its answer; meanwhile the other one's writes are read."""
    for _ in range(7):
        one.settle(0.05)
        other.settle(0.05)
    one.type("/")
    took = one.until(b"regular expression", 5)
    one.type("\x1b")
    return (took if took is not None else float("inf")) * 1000


def idle(words: list[str], seconds: float) -> tuple[float, int]:
    """CPU in percent, and bytes to the terminal, when nothing changes."""
    with terminal(words) as one:
        one.until(END.encode(), 60)
        one.settle(12)
        cpu, sent = one.cpu_s(), one.bytes
        one.settle(seconds)
        return (one.cpu_s() - cpu) / seconds * 100, one.bytes - sent


def grep(log: Path) -> float:
    """Seconds that grep takes for one pass."""
    begun = time.monotonic()
    subprocess.run(["grep", "-n", "-F", NEEDLE, str(log)], env={"LC_ALL": "C"}, check=True, capture_output=True)
    return time.monotonic() - begun


def main() -> None:
    """Print the tables."""
    options = parse()
    ours = [sys.executable, __file__, "--view"]
    programs = {"sgltui": (ours, f"/{NEEDLE}\r", "")}
    # Both go to the hit above with a key of its own, once they have found it.
    peers = (("toolong", options.toolong, f"/{NEEDLE}", "\x1b[A"), ("lnav", options.lnav, f"/{NEEDLE}\r", "N"))
    for name, path, keys, again in peers:
        if path and shutil.which(path) and pyte is not None:
            programs[name] = ([path], keys, again)
        else:
            print(f"{name} is left out: {'pyte' if pyte is None else 'it'} isn't installed")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="log-bench-") as folder:
        log, small = Path(folder) / "server.log", Path(folder) / "small.log"
        make_log(log, int(options.gib * 2**30))
        make_log(small, 1)
        tell_opening(programs, log, small, options.runs)
        tell_following(programs, Path(folder) / "follow.log", options.seconds)
        endure([*ours, str(Path(folder) / "follow.log")], Path(folder) / "follow.log", options.flood)
        percent, sent = idle([*ours, str(small)], 10)
        print(f"\nidle for 10 s: {percent:.2f} % of a core, {sent} bytes to the terminal (goal: under 0.7 %, 0)")


def tell_opening(programs: Programs, log: Path, small: Path, runs: int) -> None:
    """Opening and searching, and grep's pass."""
    figures: dict[str, list[tuple[float | None, float | None, float]]] = {name: [] for name in programs}
    passes = []
    for _ in range(runs):
        passes.append(grep(log))
        for name, (words, keys, again) in programs.items():
            figures[name].append(open_and_search([*words, str(log)], keys, again))
    _, _, empty_mib = open_and_search([*programs["sgltui"][0], str(small)], "")
    floor = statistics.median(passes)
    print(
        f"\n{log.stat().st_size / 2**30:.1f} GiB; grep -n -F: {floor * 1000:.0f} ms;"
        f" sgltui on a small log: {empty_mib:.0f} MiB"
    )
    print("| program | end painted ms | hit painted ms | of grep's pass | MiB |\n|---|---|---|---|---|")
    for name, rows in figures.items():
        shown, found = (middle([row[column] for row in rows]) for column in (0, 1))
        most = max(row[2] for row in rows)
        print(f"| {name} | {shown * 1000:.0f} | {found * 1000:.0f} | {found / floor:.1f} | {most:.0f} |")


def tell_following(programs: Programs, log: Path, seconds: float) -> None:
    """Following at three rates."""
    print("\n| lines/s | program | age of the newest line ms, median / p95 | CPU % | kB/s |\n|---|---|---|---|---|")
    for rate in (20, 10_000, 100_000):
        for name, (words, *_) in programs.items():
            age, late, cpu, sent = follow([*words, str(log)], log, rate, seconds)
            print(f"| {rate} | {name} | {age:.0f} / {late:.0f} | {cpu:.0f} | {sent:.0f} |", flush=True)


def middle(values: list[float | None]) -> float:
    """The median; not a number when a run failed."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) == len(values) else float("nan")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--flood", type=float, default=15.0, help="seconds at 100,000 lines a second")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--toolong", default="tl")
    parser.add_argument("--lnav", default="lnav")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--view"]:
        Viewer(Path(sys.argv[2])).run()
    elif sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
