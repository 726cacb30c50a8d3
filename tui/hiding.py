"""What of a command line isn't shown: the values of flags that take secrets. Standard library alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "***"

# Flags of 0.5.6.post2 to 0.5.23 whose value is a secret.
SECRET_FLAGS = ("--api-key", "--admin-api-key", "--ssl-keyfile-password")
# A whole flag that starts one of them, and names a file.
_NOT_SECRET = frozenset({"--ssl-keyfile"})
# Mistyped ones, and those of other programs.
_SOUNDS_SECRET = re.compile(
    r"--?(?:.*[-_])?(?:(?:api|secret)[-_]?)?(?:key|secret|passw(?:or)?d|(?:hf|auth|access)[-_]?token)", re.IGNORECASE
)


def is_secret_flag(option: str) -> bool:
    """Whether an option, as typed (`--api-key`, `--api-k`, `--api-key=…`), takes a secret.

    Any prefix counts: where argparse would find it ambiguous nothing starts, and hiding its value costs nothing. So
    does a mistyped one (`--apikey`), whose value would stand in records and in SGLang's refusal.
    """
    if not option.startswith("-"):  # most words: each look at a machine asks of hundreds
        return False
    name = option.partition("=")[0]
    if len(name) <= len("--") or name in _NOT_SECRET:
        return False
    return any(flag.startswith(name) for flag in SECRET_FLAGS) or _SOUNDS_SECRET.fullmatch(name) is not None


def hide_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command line, of whatever program, with `***` for the value of each flag that takes a secret."""
    return [_hide(before, word) for before, word in zip(["", *words], words)]


def command_text(words: Sequence[str]) -> str:
    """A command line of whatever program in one line, for people; also what a script in one of its words gives away.

    setproctitle, which SGLang's processes use, writes a title over the argument vector and leaves the rest of its room
    as blanks or empty words.
    """
    shown = hide_secrets(words)
    apart = " ".join(shown).split()
    return " ".join(apart if apart == shown else hide_secrets(apart))


def _hide(before: str, word: str) -> str:
    if "=" not in before and is_secret_flag(before):
        return HIDDEN
    name, equals, _ = word.partition("=")
    return f"{name}={HIDDEN}" if equals and is_secret_flag(name) else word
