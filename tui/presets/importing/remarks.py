"""What an import says: in which other form something is kept, what nobody can know here, what isn't kept at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.hiding import HIDDEN, is_secret_flag
from tui.presets.secrets import is_secret_variable
from tui.text import printable

_SHORTEST_SECRET = 4  # anything shorter stands in half of all words
_LONGEST = 200
# NAME=value and --flag value, and what is a token by its shape: of Hugging Face, OpenAI, GitHub, or behind "Bearer".
_ASSIGNED = re.compile(r"(?P<name>[\w-]+)(?P<between>[=:]\s*|\s+)(?P<value>[^\s'\"`]+)")
_TOKENS = re.compile(r"\b(?:hf_|sk-|ghp_|github_pat_|nvapi-)[\w-]{6,}|(?<=Bearer )[^\s'\"`]+", re.IGNORECASE)


class Remark(Struct, frozen=True):
    """One thing to know about an import.

    Attributes:
        kind: `changed`: kept in another form; `unclear`: kept as it was typed, a person must look; `lost`: not kept.
    """

    kind: Literal["changed", "unclear", "lost"]
    text: str


@dataclass(slots=True)
class Remarks:
    """What has been said so far, in order and once each.

    Attributes:
        secrets: values that must not be repeated.
        obstacle: why no server was found, where that is known.
    """

    secrets: set[str] = field(default_factory=set)
    obstacle: str | None = None
    _said: dict[Remark, None] = field(default_factory=dict)

    def changed(self, text: str) -> None:
        """It is kept in another form."""
        self._said[Remark("changed", text)] = None

    def unclear(self, text: str) -> None:
        """It is kept as it was typed, and means nothing yet."""
        self._said[Remark("unclear", text)] = None

    def lost(self, text: str) -> None:
        """It isn't kept."""
        self._said[Remark("lost", text)] = None

    def all(self) -> tuple[Remark, ...]:
        """All of them, without secrets and control codes."""
        return tuple(replace(remark, text=self._harmless(remark.text)) for remark in self._said)

    def _harmless(self, text: str) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, HIDDEN)
        text = _TOKENS.sub(HIDDEN, _ASSIGNED.sub(_hide, text))
        return printable(text)


def quote(words: str) -> str:
    """Something that was pasted, as it stands in a remark: one line, shortened."""
    line = " ".join(words.split())
    return f"`{line if len(line) <= _LONGEST else line[:_LONGEST] + '…'}`"


def _hide(match: re.Match[str]) -> str:
    name = match["name"]
    if name.startswith("-"):
        is_secret = is_secret_flag(name) or name.lower().endswith(("token", "password"))
    else:
        is_secret = is_secret_variable(name) and "=" in match["between"]
    return f"{name}{match['between']}{HIDDEN}" if is_secret else match[0]
