"""`sgltui explain`: why a launch failed, from its log, in words and numbers."""

from __future__ import annotations

import argparse
from datetime import datetime

from msgspec.structs import replace

from tui.cli.context import open_context, print_json
from tui.diagnosis.answer import to_json
from tui.diagnosis.brief import exit_words
from tui.diagnosis.diagnosis import Diagnosis
from tui.diagnosis.redaction import redact
from tui.diagnosis.words import describe_change, headline
from tui.diagnosis.words import explain as in_words
from tui.errors import ExitCode, UsageError
from tui.launch.explain import Case, Explained, find_case, read_context, with_gpus
from tui.launch.explain import explain as explain_case
from tui.launch.explanations import report_of
from tui.sglang.versions import parse_release
from tui.text import printable

_MOST_FINDINGS = 8


def explain(options: argparse.Namespace) -> ExitCode:
    """Say what is the matter with a launch, or with any log."""
    context = open_context(options)
    case = _with_options(find_case(context.places, options.target), options)
    if case.gpus:
        case = with_gpus(case, context.reader.read())
    explained = explain_case(case)
    if options.json:
        print_json(to_json(explained.diagnosis, explained.secrets))
    elif options.report:
        print(report_of(explained, context.reader.read().driver), end="")
    else:
        show(explained)
    return ExitCode.DONE


def _with_options(case: Case, options: argparse.Namespace) -> Case:
    release = case.release if options.sglang is None else parse_release(options.sglang)
    ending = case.ending
    if options.exit is not None:
        ending = replace(ending, returncode=options.exit, now=None)
    if options.at is not None:
        ending = replace(ending, now=read_moment(options.at))
    return replace(case, release=release, ending=ending)


def show(explained: Explained) -> None:
    """The outcome, the reason with its numbers, what to change, and the line itself with what stands around it."""
    diagnosis = explained.diagnosis
    name = explained.case.address or str(explained.case.log)
    print(printable(f"{name} {headline(diagnosis)}{_exit_words(diagnosis)}"))
    print(_safe(in_words(diagnosis), explained))
    for number, change in enumerate(diagnosis.changes, 1):
        price = f"; gives up {change.costs}" if change.costs else ""
        print(_safe(f"  {number}  {describe_change(change)}: {change.effect}{price}", explained))
    for advice in diagnosis.advice:
        print(_safe(f"  -  {advice}", explained))
    _show_lines(explained)
    for finding in diagnosis.findings[:_MOST_FINDINGS]:
        where = (
            f" (line {finding.line}{f', {finding.count} times' if finding.count > 1 else ''})" if finding.line else ""
        )
        print(_safe(f"note: {finding.words}{where}", explained))


def _exit_words(diagnosis: Diagnosis) -> str:
    """An exit status, and whose SIGKILL it was."""
    has_root = diagnosis.root_line is not None
    words = exit_words(diagnosis.returncode, diagnosis.failure, diagnosis.outcome, has_root=has_root)
    return f"; {words}" if words else ""


def _show_lines(explained: Explained) -> None:
    root = explained.diagnosis.root_line
    if root is None:
        return
    print()
    context = read_context(explained.case.log, root)
    for number, text in context:
        _show_line(explained, number, text)
    shown = {number for number, _ in context}
    for number in [line for line in explained.diagnosis.secondary_lines if line not in shown][:3]:
        for same, text in read_context(explained.case.log, number, 0):
            _show_line(explained, same, text)


def _show_line(explained: Explained, number: int, text: str) -> None:
    diagnosis = explained.diagnosis
    sign = "✗" if number == diagnosis.root_line else " "
    mark = "   (a consequence)" if number in diagnosis.secondary_lines else ""
    print(f"{sign} {number:>6} | {_safe(text, explained)[:500]}{mark}")


def _safe(text: str, explained: Explained) -> str:
    return printable(redact(text, explained.secrets))


def read_moment(text: str) -> datetime:
    """The argument of `--at`: a time in the server's own zone, as its log has it; one with a zone is converted.

    Raises:
        UsageError: it isn't a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--at {text!r} isn't a time", "write it as 2026-06-12 09:20:00") from None
    return moment if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)
