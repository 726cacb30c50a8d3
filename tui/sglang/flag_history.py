"""Since when, and until when, SGLang has a flag: from the sources of every release from 0.5.6.post2 to 0.5.23."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from tui.sglang.versions import Release

_FILE = Path(__file__).parent / "data" / "flag-history.json"  # printed by tests/oracles/flag_history.py


class Life(Struct, frozen=True):
    """A flag's releases.

    Attributes:
        spans: the first that has it (None: all that are known here) and the first that hasn't it any more (None: the
            newest still has it); a few flags went and came back.
    """

    spans: tuple[tuple[str | None, str | None], ...]

    @property
    def gone(self) -> str | None:
        """The first that hasn't it any more, for good; None: the newest still has it."""
        return self.spans[-1][1]

    def includes(self, release: Release) -> bool:
        """The release has it."""
        return any(
            (since is None or release.includes(since)) and (gone is None or not release.includes(gone))
            for since, gone in self.spans
        )

    def describe(self, release: Release) -> str | None:
        """Why the release hasn't it, in words; None if it has."""
        if self.includes(release):
            return None
        removed = [gone for _, gone in self.spans if gone is not None and release.includes(gone)]
        return f"SGLang {removed[-1]} removed it" if removed else f"SGLang has it from {self.spans[0][0]} on"


@lru_cache(maxsize=1)
def histories() -> Mapping[str, Life]:
    """By option, with dashes; of flags that every known release has, nothing."""
    rows = json.loads(_FILE.read_bytes())["flags"]
    return {option: Life(tuple((since, gone) for since, gone in spans)) for option, spans in rows.items()}


def find_life(option: str) -> Life | None:
    """The life of a flag that isn't in all known releases."""
    return histories().get(option)
