"""What a lint finds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"  # SGLang would end with it
    WARNING = "warning"  # it would start, and do something else than was probably meant
    NOTE = "note"  # good to know


class Fix(Struct, frozen=True):
    """Flags to change, by name without dashes."""

    set: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()


class Finding(Struct, frozen=True):
    """One fault.

    Attributes:
        id: stays the same over releases of this program; scripts may rely on it.
        flag: as typed, without dashes; empty when it is about none.
        what: one sentence with the facts.
        remedy: what to do, in words.
        fix: the same as data, where it is one change of flags.
    """

    id: str
    severity: Severity
    flag: str
    what: str
    remedy: str
    fix: Fix | None = None
