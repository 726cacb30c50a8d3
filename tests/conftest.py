"""Fixtures for every test."""

from __future__ import annotations

import gc
import os
import signal
import sys

from tests.support.ports import unused_tcp_port

__all__ = ("unused_tcp_port",)  # here, so that it comes before the one of a plugin

# The tests start hundreds of short processes. Where bytecode mustn't be kept, as in many containers, each would compile
# all that it imports: a tenth of a second of one core and more, every time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Python's own 700 makes a fifth of the work of a test of the screen: each app is thousands of objects, made at once.
gc.set_threshold(10_000)

pytest_plugins = [
    "tests.support.nvml",
    "tests.support.simulated",
    "tests.support.keeping",
    "tests.support.cgroups",
    "tests.support.soak",
    "tests.support.steps",
    "tests.support.command_line",
]

# A shell starts what it puts in the background with these ignored, and that is inherited by every server and command a
# test starts: whoever runs the suite so would find that Ctrl-C ends nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
