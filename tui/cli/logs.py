"""`sgltui logs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tui.cli.context import open_context
from tui.cli.say import say
from tui.cli.stdout import wait_while_read
from tui.errors import ExitCode, UsageError
from tui.keeper.states import ENDED
from tui.launch.directory import previous_launch
from tui.launch.records import Recorded, find_launch, read_launch
from tui.logs.file import LogFile
from tui.logs.follow import Follower, tail_offset
from tui.logs.highlight import classify
from tui.logs.pattern import compile_pattern
from tui.logs.sieve import PROBLEMS
from tui.logs.text import sanitize
from tui.paths import Places

_FOLLOW_LINES = 20
_STEP_S = 0.1


def logs(options: argparse.Namespace) -> ExitCode:
    """Print the log of a launch: as it is into a pipe or file, made safe on a terminal."""
    places = open_context(options).places
    recorded = find_launch(places, options.address)
    if options.previous:
        recorded = _previous(places, recorded)
    if not recorded.files.log.exists() and not options.follow:
        raise UsageError(f"{recorded.address} has no log yet", "add -f to wait for its first line")
    wanted, write = _filter(options), _writer()
    for line in _lines(recorded, options):
        if wanted(line):
            write(line)
    return ExitCode.DONE


def _previous(places: Places, recorded: Recorded) -> Recorded:
    """The launch before, said so that its lines aren't taken for the present one's."""
    earlier = previous_launch(places, recorded)
    if earlier is None:
        raise UsageError(f"{recorded.address} is the first launch of that name", "there is no earlier log")
    say(f"this is the EARLIER launch {earlier.address}")
    return earlier


def _lines(recorded: Recorded, options: argparse.Namespace) -> Iterator[bytes]:
    """Complete lines, then with `-f` what is appended until the launch is over."""
    path = recorded.files.log
    count = options.lines if options.lines is not None or not options.follow else _FOLLOW_LINES
    follower = Follower(path, 0 if count is None else _offset_of_last(path, count))
    while True:
        ended = options.follow and read_launch(recorded.files.directory).current_state() in ENDED
        chunk = follower.poll()
        yield from chunk.lines
        if chunk.more:
            continue
        if not options.follow or ended:
            break
        wait_while_read(_STEP_S)
    if follower.partial:
        yield follower.partial


def _offset_of_last(path: Path, count: int) -> int:
    """Where the last `count` lines begin; 0 while there is no log."""
    file = LogFile.open(path)
    if file is None:
        return 0
    with closing(file):
        return tail_offset(file, count)


def _filter(options: argparse.Namespace) -> Callable[[bytes], bool]:
    pattern = compile_pattern(options.grep) if options.grep is not None else None

    def wanted(line: bytes) -> bool:
        return (pattern is None or pattern.matches(line)) and (
            not options.problems or classify(sanitize(line)) in PROBLEMS
        )

    return wanted if pattern is not None or options.problems else lambda _: True


def _writer() -> Callable[[bytes], None]:
    """On a terminal, nothing from outside may act as a control code; elsewhere bytes are bytes."""
    if sys.stdout.isatty():
        return lambda line: print(sanitize(line))
    return _write_bytes


def _write_bytes(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
