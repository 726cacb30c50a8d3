"""A launch whose log its keeper rotates: what the records, the commands and a second keeper make of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from tests.support.keeping import Keeping, Kept
from tests.support.rotating import LIMIT_BYTES, everything, numbered, segments
from tests.support.waiting import wait_until
from tui.launch.records import LogLimitsRecord

LIMITS = LogLimitsRecord(log_bytes=LIMIT_BYTES, total_bytes=1 << 40, age_s=1e9)


def flood(keeping: Keeping, seconds: float) -> Kept:
    """A server that logs 50,000 lines a second, and then how many."""
    return keeping.launch_program("flood.py", "/dev/stdout", "50000", str(seconds), log_limits=LIMITS)


def written(kept: Kept) -> tuple[int, bytes]:
    """The lines it logged, and its last line."""
    last = kept.files.log.read_bytes().rsplit(b"\n", 2)[1]
    return int(last.split()[0]), last + b"\n"


def command(keeping: Keeping, *words: str) -> bytes:
    """What a command prints into a pipe."""
    environment = {**os.environ, "SGLTUI_STATE_DIR": str(keeping.places.state), "SGLTUI_CONFIG_DIR": "/nonexistent"}
    done = subprocess.run([sys.executable, "-m", "tui", *words], env=environment, capture_output=True, check=True)
    return done.stdout


def test_its_keeper_rotates_the_log_and_says_so(keeping: Keeping) -> None:
    kept = flood(keeping, 4.0)
    wait_until(lambda: segments(kept.files.directory), what="the first segment")
    kept.wait_for("failed")  # it never was ready
    lines, last = written(kept)
    assert everything(kept.files.directory) == numbered(0, lines) + last
    wait_until(lambda: not kept.read().is_attended, what="its keeper is done")
    events = [json.loads(line) for line in kept.files.events.read_text().splitlines()]
    archived = [event for event in events if event["event"] == "log-archived"]
    assert [event["file"] for event in archived] == [path.name for path in segments(kept.files.directory)]
    assert archived[0]["at"].endswith("Z")


def test_commands_read_across_its_segments(keeping: Keeping) -> None:
    kept = flood(keeping, 3.0)
    wait_until(lambda: segments(kept.files.directory), what="the first segment")
    kept.wait_for("failed")  # it never was ready
    lines, last = written(kept)
    whole = numbered(0, lines) + last
    assert command(keeping, "logs", "server") == whole
    assert command(keeping, "logs", "server", "-n", str(lines - 5)) == numbered(6, lines) + last
    assert command(keeping, "logs", "server", "--grep", "line 00000000[7-9]$") == numbered(7, 10)
    assert command(keeping, "logs", "server", "--problems") == b""


def test_following_it_misses_nothing(keeping: Keeping) -> None:
    kept = flood(keeping, 3.0)
    followed = command(keeping, "logs", "server", "-f", "-n", "1000000000")
    lines, last = written(kept)
    assert segments(kept.files.directory)
    assert followed == numbered(0, lines) + last


def test_a_keeper_that_takes_over_goes_on_rotating(keeping: Keeping) -> None:
    kept = flood(keeping, 5.0)
    wait_until(lambda: segments(kept.files.directory), what="the first segment")
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended, what="the keeper is dead")
    before = len(segments(kept.files.directory))
    command(keeping, "adopt", "server")
    wait_until(lambda: len(segments(kept.files.directory)) > before, what="a further segment")
    wait_until(kept.files.exit.exists, what="the end")
    lines, last = written(kept)
    assert everything(kept.files.directory) == numbered(0, lines) + last
