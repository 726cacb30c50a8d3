"""Python that obeys the permissions of files, also where root runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


def run_unprivileged(code: str, *arguments: str) -> str:
    """What a program prints that can read only what it may. Root's right to read everything is dropped for good."""
    words: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root reads everything, and there is no setpriv")
        words = [setpriv, "--bounding-set=-dac_override,-dac_read_search"]
    words += [sys.executable, "-c", code, *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout
