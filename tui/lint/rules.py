"""Flags that don't go together: what breaks a row of the tables, and the few checks that aren't one row."""

from __future__ import annotations

from collections.abc import Iterator

from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity
from tui.lint.rule_tables import EXCLUDES, NEEDS, TAKES, Excludes, Needs, Takes


def find_combinations(case: Case) -> Iterator[Finding]:
    """Rows of the tables that the command line breaks."""
    yield from _find_needs(case)
    yield from _find_excludes(case)
    yield from _find_takes(case)
    yield from _find_uneven_chunk(case)
    yield from _find_decode_radix(case)


def _find_needs(case: Case) -> Iterator[Finding]:
    for row in NEEDS:
        value = case.get(row.flag)
        if value is None or not _counts(row, case) or not row.when(value) or any(map(case.is_on, row.needs)):
            continue
        name, needed = case.typed(row.flag), " or ".join(f"--{name}" for name in row.needs)
        what = f"--{name} needs {needed}: {row.what}"
        remedy = f"give {needed}, or leave out --{name}"
        yield Finding(row.id, row.severity, name, what, remedy, Fix(unset=(name,)))


def _find_excludes(case: Case) -> Iterator[Finding]:
    for row in EXCLUDES:
        value, other = case.get(row.flag), case.get(row.other)
        if value is None or other is None or not (row.when(value) and row.when_other(other)):
            continue
        if not _counts(row, case) or (row.unless is not None and case.is_on(row.unless)):
            continue
        if row.only_with is not None and case.effective(row.only_with[0]) != row.only_with[1]:
            continue
        one, two = case.typed(row.flag), case.typed(row.other)
        what = f"--{one} and --{two} exclude each other in SGLang {case.release.text}"
        yield Finding(row.id, Severity.ERROR, one, what, "leave one of them out")


def _find_takes(case: Case) -> Iterator[Finding]:
    for row in TAKES:
        value = case.get(row.flag)
        if value is None or not _counts(row, case) or row.test(value):
            continue
        if row.only_with is not None and not case.is_on(row.only_with):
            continue
        name = case.typed(row.flag)
        yield Finding(row.id, Severity.ERROR, name, f"--{name} is {value}, but must {row.must}", "correct the value")


def _find_uneven_chunk(case: Case) -> Iterator[Finding]:
    """A prefill chunk is whole pages (arg_groups/validation_hook.py:243, 0.5.6.post2 server_args.py:4128)."""
    chunk, page = case.get("chunked-prefill-size"), case.get("page-size")
    is_cut = isinstance(chunk, int) and chunk > 0 and isinstance(page, int) and page > 1
    if is_cut and case.effective("disaggregation-mode") != "decode" and chunk % page:
        name = case.typed("chunked-prefill-size")
        what = f"--{name} is {chunk}, which isn't a whole number of pages of {page}"
        near = max(page, chunk // page * page)
        yield Finding("uneven-chunk", Severity.ERROR, name, what, f"write {near}", Fix({name: near}))


def _find_decode_radix(case: Case) -> Iterator[Finding]:
    """0.5.11 keeps a decode server's radix cache with one way of transfer only (server_args.py:3746)."""
    flag, release = "disaggregation-decode-enable-radix-cache", case.release
    if not (case.is_on(flag) and case.effective("disaggregation-mode") == "decode"):
        return
    backend = case.effective("disaggregation-transfer-backend")
    if backend not in ("nixl", "fake") and not release.includes("0.5.12"):
        name = case.typed(flag)
        what = f"--{name} needs --disaggregation-transfer-backend nixl in SGLang {release.text}, and it is {backend}"
        yield Finding("decode-radix-transfer", Severity.ERROR, name, what, "give nixl, or leave it out")


def _counts(row: Needs | Excludes | Takes, case: Case) -> bool:
    release = case.release
    if row.since is not None and not release.includes(row.since):
        return False
    return row.until is None or not release.includes(row.until)
