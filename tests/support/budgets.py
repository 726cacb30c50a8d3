"""Memory budgets written by hand, for tests of the screen: round figures, so that a person can check the sums."""

from __future__ import annotations

from msgspec.structs import replace

from tests.support.fake_core import NAME_6000
from tui.budget.types import (
    Basis,
    BudgetItem,
    Card,
    FlagChange,
    MemoryBudget,
    RankBudget,
    Stage,
    TimelinePoint,
    Verdict,
)
from tui.units import GIB

TOTAL_GIB = 96


def exact(component: str, gib: float, formula: str = "", basis: Basis = Basis.EXACT) -> BudgetItem:
    """An item whose size is certain."""
    return BudgetItem(component, _size(gib), _size(gib), _size(gib), basis, formula)


def estimated(component: str, gib: float, low: float, high: float, formula: str = "") -> BudgetItem:
    """An item with a range."""
    return BudgetItem(component, _size(gib), _size(low), _size(high), Basis.ESTIMATED, formula)


def timeline(*points: tuple[str, float, Stage]) -> tuple[TimelinePoint, ...]:
    """Free GiB after each stage, give or take one."""
    return tuple(
        TimelinePoint(name, _size(free), _size(free - 1), _size(free + 1), stage) for name, free, stage in points
    )


def _size(gib: float) -> int:
    return round(gib * GIB)


def card(index: int = 0) -> Card:
    """A GPU of 96 GiB."""
    return Card(index, NAME_6000, TOTAL_GIB * 1024)


_START = (
    exact("reserved by the driver", 0.6, "as the driver says", Basis.MEASURED),
    exact("other processes", 1.4, "held now by train.py (pid 3321)", Basis.MEASURED),
    estimated("CUDA context and first kernels", 0.7, 0.4, 1.1, "0.4 to 1.1 GiB in logs"),
    exact("weights", 50.96, "tensors of the checkpoint"),
    estimated("load overhead", 0.1, 0.02, 0.2, "allocator rounding and kernels"),
)
_POOLS = (
    exact("state slots", 9.46, "66 x 146.8 MiB, 5 a request (extra_buffer)"),
    exact("state for drafts", 5.16, "9 requests x 4 draft tokens"),
    exact("KV cache", 10.58, "173294 tokens x 65536 bytes (bfloat16)"),
    estimated("decode graphs", 0.5, 0.2, 1.3, "4 sizes up to 8 requests x 4 draft tokens"),
    estimated("prefill graphs", 0.9, 0.4, 1.5, "44 sizes up to 8192 tokens"),
    estimated("activations", 1.64, 0.9, 4.0, "a prefill chunk of 8192 tokens"),
)
# 2 + 51.76 + 25.2 + 3.04 = 82 GiB of 96.
FITS = MemoryBudget(
    model="Qwen/Qwen3.6-27B",
    release="0.5.11",
    cards=(card(),),
    verdict=Verdict.FITS,
    stage_of_failure=None,
    reason="173k tokens, 8 requests at once; 10.50 GiB stay free at the tightest moment (draft)",
    expected_error=None,
    fraction=0.8,
    ranks=(
        RankBudget(
            0,
            TOTAL_GIB * GIB,
            (*_START, *_POOLS),
            timeline(
                ("start", 93.3, Stage.WEIGHTS),
                ("weights", 42.2, Stage.WEIGHTS),
                ("draft", 10.5, Stage.DRAFT),
                ("serving", 14.0, Stage.RUNTIME),
            ),
        ),
    ),
    notes=("extra_buffer doesn't double the state: it needs 5 slots a request, not 3",),
)
# 53.76 + 27.53 of the reserve leave 14.71 GiB, and 18.66 are kept out of the pools.
EXCEEDS = replace(
    FITS,
    verdict=Verdict.EXCEEDS,
    stage_of_failure=Stage.POOL,
    reason="the state reserve for 48 requests x 4 draft tokens takes 27.53 GiB (0.1434 GiB each); "
    "the pool has 23.58 GiB, 3.95 GiB short before the first KV token",
    expected_error="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ranks=(
        RankBudget(
            0,
            TOTAL_GIB * GIB,
            (
                *_START,
                exact("kept out of the pools", 18.66, "20.0% of 93.30 GiB, for graphs and activations"),
                exact("state reserve for drafts", 27.53, "48 requests x 4 draft tokens"),
            ),
            (
                *timeline(("start", 93.3, Stage.WEIGHTS), ("weights", 42.2, Stage.WEIGHTS)),
                *timeline(("pools", -3.95, Stage.POOL)),
            ),
        ),
    ),
    changes=(
        FlagChange(
            {"max-running-requests": "8"}, (), None, Verdict.FITS, "173k tokens, 8 requests at once",
            "40 of 48 requests at once",
        ),
        FlagChange(
            {"mamba-ssm-dtype": "bfloat16"}, (), None, Verdict.FITS, "91k tokens, 13 requests at once",
            "precision of the recurrent state",
        ),
        FlagChange({}, (), "0.5.13", Verdict.FITS, "168k tokens, 6 requests at once", "an upgrade of SGLang"),
        FlagChange(
            {}, ("speculative-algorithm", "speculative-num-steps"), None, Verdict.TIGHT,
            "212k tokens, 15 requests at once", "the speed of speculative decoding",
        ),
    ),
)  # fmt: skip
UNKNOWN = MemoryBudget(
    "nobody/knows", "0.5.11", (card(),), Verdict.UNKNOWN, None, "can't tell: no size of its weights is known", None
)
