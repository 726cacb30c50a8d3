"""Sets of modules as quantisation configs list them: names, parts of names, wildcards, simple regular expressions."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

# What occurs in published configs: an escaped dot, digits, anything. Other expressions from a file aren't run: one
# could take for ever.
_ANYTHING = re.compile(r"\.\*|\\d[+*]|\[0-9\][+*]")
_SPECIAL = re.compile(r"[\\()\[\]{}|+?^$]")
_MOST_PATTERNS = 5000


class ModuleSet(Struct, frozen=True):
    """Modules by name: `lm_head`, `model.layers.*.self_attn`, or an expression after `re:`."""

    patterns: tuple[str, ...] = ()

    @property
    def is_clear(self) -> bool:
        """Every pattern is one that can be decided, and they aren't too many to try them all."""
        return len(self.patterns) <= _MOST_PATTERNS and None not in map(_wildcard, self.patterns)

    def holds(self, module: str) -> bool:
        """A module's dotted name, or a part of it from dot to dot, is in the set."""
        return any(_matches(pattern, module) for pattern in self.patterns)


def _matches(pattern: str, module: str) -> bool:
    wildcard = _wildcard(pattern)
    if wildcard is None:
        return False
    if "*" not in wildcard:
        return f".{wildcard}." in f".{module}."
    return fnmatchcase(module, wildcard) or fnmatchcase(module, f"{wildcard}.*")


@lru_cache(maxsize=_MOST_PATTERNS)
def _wildcard(pattern: str) -> str | None:
    """A pattern with nothing but `*` in it; None if it says more than that.

    The language model of a multimodal checkpoint is named as if it were alone, as it is in this package.
    """
    text = pattern.replace("language_model.", "")
    if not pattern.startswith("re:"):
        return text
    text = _ANYTHING.sub("*", text.removeprefix("re:")).removeprefix("^").removesuffix("$").replace("\\.", ".")
    return None if _SPECIAL.search(text) else text
