"""Flags that don't go together, as tables: a new rule is one row here and one line in tests/unit/test_lint.py.

Each row names where the newest release that has the rule checks it (files of SGLang 0.5.23 unless a release is given);
`since` and `until` (exclusive) are the releases in which it was found. A row about a flag that the release hasn't got
never fires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from tui.lint.finding import Severity

_Test = Callable[[Any], bool]


def _is_set(value: Any) -> bool:
    return value not in (None, False)


class Needs(Struct, frozen=True):
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


class Excludes(Struct, frozen=True):
    """Two flags that exclude each other.

    Attributes:
        unless: with this switch they don't.
        only_with: a flag and the value with which alone they do.
    """

    id: str
    flag: str
    other: str
    source: str
    when: _Test = _is_set
    when_other: _Test = _is_set
    unless: str | None = None
    only_with: tuple[str, str] | None = None
    since: str | None = None
    until: str | None = None


class Takes(Struct, frozen=True):
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


NEEDS: tuple[Needs, ...] = (
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
        "prefix-mm-cache",
        Severity.ERROR,
        "enable-prefix-mm-cache",
        ("encoder-only",),
        "it is the cache of a server that only encodes",
        "arg_groups/pd_disaggregation_hook.py:305, 0.5.11 server_args.py:3797",
        since="0.5.11",
    ),
    Needs(
        "decode-radix-off",
        Severity.WARNING,
        "disaggregation-decode-enable-radix-cache",
        ("disaggregation-mode",),
        "only a decode server reads it",
        "arg_groups/pd_disaggregation_hook.py:98, 0.5.11 server_args.py:3739",
        since="0.5.11",
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

EXCLUDES: tuple[Excludes, ...] = (
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
        "fake-prefill",
        "disaggregation-mode",
        "disaggregation-transfer-backend",
        "arg_groups/pd_disaggregation_hook.py:146, 0.5.11 server_args.py:3775",
        when=lambda value: value == "prefill",
        when_other=lambda value: value == "fake",
        since="0.5.11",
    ),
    Excludes(
        "encoder-and-disaggregation",
        "encoder-only",
        "disaggregation-mode",
        "arg_groups/pd_disaggregation_hook.py:311, 0.5.11 server_args.py:3803",
        when_other=lambda value: value in ("prefill", "decode"),
        since="0.5.11",
    ),
    Excludes(
        "decode-radix-speculation",
        "disaggregation-decode-enable-radix-cache",
        "speculative-algorithm",
        "0.5.11 server_args.py:3751",
        only_with=("disaggregation-mode", "decode"),
        since="0.5.11",
        until="0.5.12",
    ),
    Excludes(
        "decode-radix-fake",
        "disaggregation-decode-enable-radix-cache",
        "disaggregation-transfer-backend",
        "arg_groups/pd_disaggregation_hook.py:105; 0.5.11 takes nixl alone",
        when_other=lambda value: value == "fake",
        only_with=("disaggregation-mode", "decode"),
        since="0.5.11",
    ),
    Excludes(
        "encoder-or-language",
        "encoder-only",
        "language-only",
        "arg_groups/pd_disaggregation_hook.py:309, 0.5.11 server_args.py:3801",
    ),
)

TAKES: tuple[Takes, ...] = (
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
