"""What `fixtures/model` was recorded from, asked again: `make test-real REAL_FLAGS="-k model_shapes"`."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.oracles.cases import CARDS
from tests.oracles.interpreters import find_interpreter
from tests.oracles.record import run_oracle
from tests.real.environments import UnavailableError
from tests.support.models import CONFIGS, load_fixture

# A key of `ranks.json` and what it stands for on a command line.
CASES = {
    ("qwen3.6-27b", "2"): ("--tp-size", "2"),
    ("qwen3.6-27b", "2 vdp"): ("--tp-size", "2", "--mm-enable-dp-encoder"),
    ("deepseek-r1", "8"): ("--tp-size", "8"),
    ("gpt-oss-20b", "1"): (),
    ("qwen3-8b", "4 dp2"): ("--tp-size", "4", "--dp-size", "2", "--enable-dp-attention"),
    ("qwen3-30b-a3b", "4 ep2"): ("--tp-size", "4", "--ep-size", "2"),
    ("qwen3.6-27b-fp8", "1 draft"): (),
}


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_sglang_makes_the_parameters_that_were_recorded(release: str) -> None:
    try:
        python = find_interpreter(release)
    except UnavailableError as error:
        pytest.skip(str(error))
    cases = [
        {"config": str(CONFIGS / f"{name}.json"), "argv": argv, "draft": key.endswith("draft")}
        for (name, key), argv in CASES.items()
    ]
    question = json.dumps({"card": asdict(CARDS["H100"]), "cases": cases})
    answers = run_oracle(python, "model_shapes", question)["answers"]
    recorded = load_fixture("ranks.json")[release]
    assert [answer["parameter_bytes"] for answer in answers] == [recorded[name][key] for name, key in CASES]
