"""The budget against the real SGLang: its own arithmetic over random flags, and a server's own figures."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.oracles.random_cases import draw_cases
from tests.oracles.record import ask_cases, describe_case
from tests.real.machine import Engine
from tests.support.budget_oracle import compare_error, compare_flags, compare_pools

CASES = 150
SEEDS = {"0.5.11": 11, "0.5.23": 23}


def test_random_flags_are_resolved_and_sized_as_the_real_one_does(engine: Engine) -> None:
    cases = sorted(draw_cases(engine.release, SEEDS[engine.release], CASES), key=lambda case: case.card)
    wrong = []
    for _, group in groupby(cases, key=lambda case: case.card):
        same_card = list(group)
        for case, found in zip(same_card, ask_cases(engine.python, same_card), strict=True):
            row = describe_case(case) | found
            try:
                compare_flags(engine.release, row)
                if "error" in row:
                    compare_error(engine.release, row)
                if "pools" in row:
                    compare_pools(engine.release, row)
            except (AssertionError, pytest.fail.Exception) as error:
                wrong.append((" ".join(case.argv), case.card, case.config, case.given, str(error)[:400]))
    assert wrong == []
