"""What the dashboard costs: until its first paint, to the terminal, over a slow link, and while logs grow.

    python bench/screen.py [--runs 5] [--seconds 20] [--nvitop PATH] [--toolong PATH] [--only PART]

A terminal of 160x48; 8 GPUs behind a fake NVML, 4 running servers (real processes that log and answer), 2 ended ones,
40 earlier launches. Runs of peers are interleaved with ours, and medians compared. Needs `pyte` (`pip install pyte`)
and gcc; a peer that isn't installed is left out, and that is said. `bench/screen_hours.py` measures the memory.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

try:
    from screen_terminal import Terminal, terminal
except ImportError:
    print("bench/screen.py is left out: it needs an emulator of a terminal (pip install pyte)")
    sys.exit(0)
from screen_machine import BenchMachine, can_fake_nvml, machine

OURS = [str(Path(sys.executable).parent / "sgltui")]
HELLO = [sys.executable, str(Path(__file__).with_name("screen_hello.py"))]
OVER_SSH = {"SSH_CONNECTION": "10.0.0.7 50022 10.0.0.9 22"}
_AFTER_PAINT_S = 0.7  # some paint early, and begin then
_WHOLE = ("Budget", "Log", "q quit")
_BUSY_LINES_PER_S = 20.0
_SETTLED_S = 4.0
_LOGS_GROWING, _GROWTH_LINES_PER_S = 10, 1000.0
_PRESSES = 15


class Report:
    """Prints a line a figure, and remembers whether all goals were met."""

    def __init__(self) -> None:
        self.all_met = True

    def tell(self, what: str, value: float, unit: str, goal: float | None = None) -> None:
        """One figure; a goal is the most that it may be."""
        if goal is None:
            print(f"{what:<68} {value:9.2f} {unit}", flush=True)
            return
        met = value <= goal
        self.all_met = self.all_met and met
        print(f"{what:<68} {value:9.2f} {unit}   (goal: {goal:g}: {'met' if met else 'MISSED'})", flush=True)


def tell_start(report: Report, one: BenchMachine, options: argparse.Namespace) -> None:
    """First useful paint, and the CPU time until 0.7 s later; the same for all of the dashboard."""
    log = one.folder / "toolong.log"
    log.write_bytes(b"[2026-11-29 08:06:39] Decode batch, #running-req: 31, #queue-req: 0\n" * 60_000 + b"END-MARK\n")
    programs: dict[str, tuple[list[str], tuple[str, ...]]] = {
        "sgltui": (OURS, ("7 RTX PRO 6000", "server-0", "server-5")),
        "hello": (HELLO, ("READY-MARK",)),
        **({"toolong": ([options.toolong, str(log)], ("END-MARK",))} if options.toolong else {}),
        **({"nvitop": ([options.nvitop, "-m", "full"], ("PID",))} if options.nvitop else {}),
    }
    paints: dict[str, list[float]] = {name: [] for name in programs}
    cpu: dict[str, list[float]] = {name: [] for name in programs}
    whole: list[tuple[float, float]] = []
    for number in range(options.runs + 1):
        for name, (words, texts) in programs.items():
            with terminal(words, one.environment) as shown:
                at = shown.painted(*texts)
                if at is None:
                    raise TimeoutError(f"{name} never showed {texts}:\n" + "\n".join(shown.screen.display))
                if not number:  # the first warms up
                    continue
                paints[name].append(at - shown.begun)
                time.sleep(max(0.0, at + _AFTER_PAINT_S - time.monotonic()))
                cpu[name].append(shown.cpu_s())
                if name == "sgltui" and (at := shown.painted(*_WHOLE)) is not None:
                    whole.append((at - shown.begun, shown.used_s(at)))
    for name in programs:
        report.tell(f"first useful paint, {name}", statistics.median(paints[name]) * 1000, "ms")
        report.tell(f"CPU until 0.7 s after it, {name}", statistics.median(cpu[name]) * 1000, "ms")
    report.tell("the whole dashboard, sgltui", statistics.median(at for at, _ in whole) * 1000, "ms")
    report.tell("CPU until then, sgltui", statistics.median(used for _, used in whole) * 1000, "ms")
    for peer, goal in (("hello", 1.6), ("toolong", 0.8)):
        if peer in programs:
            report.tell(f"first useful paint of {peer}'s", _ratio(paints["sgltui"], paints[peer]), "times", goal)
    if "nvitop" in programs:
        report.tell("CPU until 0.7 s after it, of nvitop's", _ratio(cpu["sgltui"], cpu["nvitop"]), "times", 0.6)


def tell_bytes(report: Report, one: BenchMachine, options: argparse.Namespace) -> None:
    """What goes to the terminal, and what that takes of a core."""
    one.tell_rate(0)
    rates: dict[str, float] = {}
    with one.moving():
        for name, words in (
            ("sgltui", OURS),
            *([("nvitop", [options.nvitop, "-m", "full"])] if options.nvitop else []),
        ):
            with terminal(words, {**one.environment, **OVER_SSH}) as shown:
                _settle(shown, name)
                percent, rates[name] = shown.over(options.seconds)
            report.tell(f"figures of 8 GPUs move, {name}: CPU", percent, "% of a core")
            report.tell(f"figures of 8 GPUs move, {name}: to the terminal", rates[name] / 1000, "kB/s")
    if "nvitop" in rates:
        report.tell("the same, of nvitop's", rates["sgltui"] / rates["nvitop"], "times", 2.0)
    with terminal(OURS, {**one.environment, **OVER_SSH}) as shown:
        _settle(shown, "sgltui")
        time.sleep(_SETTLED_S)
        percent, sent = shown.over(options.seconds)
    report.tell("nothing changes: to the terminal", sent * options.seconds, "bytes", 0.0)
    report.tell("nothing changes: CPU", percent, "% of a core")
    one.tell_rate(_BUSY_LINES_PER_S)
    with one.moving(), terminal(OURS, {**one.environment, **OVER_SSH}) as shown:
        _settle(shown, "sgltui")
        percent, sent = shown.over(options.seconds)
        report.tell("4 servers log 20 lines/s, over SSH: to the terminal", sent / 1000, "kB/s", 40.0)
        report.tell("4 servers log 20 lines/s, over SSH: CPU", percent, "% of a core", 5.0)
        report.tell("4 servers log 20 lines/s, over SSH: resident", shown.memory_mib(), "MiB")


def tell_keys(report: Report, one: BenchMachine, options: argparse.Namespace) -> None:
    """From a key to its answer on a link that is slow."""
    del options
    one.tell_rate(_BUSY_LINES_PER_S)
    for kilobytes, goal in ((100, 200.0), (30, None)):
        with one.moving(), terminal(OURS, {**one.environment, **OVER_SSH}, bytes_per_s=kilobytes * 1000) as shown:
            _settle(shown, "sgltui")
            _tell_presses(report, f"{kilobytes} kB/s: help opens and closes", _presses(shown), goal)


def tell_growth(report: Report, one: BenchMachine, options: argparse.Namespace) -> None:
    """From a key to its answer while ten logs grow fast."""
    del options
    one.tell_rate(_GROWTH_LINES_PER_S)
    with one.moving(), terminal(OURS, one.environment) as shown:
        _settle(shown, "sgltui")
        where = "10 logs grow by 1,000 lines/s each"
        _tell_presses(report, f"{where}: to the next server", _moves(shown), 50.0)
        presses = _presses(shown)
        _tell_presses(report, f"{where}: help opens", presses[::2], 50.0)
        _tell_presses(report, f"{where}: help closes, by Escape", presses[1::2], 50.0)


def _presses(shown: Terminal) -> list[float]:
    """Milliseconds until the help is there, and gone, after keys at moments that mean nothing to the program."""
    taken = []
    for number in range(_PRESSES):
        shown.wait(lambda _: False, 0.4 + 0.037 * number)
        for key, text, is_there in (("?", "Esc closes", True), ("\x1b", "Esc closes", False)):
            pressed = shown.type(key)
            at = shown.wait(_seen(text, is_there=is_there), 20)
            if at is None:
                raise TimeoutError(f"no answer to {key!r}:\n" + "\n".join(shown.screen.display))
            taken.append((at - pressed) * 1000)
            shown.wait(lambda _: False, 0.3)
    return taken


def _moves(shown: Terminal) -> list[float]:
    """Milliseconds until the cursor is at another server."""
    taken = []
    for number in range(2 * _PRESSES):
        shown.wait(lambda _: False, 0.4 + 0.037 * number)
        before = _cursor(shown.screen.display)
        pressed = shown.type("jk"[number % 2])
        at = shown.wait(partial(_has_moved, before), 20)
        if at is None:
            raise TimeoutError("the cursor stays:\n" + "\n".join(shown.screen.display))
        taken.append((at - pressed) * 1000)
    return taken


def _has_moved(before: int, lines: Sequence[str]) -> bool:
    return _cursor(lines) not in (before, -1)


def _cursor(lines: Sequence[str]) -> int:
    """The line of the selected server; -1 while none is."""
    return next((number for number, line in enumerate(lines) if line[1] == "▸"), -1)


def _seen(text: str, *, is_there: bool) -> Callable[[Iterable[str]], bool]:
    return lambda lines: any(text in line for line in lines) == is_there


def _tell_presses(report: Report, where: str, taken: list[float], goal: float | None) -> None:
    report.tell(f"{where}: median", statistics.median(taken), "ms", goal)
    report.tell(f"{where}: longest of {len(taken)}", max(taken), "ms")


def _settle(shown: Terminal, name: str) -> None:
    """Its first screen is there, and what it does once is done."""
    if shown.painted(*(_WHOLE if name == "sgltui" else ("PID",))) is None:
        raise TimeoutError(f"{name} never painted:\n" + "\n".join(shown.screen.display))
    shown.wait(lambda _: False, _SETTLED_S)


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(ours) / statistics.median(theirs)


PARTS = {
    "start": (tell_start, 4),
    "bytes": (tell_bytes, 4),
    "keys": (tell_keys, 4),
    "growth": (tell_growth, _LOGS_GROWING),
}


def main() -> int:
    """Print the figures; status 1 when a goal is missed."""
    options = parse()
    if not can_fake_nvml():
        print("bench/screen.py is left out: gcc isn't installed, and the fake NVML can't be compiled")
        return 0
    report = Report()
    for name, (measure, servers) in PARTS.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="screen-bench-") as folder, machine(Path(folder), servers) as one:
                measure(report, one, options)
    return 0 if report.all_met else 1


def parse() -> argparse.Namespace:
    """The command line; peers that aren't there are None."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--nvitop", default="nvitop")
    parser.add_argument("--toolong", default="tl")
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    for peer in ("nvitop", "toolong"):
        found = shutil.which(getattr(options, peer))
        if found is None:
            print(f"{peer} is left out: it isn't installed (pip install {peer}, or --{peer} PATH)")
        setattr(options, peer, found)
    return options


if __name__ == "__main__":
    sys.exit(main())
