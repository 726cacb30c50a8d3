"""How long one lint and one completion take. Goal: under 2 ms each, so that a form can show them at each keystroke.

python bench/lint.py
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tui.launch.planning import Described, describe_cards
from tui.lint import lint
from tui.model.find import find_model
from tui.model.read import read_model
from tui.sglang.describe import complete
from tui.sglang.target import recorded_target
from tui.sglang.versions import parse_release

GOAL_MS = 2.0
RUNS = 300
CONFIG = Path(__file__).parents[1] / "tests" / "fixtures" / "budget" / "configs" / "qwen3.6-27b.json"
WORDS = (
    "--model-path m --mem-fraction-static 0.8 --speculative-algorithm EAGLE --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --mamba-scheduler-strategy extra_buffer"
)


def main() -> int:
    """Print the medians; status 1 when the goal is missed."""
    cards = describe_cards(Described("NVIDIA RTX PRO 6000 Blackwell", 97887, None, 1))
    model = read_model(find_model(str(CONFIG)), str(CONFIG))
    target = recorded_target(parse_release("0.5.11"))
    newest = recorded_target(parse_release("0.5.23"))
    words = WORDS.split()
    works: dict[str, Callable[[], object]] = {
        "the story, clean": lambda: lint(words, target, model, cards),
        "renamed flags": lambda: lint(words, newest, model, cards),
        "a mistyped flag": lambda: lint([*words, "--max-runing-requets", "8"], target, model, cards),
        "half a flag": lambda: lint([*words, "--max-r"], target, model, cards),
        "completion": lambda: complete("max-r", newest.inventories[0]),
    }
    medians = {name: statistics.median(timed(work) for _ in range(RUNS)) for name, work in works.items()}
    for name, median in medians.items():
        print(f"{name:20} {median:7.2f} ms, goal under {GOAL_MS:g} ms")
    return 0 if max(medians.values()) < GOAL_MS else 1


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
