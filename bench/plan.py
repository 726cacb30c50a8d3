"""How long one plan takes once the model is read. Goal: under 5 ms, so that a form can redraw at each keystroke.

python bench/plan.py [CONFIG.json]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tui.budget.plan import plan
from tui.launch.planning import Described, describe_cards, make_request, plan_with_changes
from tui.launch.spec import spec_from_model
from tui.sglang.versions import parse_release

GOAL_MS = 5.0
RUNS = 200
CONFIG = Path(__file__).parents[1] / "tests" / "fixtures" / "budget" / "configs" / "qwen3.6-27b.json"
WORDS = (
    "--mem-fraction-static 0.8 --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4 --mamba-scheduler-strategy extra_buffer"
)


def main() -> int:
    """Print the median of one plan, and of one with its changes; status 1 when the goal is missed."""
    config = sys.argv[1] if len(sys.argv) > 1 else str(CONFIG)
    cards = describe_cards(Described("NVIDIA RTX PRO 6000 Blackwell", 97887, None, 1))
    spec = spec_from_model(config).changed(words=tuple(WORDS.split()))
    request = make_request(spec, parse_release("0.5.11"), cards, 97887)
    plan_ms = statistics.median(timed(lambda: plan(request)) for _ in range(RUNS))
    changes_ms = statistics.median(timed(lambda: plan_with_changes(request)) for _ in range(RUNS // 20))
    print(f"one plan            {plan_ms:7.2f} ms, goal under {GOAL_MS:g} ms")
    print(f"with its changes    {changes_ms:7.2f} ms, {changes_ms / plan_ms:.0f} plans")
    return 0 if plan_ms < GOAL_MS else 1


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
