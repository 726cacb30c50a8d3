"""Fixtures for every test."""

from __future__ import annotations

from tests.support.ports import unused_tcp_port

__all__ = ("unused_tcp_port",)  # here, so that it comes before the one of a plugin

pytest_plugins = [
    "tests.support.nvml",
    "tests.support.simulated",
    "tests.support.keeping",
    "tests.support.cgroups",
    "tests.support.soak",
    "tests.support.steps",
    "tests.support.command_line",
]
