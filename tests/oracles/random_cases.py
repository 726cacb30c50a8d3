"""Questions drawn at random: flags that decide about memory, on any card, for any of the recorded models."""

from __future__ import annotations

import random

from tests.oracles.cases import CARDS, DENSE, HYBRID, HYBRID_MOE, SLIDING, STRATEGY, OracleCase

_FLAGS: dict[str, tuple[str, ...]] = {
    "--mem-fraction-static": ("0.5", "0.7", "0.8", "0.88", "0.93"),
    "--max-running-requests": ("1", "3", "8", "48", "200", "5000"),
    "--max-total-tokens": ("1000", "50000", "3000000"),
    "--context-length": ("2048", "32768"),
    "--chunked-prefill-size": ("-1", "512", "2048", "6000"),
    "--kv-cache-dtype": ("bfloat16", "fp8_e4m3", "fp8_e5m2"),
    "--page-size": ("1", "16", "64"),
    "--tp-size": ("2", "4"),
}
_HYBRID_FLAGS: dict[str, tuple[str, ...]] = {
    "--max-mamba-cache-size": ("2", "7", "40", "300"),
    "--mamba-full-memory-ratio": ("0.1", "0.5", "2.0"),
    "--mamba-ssm-dtype": ("bfloat16", "float32"),
}
_SWITCHES = ("--disable-radix-cache", "--disable-overlap-schedule", "--disable-cuda-graph")
_STRATEGIES = ("auto", "no_buffer", "extra_buffer")


def draw_cases(release: str, seed: int, count: int) -> list[OracleCase]:
    """`count` cases, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - reproducible on purpose
    return [_draw(draw, release) for _ in range(count)]


def _draw(draw: random.Random, release: str) -> OracleCase:
    config = draw.choice((DENSE, HYBRID, HYBRID, HYBRID_MOE, SLIDING))
    argv = [word for name, values in _FLAGS.items() if draw.random() < 0.25 for word in (name, draw.choice(values))]
    argv += [switch for switch in _SWITCHES if draw.random() < 0.15]
    is_hybrid = config in (HYBRID, HYBRID_MOE)
    if is_hybrid:
        argv += [
            w for name, values in _HYBRID_FLAGS.items() if draw.random() < 0.25 for w in (name, draw.choice(values))
        ]
        if draw.random() < 0.6:
            argv += [STRATEGY[release], draw.choice(_STRATEGIES)]
    if is_hybrid and draw.random() < 0.4:
        steps = draw.choice(("1", "3"))
        argv += ["--speculative-algorithm", draw.choice(("EAGLE", "NEXTN")), "--speculative-num-steps", steps]
        argv += ["--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", str(int(steps) + 1)]
    elif draw.random() < 0.15:
        argv += ["--speculative-algorithm", "NGRAM"]
    card = draw.choice(tuple(CARDS))
    free = CARDS[card].total_mib / 1024
    before = round(free * draw.uniform(0.9, 0.98), 2)
    after = round(before * draw.uniform(0.2, 0.9), 2)
    return OracleCase(card, config, tuple(argv), {"before_gib": before, "after_gib": after})
