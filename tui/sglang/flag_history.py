"""Since when, and until when, SGLang has a flag: from the sources of every release from 0.5.6.post2 to 0.5.23."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tui.sglang.versions import Release

_FILE = Path(__file__).parent / "data" / "flag-history.json"  # printed by tests/oracles/flag_history.py


@dataclass(frozen=True, slots=True)
class Life:
    """A flag's releases.

    Attributes:
        since: the first that has it; None: all that are known here.
        gone: the first that hasn't it any more; None: the newest still has it.
    """

    since: str | None
    gone: str | None

    def includes(self, release: Release) -> bool:
        """The release has it."""
        return (self.since is None or release.includes(self.since)) and (
            self.gone is None or not release.includes(self.gone)
        )

    def describe(self, release: Release) -> str | None:
        """Why the release hasn't it, in words; None if it has."""
        if self.since is not None and not release.includes(self.since):
            return f"SGLang has it from {self.since} on"
        if self.gone is not None and release.includes(self.gone):
            return f"SGLang {self.gone} removed it"
        return None


@lru_cache(maxsize=1)
def histories() -> Mapping[str, Life]:
    """By option, with dashes; of flags that every known release has, nothing."""
    rows = json.loads(_FILE.read_bytes())["flags"]
    return {option: Life(since, gone) for option, (since, gone) in rows.items()}


def find_life(option: str) -> Life | None:
    """The life of a flag that isn't in all known releases."""
    return histories().get(option)
