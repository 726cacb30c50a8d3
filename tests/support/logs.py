"""The recorded, collected and hand-made logs under tests/fixtures."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
REAL_LOGS = sorted((FIXTURES / "real").glob("*/*.log"))


def read_log(name: str) -> list[str]:
    """The physical lines of a log below tests/fixtures, ends kept; only LF ends a line."""
    return (FIXTURES / name).read_bytes().decode(errors="replace").split("\n")
