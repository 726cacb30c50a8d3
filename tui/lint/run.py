"""All rules over one command line. Pure: nothing is read, nothing is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui.budget.refusal import CannotTell, RefusedLaunch
from tui.budget.settings import resolve_settings
from tui.budget.types import Card
from tui.lint.case import Case
from tui.lint.command_line import find_deprecated, find_troubles
from tui.lint.config_option import find_idle_config
from tui.lint.finding import Finding, Severity
from tui.lint.lora_rules import find_lora_faults
from tui.lint.model_rules import find_card_faults, find_model_faults
from tui.lint.quantization_rules import find_quantization_faults
from tui.lint.rules import find_combinations
from tui.model.shapes import Model
from tui.model.sharding import check_sharding
from tui.sglang.parse import parse_flags
from tui.sglang.target import Target

_RANKING = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_OPTION = re.compile(r"--([a-z][a-z0-9-]+)")


def lint(
    words: Sequence[str],
    target: Target,
    model: Model | None = None,
    cards: Sequence[Card] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """The faults of a command line, the worst first.

    Args:
        words: as SGLang parses them: behind `python -m sglang.launch_server`, a config file merged.
        target: whose flags.
        model: what it serves, where that is known.
        cards: the GPUs that it will see, in rank order, where they are known.
        environment: SGLANG_* variables that it will have.
    """
    flags = parse_flags(words, target.inventories)
    case = Case(flags, target, model, None if cards is None else tuple(cards), environment or {})
    found = [
        *find_troubles(case, words),
        *find_idle_config(words, target),
        *find_combinations(case),
        *find_lora_faults(case),
        *find_model_faults(case),
        *find_card_faults(case),
        *find_quantization_faults(case),
        *find_deprecated(case),
    ]
    # What can't be parsed leaves the planner without a value, which it would then miss.
    if not any(finding.severity is Severity.ERROR for finding in found):
        found += _find_refusals(case)
    return tuple(sorted(found, key=lambda finding: _RANKING.index(finding.severity)))


def _find_refusals(case: Case) -> Iterator[Finding]:
    """What the planner knows that the release refuses for this model and these cards."""
    request = case.request
    if request is None:
        return
    try:
        settings = resolve_settings(request)
        parallel = settings.parallel
        trouble = check_sharding(request.model, parallel.tensor, parallel.attention_tensor, parallel.expert)
    except RefusedLaunch as refusal:
        yield _refused("refused", refusal.reason, case)
    except CannotTell:
        return
    else:
        if trouble is not None:
            yield _refused("uneven-shards", trouble, case)


def _refused(identity: str, reason: str, case: Case) -> Finding:
    named = [name for name in _OPTION.findall(reason) if case.get(name) is not None]
    flag = case.typed(named[0]) if named else "tp-size" if identity == "uneven-shards" else ""
    return Finding(identity, Severity.ERROR, flag, reason, "change one of these flags; `sgltui plan` tells what fits")
