"""Which words of a command line are secrets: neither a record nor a screen gets them."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "***"
# Flags of SGLang 0.5.6.post2 to 0.5.23 whose value is a secret.
SECRET_FLAGS = ("--api-key", "--admin-api-key", "--ssl-keyfile-password")
# A whole flag that starts one of them, and names a file.
_NOT_SECRET = frozenset({"--ssl-keyfile"})
_MISTYPED = re.compile(
    r"--?(?:.*[-_])?(?:(?:api|secret)[-_]?)?(?:key|secret|passw(?:or)?d|(?:hf|auth|access)[-_]?token)", re.IGNORECASE
)


def is_secret_flag(option: str) -> bool:
    """Whether an option, as typed (`--api-key`, `--api-k`, `--api-key=…`), takes a secret.

    Any prefix counts: where argparse would find it ambiguous nothing starts, and hiding its value costs nothing. So
    does a mistyped one (`--apikey`), whose value would stand in records and in SGLang's refusal.
    """
    name = option.partition("=")[0]
    if len(name) <= len("--") or name in _NOT_SECRET:
        return False
    return any(flag.startswith(name) for flag in SECRET_FLAGS) or _MISTYPED.fullmatch(name) is not None


def hide(words: Iterable[str]) -> list[str]:
    """The words with `***` in the place of each secret flag's value."""
    shown, previous = [], ""
    for word in words:
        shown.append(_hide(previous, word))
        previous = word
    return shown


def in_one_line(words: Iterable[str]) -> str:
    """A process's command line for a person: without secrets, also in a command that is a single word (`bash -c`).

    setproctitle, which SGLang's processes use, writes a title over the vector and leaves the rest of its room as blanks
    or empty arguments.
    """
    return " ".join(hide(" ".join(hide(words)).split()))


def _hide(previous: str, word: str) -> str:
    if "=" not in previous and is_secret_flag(previous):
        return HIDDEN
    name, equals, _ = word.partition("=")
    return f"{name}={HIDDEN}" if equals and is_secret_flag(name) else word
