"""The table of rules: add a row, with its sample, to the file of its group; the first that fits counts.

Consequences come first: they quote the words of what they aren't.
"""

from __future__ import annotations

import functools

from tui.diagnosis.rule import Rule
from tui.diagnosis.rules_arguments import ARGUMENTS
from tui.diagnosis.rules_consequence import CONSEQUENCES
from tui.diagnosis.rules_environment import ENVIRONMENT
from tui.diagnosis.rules_memory import MEMORY
from tui.diagnosis.rules_running import RUNNING, WARMUP_FAILED

__all__ = ("RULES", "WARMUP_FAILED", "candidates")

RULES: tuple[Rule, ...] = (*CONSEQUENCES, *MEMORY, *ENVIRONMENT, *RUNNING, *ARGUMENTS)

_LITERALS = tuple((literal, place) for place, rule in enumerate(RULES) for literal in rule.literals)
_WITHOUT_DIGITS: dict[int, None] = dict.fromkeys(map(ord, "0123456789"))
_SHAPES = 4096


def candidates(text: str) -> tuple[Rule, ...]:
    """The rules one of whose literals stands in a text, in the table's order: all that need to be tried.

    Lines of a storm differ in their figures only, and literals have none: what was found for one holds for all.
    """
    return _candidates(text.translate(_WITHOUT_DIGITS))


@functools.lru_cache(_SHAPES)
def _candidates(shape: str) -> tuple[Rule, ...]:
    places = [place for literal, place in _LITERALS if literal in shape]
    return tuple(RULES[place] for place in dict.fromkeys(places))
