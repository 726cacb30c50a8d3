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


def flood(keeping: Keeping) -> Kept:
    """A server that logs 50,000 lines a second, and in the end how many; its first segment is there."""
    kept = keeping.launch_program("flood.py", "/dev/stdout", "50000", "100", log_limits=LIMITS)
    wait_until(lambda: segments(kept.files.directory), what=f"the first segment; {kept.trouble()}")
    return kept


def end(kept: Kept) -> tuple[int, bytes]:
    """Let it end; the lines it logged, and its last line."""
    os.kill(kept.pid, signal.SIGTERM)
    kept.wait_for("failed")  # it never was ready
    wait_until(lambda: not kept.read().is_attended, what="its keeper has finished what it had begun to move")
    last = kept.files.log.read_bytes().rsplit(b"\n", 2)[1]
    return int(last.split()[0]), last + b"\n"


def command(keeping: Keeping, *words: str) -> bytes:
    """What a command prints into a pipe."""
    with start(keeping, *words) as process:
        output, _ = process.communicate()
    assert process.returncode == 0
    return output


def start(keeping: Keeping, *words: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SGLTUI_STATE_DIR": str(keeping.places.state), "SGLTUI_CONFIG_DIR": "/nonexistent"}
    return subprocess.Popen([sys.executable, "-m", "tui", *words], env=environment, stdout=subprocess.PIPE)


def test_its_keeper_rotates_the_log_and_says_so(keeping: Keeping) -> None:
    kept = flood(keeping)
    lines, last = end(kept)
    assert everything(kept.files.directory) == numbered(0, lines) + last
    events = [json.loads(line) for line in kept.files.events.read_text().splitlines()]
    archived = [event for event in events if event["event"] == "log-archived"]
    assert [event["file"] for event in archived] == [path.name for path in segments(kept.files.directory)]
    assert archived[0]["at"].endswith("Z")


def test_commands_read_across_its_segments(keeping: Keeping) -> None:
    lines, last = end(flood(keeping))
    whole = numbered(0, lines) + last
    assert command(keeping, "logs", "server") == whole
    assert command(keeping, "logs", "server", "-n", str(lines - 5)) == numbered(6, lines) + last
    assert command(keeping, "logs", "server", "--grep", "line 00000000[7-9]$") == numbered(7, 10)
    assert command(keeping, "logs", "server", "--problems") == b""


def test_following_it_misses_nothing(keeping: Keeping) -> None:
    """Also where its reader is slower than the log: nobody reads until it has been rotated."""
    kept = keeping.launch_program("flood.py", "/dev/stdout", "50000", "100", log_limits=LIMITS)
    with start(keeping, "logs", "server", "-f", "-n", "1000000000") as following:
        assert following.stdout is not None
        first = following.stdout.readline()
        wait_until(lambda: segments(kept.files.directory), what=f"the first segment; {kept.trouble()}")
        os.kill(kept.pid, signal.SIGTERM)
        followed = first + following.stdout.read()
    last = followed.rsplit(b"\n", 2)[1] + b"\n"
    assert followed == numbered(0, int(last.split()[0])) + last


def test_a_keeper_that_takes_over_goes_on_rotating(keeping: Keeping) -> None:
    kept = flood(keeping)
    os.kill(kept.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not kept.read().is_attended, what="the keeper is dead")
    before = len(segments(kept.files.directory))
    command(keeping, "adopt", "server")
    wait_until(lambda: len(segments(kept.files.directory)) > before, what="a further segment")
    lines, last = end(kept)
    assert everything(kept.files.directory) == numbered(0, lines) + last
