"""Fixtures for every test."""

from __future__ import annotations

pytest_plugins = [
    "tests.support.nvml",
    "tests.support.simulated",
    "tests.support.keeping",
    "tests.support.cgroups",
    "tests.support.soak",
    "tests.support.steps",
    "tests.support.command_line",
]
