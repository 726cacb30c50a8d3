"""What SGLang tells on /metrics (with --enable-metrics), in the Prometheus text format.

Names and labels read in 0.5.6.post2 (`srt/metrics/collector.py`), 0.5.11 and 0.5.23
(`srt/observability/metrics_collector.py`). Gauges are written by the first tensor-parallel rank of each replica and
pipeline stage, or by all with --enable-metrics-for-all-schedulers. They change with each prefill and each 40 decode
steps; a server that became idle corrects them at once in 0.5.23, and only after 30 s in 0.5.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from tui.metrics.live import Figures, combine

_PREFIX = "sglang:"
_MOST = 1e15  # no count of requests or tokens is larger; NaN is neither
_MOST_LINES = 4000
_LONGEST_LINE = 4096

_GAUGES = {
    "num_running_reqs": "running",
    "num_queue_reqs": "queued",
    "gen_throughput": "tokens_per_s",
    "mamba_usage": "slot_usage",
    "spec_accept_length": "accept_length",
    "max_total_num_tokens": "kv_tokens",
}
_OTHERS = ("full_token_usage", "swa_token_usage", "token_usage", "mamba_available_tokens")
_COUNTERS = {
    "num_retracted_requests_total": "retracted",  # since 0.5.11
    "num_retractions_sum": "retracted",  # in 0.5.6, told when a request is finished
    "time_to_first_token_seconds_sum": "first_token_s",
    "time_to_first_token_seconds_count": "first_tokens",
    "prompt_tokens_total": "prompt_tokens",
    "cached_tokens_total": "cached_tokens",
}
_NAMES = frozenset(f"{_PREFIX}{name}" for name in (*_GAUGES, *_OTHERS, *_COUNTERS))
_WHOLE = frozenset({"running", "queued", "kv_tokens"})


class Counters(Struct, frozen=True, kw_only=True):
    """Sums since the start of the server; None where it doesn't tell.

    Attributes:
        retracted: requests.
        first_token_s, first_tokens: seconds until the first token, of so many requests.
        prompt_tokens, cached_tokens: tokens of prompts, and of them those that the prefix cache had.
    """

    retracted: float | None = None
    first_token_s: float | None = None
    first_tokens: float | None = None
    prompt_tokens: float | None = None
    cached_tokens: float | None = None


class NotSGLangError(ValueError):
    """The text holds none of SGLang's figures."""


def parse_metrics(body: bytes) -> tuple[Figures, Counters]:
    """The figures and the sums.

    Raises:
        NotSGLangError: it is something else, or can't be read.
    """
    ranks: dict[tuple[str, ...], dict[str, float]] = {}
    sums: dict[str, dict[str, float]] = {}
    for name, labels, value in _samples(body):
        if name in _COUNTERS:
            # Each rank of a replica counts the same retractions; other sums come from the main process alone.
            shares = sums.setdefault(_COUNTERS[name], {})
            key = labels.get("dp_rank", "") if name == "num_retracted_requests_total" else str(sorted(labels.items()))
            shares[key] = max(value, shares.get(key, 0.0))
        else:
            rank = tuple(labels.get(label, "") for label in ("dp_rank", "pp_rank", "tp_rank"))
            ranks.setdefault(rank, {})[name] = value
    if not ranks:
        raise NotSGLangError("it holds none of SGLang's figures")
    figures = combine((rank[0], _figures(gauges)) for rank, gauges in ranks.items())
    return figures, Counters(**{name: sum(shares.values()) for name, shares in sums.items()})


def _samples(body: bytes) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Name without its prefix, labels, and value of each sample that counts here."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - takes as long as all of `ps`

    try:
        for family in text_string_to_metric_families("\n".join(_known(body))):
            for sample in family.samples:
                # With priorities, the sum over all stands beside them under an empty name.
                if 0 <= sample.value <= _MOST and not sample.labels.get("priority"):
                    yield sample.name.removeprefix(_PREFIX), sample.labels, sample.value
    except (ValueError, IndexError, KeyError) as error:  # what the parser raises at nonsense
        raise NotSGLangError("it can't be read") from error


def _known(body: bytes) -> list[str]:
    """The lines of known names: some 20 of 1000. Others would only cost time, or be rubbish."""
    found: list[str] = []
    for line in body.decode(errors="replace").split("\n"):
        if line.startswith(_PREFIX) and line[:_LONGEST_LINE].partition("{")[0].partition(" ")[0] in _NAMES:
            if len(line) > _LONGEST_LINE or len(found) == _MOST_LINES:
                raise NotSGLangError("it is far too long")
            found.append(line)
    return found


def _figures(gauges: Mapping[str, float]) -> Figures:
    """Of one rank. Zero means "has no such thing" where it can't mean anything else."""
    told: dict[str, float] = {field: gauges[name] for name, field in _GAUGES.items() if name in gauges}
    told = {field: int(value) if field in _WHOLE else value for field, value in told.items()}
    has_state = bool(told.get("slot_usage") or gauges.get("mamba_available_tokens"))  # the second since 0.5.23
    for field, is_there in (("slot_usage", has_state), ("accept_length", told.get("accept_length"))):
        if not is_there:
            told.pop(field, None)
    usage = _kv_usage(gauges)
    if not (told.get("running", 1) or told.get("queued") or usage):
        told["tokens_per_s"] = 0.0  # what was the last speed
    return Figures(**told, kv_usage=usage)  # type: ignore[arg-type]  # whole where it must be


def _kv_usage(gauges: Mapping[str, float]) -> float | None:
    """Of the fuller of the two pools, with sliding windows. 0.5.6 mixes the state slots in: then nobody can tell."""
    if "full_token_usage" in gauges:
        return max(gauges["full_token_usage"], gauges.get("swa_token_usage", 0.0))
    return gauges.get("token_usage") if not gauges.get("mamba_usage") else None
