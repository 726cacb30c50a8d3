"""Flags that don't go together, as tables: a new rule is one row here and one line in tests/unit/test_lint.py.

Each row names where the newest release that has the rule checks it (files of SGLang 0.5.23 unless a release is given);
`since` and `until` (exclusive) are the releases in which it was found. A row about a flag that the release hasn't got
never fires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tui.lint.case import Case
from tui.lint.finding import Finding, Fix, Severity

_Test = Callable[[Any], bool]


def _is_set(value: Any) -> bool:
    return value not in (None, False)


@dataclass(frozen=True, slots=True)
class Needs:
    """A flag that needs others beside it.

    Attributes:
        flag: by its common name.
        needs: one of these must be on.
        when: which values of `flag` need them.
    """

    id: str
    severity: Severity
    flag: str
    needs: tuple[str, ...]
    what: str
    source: str
    when: _Test = _is_set
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Excludes:
    """Two flags that exclude each other."""

    id: str
    flag: str
    other: str
    source: str
    when: _Test = _is_set
    when_other: _Test = _is_set
    unless: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Takes:
    """Values that a flag takes although its parser takes others, too."""

    id: str
    flag: str
    test: _Test
    must: str
    source: str
    only_with: str | None = None
    since: str | None = None
    until: str | None = None


def _above_one(value: Any) -> bool:
    return isinstance(value, int) and value > 1


_NEEDS: tuple[Needs, ...] = (
    Needs(
        "ssl-half",
        Severity.ERROR,
        "ssl-keyfile",
        ("ssl-certfile",),
        "a key is of no use without its certificate",
        "arg_groups/serving_hook.py:50",
        since="0.5.11",
    ),
    Needs(
        "ssl-half",
        Severity.ERROR,
        "ssl-certfile",
        ("ssl-keyfile",),
        "a certificate is of no use without its key",
        "arg_groups/serving_hook.py:54",
        since="0.5.11",
    ),
    Needs(
        "metrics-folder",
        Severity.ERROR,
        "export-metrics-to-file",
        ("export-metrics-to-file-dir",),
        "SGLang must be told where",
        "arg_groups/validation_hook.py:340",
    ),
    Needs(
        "priority-off",
        Severity.WARNING,
        "disable-priority-preemption",
        ("enable-priority-scheduling",),
        "it has no effect without priorities",
        "arg_groups/validation_hook.py:295",
        since="0.5.11",
    ),
    Needs(
        "two-batch-overlap",
        Severity.ERROR,
        "enable-two-batch-overlap",
        ("moe-a2a-backend",),
        "it overlaps what an all-to-all backend sends",
        "0.5.11 server_args.py:6937",
        until="0.5.12",
    ),
    Needs(
        "dp-lm-head",
        Severity.WARNING,
        "enable-dp-lm-head",
        ("dp-size", "attn-dp-size"),
        "with one replica it is switched off",
        "arg_groups/overrides.py:1368, 0.5.11 server_args.py:2929",
    ),
    Needs(
        "no-speculation",
        Severity.WARNING,
        "speculative-num-steps",
        ("speculative-algorithm",),
        "without an algorithm nothing speculates",
        "0.5.11 server_args.py:3286",
    ),
    Needs(
        "no-speculation",
        Severity.WARNING,
        "speculative-eagle-topk",
        ("speculative-algorithm",),
        "without an algorithm nothing speculates",
        "0.5.11 server_args.py:3286",
    ),
    Needs(
        "no-speculation",
        Severity.WARNING,
        "speculative-num-draft-tokens",
        ("speculative-algorithm",),
        "without an algorithm nothing speculates",
        "0.5.11 server_args.py:3286",
    ),
    Needs(
        "no-speculation",
        Severity.WARNING,
        "speculative-draft-model-path",
        ("speculative-algorithm",),
        "without an algorithm the draft model isn't loaded",
        "0.5.11 server_args.py:3286",
    ),
    Needs(
        "no-hicache",
        Severity.WARNING,
        "hicache-ratio",
        ("enable-hierarchical-cache", "disaggregation-decode-enable-offload-kvcache"),
        "without the hierarchical cache it has no effect",
        "0.5.11 server_args.py:3182",
        since="0.5.11",
        until="0.5.12",
    ),
    Needs(
        "no-hicache",
        Severity.WARNING,
        "hicache-size",
        ("enable-hierarchical-cache", "disaggregation-decode-enable-offload-kvcache"),
        "without the hierarchical cache it has no effect",
        "0.5.11 server_args.py:3182",
        when=bool,
        since="0.5.11",
        until="0.5.12",
    ),
)

_EXCLUDES: tuple[Excludes, ...] = (
    Excludes(
        "cache-on-and-off",
        "enable-hierarchical-cache",
        "disable-radix-cache",
        "arg_groups/kv_cache_hook.py:393",
    ),
    Excludes(
        "compile-each-batch",
        "enable-torch-compile",
        "disable-cuda-graph-padding",
        "arg_groups/validation_hook.py:188, 0.5.11 server_args.py:6791",
        since="0.5.11",
    ),
    Excludes(
        "pipeline-speculation",
        "speculative-algorithm",
        "pp-size",
        "0.5.11 server_args.py:6786",
        when_other=_above_one,
        until="0.5.12",
    ),
    Excludes(
        "replicas-over-nodes",
        "dp-size",
        "nnodes",
        "arg_groups/validation_hook.py:198, 0.5.11 server_args.py:6791",
        when=_above_one,
        when_other=_above_one,
        unless="enable-dp-attention",
    ),
    Excludes(
        "dp-lm-head",
        "enable-dp-lm-head",
        "dp-size",
        "arg_groups/overrides.py:1424, 0.5.11 server_args.py:2941: it needs attention replicas",
        when_other=_above_one,
        unless="enable-dp-attention",
    ),
    Excludes(
        "encoder-or-language",
        "encoder-only",
        "language-only",
        "arg_groups/pd_disaggregation_hook.py:309, 0.5.11 server_args.py:3801",
    ),
)

_TAKES: tuple[Takes, ...] = (
    Takes(
        "name-with-colon",
        "served-model-name",
        lambda value: ":" not in str(value) or "://" in str(value),
        "hold no colon, which separates a LoRA adapter's name",
        "arg_groups/validation_hook.py:214",
    ),
    Takes(
        "priority-policy",
        "schedule-policy",
        lambda value: value in ("fcfs", "lof"),
        "be fcfs or lof with --enable-priority-scheduling",
        "arg_groups/validation_hook.py:280",
        only_with="enable-priority-scheduling",
    ),
    Takes(
        "dense-tp",
        "moe-dense-tp-size",
        lambda value: value == 1,
        "be 1, or left out",
        "0.5.11 server_args.py:6798",
        until="0.5.12",
    ),
    Takes(
        "gpu-step",
        "gpu-id-step",
        lambda value: value >= 1,
        "be at least 1",
        "arg_groups/validation_hook.py:205",
    ),
    Takes(
        "conservativeness",
        "schedule-conservativeness",
        lambda value: value >= 0,
        "be 0 or more",
        "arg_groups/validation_hook.py:315",
    ),
    Takes(
        "tokenizers",
        "tokenizer-worker-num",
        lambda value: value > 0,
        "be at least 1",
        "arg_groups/validation_hook.py:268",
    ),
)


def find_combinations(case: Case) -> Iterator[Finding]:
    """Rows of the tables that the command line breaks."""
    yield from _find_needs(case)
    yield from _find_excludes(case)
    yield from _find_takes(case)
    yield from _find_uneven_chunk(case)


def _find_needs(case: Case) -> Iterator[Finding]:
    for row in _NEEDS:
        value = case.get(row.flag)
        if value is None or not _counts(row, case) or not row.when(value) or any(map(case.is_on, row.needs)):
            continue
        name, needed = case.typed(row.flag), " or ".join(f"--{name}" for name in row.needs)
        what = f"--{name} needs {needed}: {row.what}"
        remedy = f"give {needed}, or leave out --{name}"
        yield Finding(row.id, row.severity, name, what, remedy, Fix(unset=(name,)))


def _find_excludes(case: Case) -> Iterator[Finding]:
    for row in _EXCLUDES:
        value, other = case.get(row.flag), case.get(row.other)
        if value is None or other is None or not (row.when(value) and row.when_other(other)):
            continue
        if not _counts(row, case) or (row.unless is not None and case.is_on(row.unless)):
            continue
        one, two = case.typed(row.flag), case.typed(row.other)
        what = f"--{one} and --{two} exclude each other in SGLang {case.release.text}"
        yield Finding(row.id, Severity.ERROR, one, what, "leave one of them out")


def _find_takes(case: Case) -> Iterator[Finding]:
    for row in _TAKES:
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


def _counts(row: Needs | Excludes | Takes, case: Case) -> bool:
    release = case.release
    if row.since is not None and not release.includes(row.since):
        return False
    return row.until is None or not release.includes(row.until)
