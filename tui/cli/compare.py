"""`sgltui plan --compare`: the plan beside what the log of a launch says."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tui.budget.answer import to_json
from tui.budget.types import MemoryBudget
from tui.cli.context import Context, print_json, print_table
from tui.diagnosis.compare import Comparison, compare
from tui.diagnosis.compare import to_json as rows_to_json
from tui.launch.budgets import Budgets
from tui.launch.explain import case_of, explain
from tui.launch.records import Recorded, find_launch
from tui.text import printable


def compare_launch(
    context: Context, options: argparse.Namespace, plan_typed: Callable[[], MemoryBudget]
) -> MemoryBudget:
    """Print both; the plan is that of the launch itself, unless another one was typed.

    Raises:
        SgltuiError: there is no such launch, its log can't be read, or no plan can be made.
    """
    recorded = find_launch(context.places, options.compare)
    typed = any((options.preset, options.model, options.config, options.gpu, options.passed_on))
    budget = plan_typed() if typed else _plan_of(context, recorded)
    memory = explain(case_of(recorded, hub=context.places.hub)).diagnosis.memory
    comparison = compare(budget, memory)
    if options.json:
        print_json(to_json(budget) | {"compare": {"launch": recorded.address, **rows_to_json(comparison)}})
    else:
        _show(recorded, budget, comparison)
    return budget


def _plan_of(context: Context, recorded: Recorded) -> MemoryBudget:
    own = {member.pid for member in recorded.living_members()}
    return Budgets(context.places, context.settings).plan_launch(recorded.address, context.reader.read(), own)


def _show(recorded: Recorded, budget: MemoryBudget, comparison: Comparison) -> None:
    print(printable(f"{budget.model} with SGLang {budget.release}: planned, and logged by {recorded.address}"))
    table = [
        (row.component, *(_cell(value) for value in (row.planned_gib, row.logged_gib, row.difference_gib)))
        for row in comparison.rows
    ]
    print_table(("GIB", "PLANNED", "LOGGED", "DIFFERENCE"), table)
    if comparison.unplanned_gib is not None:
        print(f"{comparison.unplanned_gib:.2f} GiB went where no line of the log tells: workspaces, kernels, others")
    print(f"\n{budget.verdict.value.upper()}: {printable(budget.reason)}")


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
