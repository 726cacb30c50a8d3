"""Warnings that cost people without ending anything: requests capped, contexts cut, caches off, flags ignored.

A table like that of the failures: a row is a kind of stamped line, with its sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from tui.diagnosis.rule import Severity


class Finding(Struct, frozen=True):
    """Something a person should know.

    Attributes:
        line: the first line that says so; None where it follows from figures.
        count: how often it was said.
    """

    id: str
    words: str
    line: int | None = None
    count: int = 1
    severity: Severity = Severity.WARNING


class FindingRule(Struct, frozen=True):
    """A kind of line.

    Attributes:
        literal: stands in every such line.
        pattern: searched in the message; its groups may stand in `words`.
    """

    id: str
    literal: str
    pattern: re.Pattern[str]
    words: str
    sample: str
    severity: Severity = Severity.WARNING


def _row(rule_id: str, literal: str, pattern: str, words: str, sample: str) -> FindingRule:
    return FindingRule(rule_id, literal, re.compile(pattern, re.ASCII), words, sample)


_INT = r"\d{1,12}"

FINDING_RULES: tuple[FindingRule, ...] = (
    _row(
        "requests-default",
        "Max running requests is reset to",
        rf"is reset to (?P<n>{_INT}) for speculative",
        "with speculation SGLang allows {n} requests unless --max-running-requests is given",
        "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting "
        "--max-running-requests.",
    ),
    _row(
        "requests-capped-by-states",
        "by the mamba state cache",
        rf"is capped to (?P<n>{_INT}) by the mamba state cache",
        "only {n} requests run at once, since there are no more state slots",
        "max_running_requests is capped to 6 by the mamba state cache (max_mamba_cache_size=31, 5 state slots per "
        "request)",
    ),
    _row(
        "requests-reduced",
        "was reduced from the requested",
        rf"was reduced from the requested (?P<asked>{_INT}) to (?P<n>{_INT})",
        "{asked} requests were asked for, and only {n} run at once",
        "max_running_requests was reduced from the requested 64 to 31",
    ),
    _row(
        "context-over-pool",
        "fewer than --context-length",
        rf"KV pool holds (?P<n>{_INT}) tokens, fewer than --context-length (?P<context>{_INT})",
        "one request can hold at most {n} tokens, less than the context of {context}",
        "KV pool holds 24248 tokens, fewer than --context-length 262144",
    ),
    _row(
        "tokens-clamped",
        "is larger than the profiled value",
        rf"max_total_tokens=(?P<asked>{_INT}) is larger than the profiled value (?P<n>-?{_INT})",
        "--max-total-tokens {asked} was ignored: there is room for {n}",
        "max_total_tokens=400000000 is larger than the profiled value 4525898. Use the profiled value instead.",
    ),
    _row(
        "retractions",
        "KV cache pool is full. Retract requests",
        r"KV cache pool is full\. Retract requests",
        "the KV pool was full, and running requests were put back and computed again",
        "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 2048, "
        "#new_token_ratio: 0.1580 -> 0.3421",
    ),
    _row(
        "unbalanced-gpus",
        "The memory capacity is unbalanced",
        r"^(?:WARNING.{0,60}|Warning: )?The memory capacity is unbalanced",
        "the GPUs have different amounts of free memory; the smallest decides",
        "The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
    ),
    _row(
        "radix-cache-off",
        "adix cache",
        r"(?i)(?:radix cache is (?:turned off|disabled)|disabl\w{1,4} radix cache)",
        "the radix cache is off: prefixes are computed anew for each request",
        "Radix cache is disabled because the model has recurrent state.",
    ),
    _row(
        "graphs-off",
        "uda graph is disabled",
        r"[Cc]uda graph is disabled because (?P<why>.{1,160})",
        "CUDA graphs are off, which makes decoding slower: {why}",
        "Cuda graph is disabled because of using torch native attention backend",
    ),
    _row(
        "flag-ignored",
        "ignored",
        r"(?P<what>--[a-z][a-z0-9-]{2,60}).{0,80}(?:is|are|will be) ignored",
        "{what} is ignored",
        "--mamba-full-memory-ratio is ignored when --max-mamba-cache-size is given",
    ),
    _row(
        "health-late",
        "Health check failed",
        r"^Health check failed\. Server couldn't get a response",
        "health probes weren't answered in time while the server worked",
        "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.",
    ),
    _row(
        "input-too-long",
        "exceeds the maximum allowed length",
        rf"Input length \((?P<n>{_INT}) tokens\) exceeds the maximum allowed length \((?P<most>{_INT}) tokens\)",
        "a request of {n} tokens was refused: the pool holds {most}",
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    ),
)


class FindingReader:
    """Collects findings of one launch: each kind once, with a count."""

    def __init__(self) -> None:
        self._first: dict[str, Finding] = {}
        self._counts: dict[str, int] = {}

    @property
    def found(self) -> tuple[Finding, ...]:
        """In the order in which they were first said."""
        return tuple(replace(finding, count=self._counts[key]) for key, finding in self._first.items())

    def feed(self, number: int, message: str) -> str | None:
        """One stamped message that isn't an echo; the id of what it says, if anything."""
        for rule in FINDING_RULES:
            if rule.literal in message and (match := rule.pattern.search(message)) is not None:
                self._add(number, rule, match.groupdict())
                return rule.id
        return None

    def keep_from(self, line: int) -> None:
        """Forget what was said before a line."""
        self._first = {key: it for key, it in self._first.items() if it.line is not None and it.line >= line}

    def _add(self, number: int, rule: FindingRule, groups: Mapping[str, str]) -> None:
        if rule.id not in self._first:
            self._first[rule.id] = Finding(rule.id, rule.words.format_map(groups), number, 1, rule.severity)
            self._counts[rule.id] = 0
        self._counts[rule.id] += 1
