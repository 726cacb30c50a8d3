"""The table of what is asked: command lines, cards and free memory, for each release in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.oracles.pretence import Card

# Totals as nvidia-smi prints them; one card for each step of SGLang's tables of defaults.
CARDS = {
    "RTX 4080": Card("NVIDIA GeForce RTX 4080", 16376, (8, 9)),
    "RTX 4090": Card("NVIDIA GeForce RTX 4090", 24564, (8, 9)),
    "L40S": Card("NVIDIA L40S", 46068, (8, 9)),
    "H100": Card("NVIDIA H100 80GB HBM3", 81559, (9, 0)),
    "RTX PRO 6000": Card("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, (12, 0)),
    "H200": Card("NVIDIA H200", 143771, (9, 0)),
    "B200": Card("NVIDIA B200", 183359, (10, 0)),
}
STORY_CARD = "RTX PRO 6000"
HYBRID, DENSE, SLIDING, HYBRID_MOE = "qwen3.6-27b", "llama-3.1-8b", "gpt-oss-20b", "qwen3.5-35b-a3b"
STRATEGY = {"0.5.11": "--mamba-scheduler-strategy", "0.5.23": "--mamba-radix-cache-strategy"}
EAGLE = (
    *("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)
# What the story's server has free before its weights, what its 51 GB of weights and its draft model take. GiB.
BEFORE, WEIGHTS, DRAFT = 94.3, 50.96, 5.53


@dataclass(frozen=True, slots=True)
class OracleCase:
    """One question.

    Attributes:
        card: a key of CARDS; eight of them are in the machine.
        config: the stem of a file in `tests/fixtures/configs`.
        given: free memory before the weights and when the pools are sized, GiB; None to resolve the flags alone.
    """

    card: str
    config: str
    argv: tuple[str, ...]
    given: Mapping[str, float] | None = None


def list_cases(release: str) -> list[OracleCase]:
    """All cases of a release; 0.5.6.post2 is asked for its defaults alone, and doesn't know these hybrids."""
    if release not in STRATEGY:
        return [case for case in _defaults() if case.config != HYBRID]
    return [*_defaults(), *_story(release), *_hybrids(release), *_others()]


def _defaults() -> Iterator[OracleCase]:
    """What is chosen when nothing is said about memory."""
    for card in CARDS:
        for config in (DENSE, HYBRID):
            yield OracleCase(card, config, ())
            yield OracleCase(card, config, ("--tp-size", "4"))
        yield OracleCase(card, SLIDING, ())
        yield OracleCase(card, DENSE, ("--chunked-prefill-size", "2048", "--disable-cuda-graph"))
        yield OracleCase(card, DENSE, ("--tp-size", "4", "--dp-size", "4", "--enable-dp-attention"))
        yield OracleCase(card, DENSE, ("--speculative-algorithm", "NGRAM"))


def _story(release: str) -> Iterator[OracleCase]:
    """The 27B hybrid on one card with its draft: at every fraction, and with what could help."""
    extra = (STRATEGY[release], "extra_buffer")
    options: Sequence[tuple[str, ...]] = (
        (),
        extra,
        (*extra, "--max-running-requests", "48"),
        (*extra, "--max-running-requests", "16"),
        (*extra, "--max-running-requests", "8"),
        (*extra, "--max-running-requests", "1"),
        (*extra, "--max-running-requests", "512"),
        (*extra, "--max-running-requests", "48", "--mamba-ssm-dtype", "bfloat16"),
        (*extra, "--max-running-requests", "8", "--max-mamba-cache-size", "40"),
        (*extra, "--max-running-requests", "8", "--mamba-full-memory-ratio", "0.5"),
        (*extra, "--max-running-requests", "8", "--disable-overlap-schedule"),
        ("--disable-radix-cache",),
        ("--disable-radix-cache", "--max-running-requests", "48"),
        ("--disable-radix-cache", "--max-running-requests", "48", "--mamba-ssm-dtype", "bfloat16"),
        ("--disable-radix-cache", "--max-running-requests", "8"),
        (STRATEGY[release], "no_buffer", "--disable-overlap-schedule"),
    )
    # Up to 0.5.13 the draft is loaded after the pools, from 0.5.14 on before them.
    taken = WEIGHTS + (DRAFT if release == "0.5.23" else 0.0)
    given = {"before_gib": BEFORE, "after_gib": round(BEFORE - taken, 2)}
    for fraction in ("0.80", "0.90", "0.95"):
        for option in options:
            yield OracleCase(STORY_CARD, HYBRID, ("--mem-fraction-static", fraction, *EAGLE, *option), given)
    yield OracleCase(STORY_CARD, HYBRID, (*EAGLE, *extra), given)
    yield OracleCase(STORY_CARD, HYBRID, (*EAGLE, *extra, "--max-running-requests", "48"), given)


def _hybrids(release: str) -> Iterator[OracleCase]:
    """Hybrids without a draft: strategies, limits, types and several cards."""
    given = {"before_gib": BEFORE, "after_gib": round(BEFORE - WEIGHTS, 2)}
    options: Sequence[tuple[str, ...]] = (
        (),
        (STRATEGY[release], "extra_buffer"),
        (STRATEGY[release], "no_buffer", "--disable-overlap-schedule"),
        ("--max-running-requests", "48"),
        ("--disable-radix-cache",),
        ("--disable-radix-cache", "--max-running-requests", "48"),
        ("--disable-radix-cache", "--max-running-requests", "512"),
        ("--max-mamba-cache-size", "40"),
        ("--mamba-full-memory-ratio", "0.5"),
        ("--mamba-ssm-dtype", "bfloat16"),
        ("--kv-cache-dtype", "fp8_e4m3"),
        ("--max-total-tokens", "50000"),
        ("--context-length", "4096"),
    )
    for option in options:
        yield OracleCase(STORY_CARD, HYBRID, ("--mem-fraction-static", "0.80", *option), given)
    # trtllm_mha is the default there where no page of 1 is asked for.
    yield OracleCase("B200", HYBRID, (STRATEGY[release], "extra_buffer"))
    yield OracleCase("B200", HYBRID, (*EAGLE, STRATEGY[release], "extra_buffer"))
    yield OracleCase("H100", HYBRID, (), {"before_gib": 78.47, "after_gib": 27.51})
    yield OracleCase("L40S", HYBRID, ("--tp-size", "2"), {"before_gib": 43.4, "after_gib": 17.8})
    yield OracleCase("RTX 4090", HYBRID, ("--tp-size", "4"), {"before_gib": 22.4, "after_gib": 9.5})
    yield OracleCase(STORY_CARD, HYBRID_MOE, (), {"before_gib": BEFORE, "after_gib": 27.1})
    yield OracleCase("H100", HYBRID_MOE, ("--tp-size", "2"), {"before_gib": 77.9, "after_gib": 44.2})


def _others() -> Iterator[OracleCase]:
    """Dense and sliding-window models."""
    for card, before in (("RTX 4090", 22.39), ("L40S", 43.68), ("H100", 78.81), (STORY_CARD, BEFORE)):
        yield OracleCase(card, DENSE, (), {"before_gib": before, "after_gib": round(before - 15.02, 2)})
    given = {"before_gib": 78.81, "after_gib": 63.79}
    options: Sequence[tuple[str, ...]] = (
        ("--max-running-requests", "48"),
        ("--max-total-tokens", "50000"),
        ("--max-total-tokens", "50000000"),
        ("--kv-cache-dtype", "fp8_e5m2"),
        ("--page-size", "64"),
        ("--context-length", "8192"),
        ("--speculative-algorithm", "NGRAM"),
        ("--mem-fraction-static", "0.15"),
    )
    for option in options:
        yield OracleCase("H100", DENSE, option, given)
    yield OracleCase("H100", DENSE, ("--tp-size", "4"), {"before_gib": 77.9, "after_gib": 74.0})
    yield OracleCase("H100", DENSE, ("--tp-size", "16"), {"before_gib": 77.9, "after_gib": 76.9})
    yield OracleCase("RTX 4090", SLIDING, (), {"before_gib": 22.4, "after_gib": 9.3})
    yield OracleCase("H100", SLIDING, ("--swa-full-tokens-ratio", "0.1"), {"before_gib": 78.81, "after_gib": 65.7})
    yield OracleCase("H100", SLIDING, ("--disable-hybrid-swa-memory",), {"before_gib": 78.81, "after_gib": 65.7})
