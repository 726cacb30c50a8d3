"""Who holds GPU memory: owners and command lines of real processes."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.waiting import wait_until
from tui.gpu.processes import describe_process
from tui.keeper import procfs
from tui.keeper.identity import read_stat
from tui.keeper.secret_words import in_one_line

NO_SUCH_PID = 4294967295  # above the kernel's limit


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process whose title is padded, as setproctitle leaves it."""
    sleep = shutil.which("sleep")
    assert sleep
    with subprocess.Popen(["sglang::scheduler_TP0       ", "600"], executable=sleep) as started:
        yield started
        started.kill()


def test_a_title_padded_with_blanks(process: subprocess.Popen[bytes]) -> None:
    user = pwd.getpwuid(os.getuid()).pw_name
    expected = (user, "sglang::scheduler_TP0 600")
    wait_until(lambda: describe_process(process.pid) == expected, what="the new program's command line")


def test_a_zombie_has_only_a_name(process: subprocess.Popen[bytes]) -> None:
    wait_until(lambda: describe_process(process.pid)[1] == "sglang::scheduler_TP0 600", what="exec")
    process.kill()
    wait_until(lambda: (stat := read_stat(process.pid)) and stat.is_dead, what="a zombie")
    assert describe_process(process.pid) == (pwd.getpwuid(os.getuid()).pw_name, "sleep")


def test_a_process_that_is_not_there() -> None:
    assert describe_process(NO_SUCH_PID) == (None, None)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["python", "-m", "sglang.launch_server"], "python -m sglang.launch_server"),
        (["sglang::scheduler_TP0            ", "", "", ""], "sglang::scheduler_TP0"),
        (["sglang::detokenizer\n", "  "], "sglang::detokenizer"),
        ([], ""),
        (
            ["python", "-m", "sglang.launch_server", "--api-key", "s3cret"],
            "python -m sglang.launch_server --api-key ***",
        ),
        (["bash", "-c", "exec python --apikey=s3cret --tp 2"], "bash -c exec python --apikey=*** --tp 2"),
        (["python", "--admin-api-key", "two words"], "python --admin-api-key ***"),
    ],
)
def test_a_command_line_for_a_person(words: list[str], command: str) -> None:
    assert in_one_line(words) == command


def test_a_secret_of_a_running_process_is_not_shown() -> None:
    words = [sys.executable, "-c", "import time; time.sleep(600)", "--api-key", "s3cret"]
    with subprocess.Popen(words) as process:
        try:
            for shown in (describe_process(process.pid)[1], procfs.shown_command(process.pid)):
                assert shown is not None
                assert shown.endswith("--api-key ***")
        finally:
            process.kill()
