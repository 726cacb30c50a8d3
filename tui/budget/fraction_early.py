"""`mem_fraction_static` before 0.5.3, from the number of ranks or the card alone; logs of such servers are still read.

Sources: SGLang 0.4.3.post2 and 0.4.6.post2 server_args.py (steps), 0.4.8.post1, 0.4.10.post2 and 0.5.2 (by card).
"""

from __future__ import annotations

from tui.budget.parallel import Parallel
from tui.budget.rules import Fraction
from tui.budget.speculation import Speculation
from tui.budget.types import PlanRequest

_STEPS = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (0, 0.88))
_DP_ATTENTION_MIB = 4096


def early_fraction(request: PlanRequest, parallel: Parallel, speculation: Speculation | None, total_mib: int) -> float:
    """The fraction for a card of `total_mib`."""
    ranks = parallel.world
    if request.rules.fraction is Fraction.STEPS:
        return next(fraction for least, fraction in _STEPS if ranks >= least)
    reserve = _by_card_mib(total_mib, ranks)
    if speculation is not None:
        rules = request.rules
        reserve += rules.standalone_reserve_mib if speculation.algorithm == "STANDALONE" else rules.draft_reserve_mib
    if parallel.attention_dp > 1:
        reserve += _DP_ATTENTION_MIB
    return round((total_mib - reserve) / total_mib, 3)


def _by_card_mib(total_mib: int, ranks: int) -> float:
    if total_mib < 35 * 1024:
        return (2.8 + ranks / 10) * 1024
    if total_mib < 90 * 1024:
        return (9.5 + ranks / 2) * 1024
    return (12 + ranks / 2) * 1024 if total_mib < 160 * 1024 else 32 * 1024
