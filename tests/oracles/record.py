"""Asks a real SGLang every case and writes down its answers: `python -m tests.oracles.record 0.5.11 ...`.

The ordinary tests read what this wrote to `tests/fixtures/oracles/RELEASE.json`. It runs under the project's own
interpreter and starts the oracles under SGLang's (see `interpreters`); a release takes about five minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracles.cases import CARDS, OracleCase, list_cases
from tests.oracles.interpreters import find_interpreter, oracle_environment

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "fixtures" / "configs"
RECORDED = ROOT / "tests" / "fixtures" / "oracles"
_LIMIT_S = 1200


class OracleFailedError(Exception):
    """An oracle itself failed; carries the end of what it printed."""


def run_oracle(python: Path, program: str, question: str = "") -> Any:
    """What an oracle answers, decoded.

    Raises:
        OracleFailedError: it ended with an error of its own.
    """
    done = subprocess.run(
        [python, "-m", f"tests.oracles.{program}"],
        cwd=ROOT,
        env=oracle_environment(),
        input=question,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise OracleFailedError(f"{program} under {python}:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout)


def ask_cases(python: Path, cases: Sequence[OracleCase]) -> list[dict[str, Any]]:
    """The answers to cases of one card, either all with given memory or all without."""
    question = {
        "card": asdict(CARDS[cases[0].card]),
        "cases": [
            {"config": str(CONFIGS / f"{case.config}.json"), "argv": case.argv, "given": case.given} for case in cases
        ],
    }
    program = "resolve_flags" if cases[0].given is None else "pool_arithmetic"
    answers: list[dict[str, Any]] = run_oracle(python, program, json.dumps(question))["answers"]
    return answers


def record(release: str) -> None:
    """Ask all cases of a release, and write them with their answers, one a line."""
    python = find_interpreter(release)
    cases = list_cases(release)
    rows: dict[int, dict[str, Any]] = {}
    for card, sized in product(CARDS, (False, True)):
        group = {
            number: case for number, case in enumerate(cases) if case.card == card and (case.given is not None) == sized
        }
        if group:
            answers = ask_cases(python, list(group.values()))
            for (number, case), found in zip(group.items(), answers, strict=True):
                rows[number] = describe_case(case) | found
    RECORDED.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(rows[number]) for number in range(len(cases)))
    (RECORDED / f"{release}.json").write_text(f'{{"sglang": "{release}", "cases": [\n{lines}\n]}}\n')


def describe_case(case: OracleCase) -> dict[str, Any]:
    row: dict[str, Any] = {"card": asdict(CARDS[case.card]), "config": case.config, "argv": list(case.argv)}
    return row if case.given is None else row | {"given": dict(case.given)}


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        record(wanted)
