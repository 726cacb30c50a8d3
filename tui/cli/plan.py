"""`sgltui plan`: the memory budget before a launch."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence

from msgspec.structs import replace

from tui.budget.answer import to_json
from tui.budget.types import Basis, BudgetItem, Card, FlagChange, Measured, MemoryBudget, RankBudget, Verdict
from tui.cli.context import Context, open_context, print_json, print_table
from tui.cli.say import say
from tui.errors import ExitCode, RefusedError, UsageError
from tui.launch import guard
from tui.launch.measured import fill, recall
from tui.launch.planning import (
    Described,
    cards_of,
    choose_gpus,
    choose_release,
    count_gpus,
    describe_cards,
    plan_launch,
    smallest_total,
)
from tui.launch.spec import LaunchSpec, parse_gpus, spec_from_model, spec_from_preset
from tui.presets import find_preset
from tui.sglang.command import split_flag_words
from tui.sglang.versions import Release, parse_release
from tui.sglang.words import nearest_inventory
from tui.text import printable
from tui.units import GIB

_GPU = re.compile(r"(?P<name>.*?):(?P<total>\d+)(?::(?P<free>\d+))?")
_EXIT = {
    Verdict.FITS: ExitCode.DONE,
    Verdict.TIGHT: ExitCode.DONE,
    Verdict.EXCEEDS: ExitCode.DOES_NOT_FIT,
    Verdict.UNKNOWN: ExitCode.CANNOT_TELL,
}


def plan(options: argparse.Namespace) -> ExitCode:
    """Print the budget; the status tells the verdict."""
    context = open_context(options)
    if options.compare is not None:
        # Only now: what reads logs takes as long to import as the rest.
        from tui.cli.compare import compare_launch  # noqa: PLC0415 - see above

        return _EXIT[compare_launch(context, options, lambda: make_budget(context, options)).verdict]
    budget = make_budget(context, options)
    if options.json:
        print_json(to_json(budget))
    else:
        show(budget)
    return _EXIT[budget.verdict]


def make_budget(context: Context, options: argparse.Namespace) -> MemoryBudget:
    """The plan of what was typed; weights that an earlier launch measured are taken for measured."""
    spec = _spec(context, options)
    release, doubt = _release(context, options, spec)
    cards, smallest = _cards(context, options, spec, release)
    given = Measured(options.avail_before, options.weights, options.draft_weights)
    measured, note = fill(given, recall(context.places, spec, release, cards))
    budget = plan_launch(spec, release, cards, smallest, measured=measured, hub=context.places.hub)
    warnings = (doubt,) if doubt else ()
    notes = (note,) if note else ()
    return replace(budget, warnings=(*warnings, *budget.warnings), notes=(*budget.notes, *notes))


def _spec(context: Context, options: argparse.Namespace) -> LaunchSpec:
    typed = split_flag_words(options.passed_on, nearest_inventory(options.sglang))
    model = options.config or options.model or typed.model
    if options.preset is not None:
        spec = spec_from_preset(find_preset(context.places, options.preset))
        spec = spec if model is None else replace(spec, model=str(model))
    elif model is None:
        raise UsageError(
            "give a preset, --model or --config", "`sgltui plan --model ORG/NAME`; `sgltui preset list` shows presets"
        )
    else:
        spec = spec_from_model(str(model))
    return replace(spec, words=spec.words + typed.rest)


def _release(context: Context, options: argparse.Namespace, spec: LaunchSpec) -> tuple[Release, str | None]:
    """The release that would run it, and what is doubtful about that."""
    if options.sglang is not None:
        return parse_release(options.sglang), None
    release, doubt = choose_release(spec, context.settings, context.places)
    return release, doubt and f"{doubt}; give --sglang"


def _cards(
    context: Context, options: argparse.Namespace, spec: LaunchSpec, release: Release
) -> tuple[list[Card], int | None]:
    """The GPUs to plan for, and MiB of the smallest card that SGLang will see."""
    if options.gpu is not None:
        described = _read_gpu(options.gpu, options.gpus or count_gpus(spec, release))
        return describe_cards(described), described.total_mib
    reading = context.reader.read()
    if not reading.gpus:
        problem = reading.problem
        raise RefusedError(
            problem.what if problem else "no GPU can be read", 'describe one: --gpu "NVIDIA H100 80GB HBM3:81559"'
        )
    wanted = spec if options.on is None else replace(spec, gpus=parse_gpus(options.on))
    promised = guard.promised_gpus(guard.running(context.places))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = choose_gpus(wanted, release, reading, visible=visible, promised=promised)
    return cards_of(chosen), smallest_total(reading)


def _read_gpu(text: str, count: int) -> Described:
    match = _GPU.fullmatch(text)
    if match is None:
        raise UsageError(f"--gpu {text!r} isn't NAME:TOTAL_MIB[:FREE_MIB]", 'like "NVIDIA H100 80GB HBM3:81559"')
    total, free = int(match["total"]), match["free"]
    return Described(match["name"], total or None, None if free is None else int(free), count)


def show(budget: MemoryBudget) -> None:
    """The budget as a table, the verdict as a sentence, the changes as a list."""
    cards = ", ".join(dict.fromkeys(card.name for card in budget.cards)) or "no GPU"
    count = f"{len(budget.cards)} x " if len(budget.cards) > 1 else ""
    print(printable(f"{budget.model} with SGLang {budget.release} on {count}{cards}"))
    if budget.ranks:
        _show_rank(_fullest(budget.ranks), len(budget.ranks) > 1)
    print(f"\n{budget.verdict.value.upper()}: {printable(budget.reason)}")
    if budget.expected_error is not None:
        print(printable(f"SGLang would end with: {budget.expected_error}"))
    for note in budget.notes:
        print(f"- {printable(note)}")
    _show_changes(budget.changes)
    for warning in budget.warnings:
        say(warning)


def _fullest(ranks: Sequence[RankBudget]) -> RankBudget:
    return min(ranks, key=lambda rank: min(point.free for point in rank.timeline))


def _show_rank(rank: RankBudget, is_one_of_many: bool) -> None:
    print(f"\nGPU {rank.gpu}, the fullest" if is_one_of_many else f"\nGPU {rank.gpu}")
    print_table(("GIB", "", "KNOWN", "WHAT", "HOW"), [_row(item) for item in rank.items if item.high])
    free = " · ".join(f"{point.stage} {point.free / GIB:.1f}" for point in rank.timeline)
    print(f"free after each stage, GiB: {free}")


def _row(item: BudgetItem) -> tuple[str, ...]:
    spread = "" if item.low == item.high else f"{item.low / GIB:.1f} to {item.high / GIB:.1f}"
    known = item.basis.value if item.basis is not Basis.ESTIMATED or not spread else "estimated"
    return f"{item.size / GIB:7.2f}", spread, known, item.component, item.formula


def _show_changes(changes: Sequence[FlagChange]) -> None:
    if not changes:
        return
    print("\nwhat would help")
    rows = [
        (str(number), _words(change), change.verdict.value, change.effect, f"gives up {change.costs}")
        for number, change in enumerate(changes, 1)
    ]
    print_table(("", "CHANGE", "", "EFFECT", "PRICE"), rows)


def _words(change: FlagChange) -> str:
    words = [f"--{name}" if value == "true" else f"--{name} {value}" for name, value in change.set.items()]
    unset = [f"--{name}" for name in change.unset if not name.startswith("speculative-")]
    if len(unset) < len(change.unset):
        words.append("no speculation")
    if unset:
        words.append("without " + ", ".join(unset))
    if change.upgrade is not None:
        words.append(f"SGLang {change.upgrade} or later")
    return " and ".join(words)
