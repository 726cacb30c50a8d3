"""The recorded answers again, from the real SGLang that gave them: `make test-real REAL_FLAGS="-k oracles"`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracles.cases import HYBRID, STORY_CARD, OracleCase, list_cases
from tests.oracles.interpreters import find_interpreter
from tests.oracles.record import RECORDED, ask_cases, run_oracle
from tests.real.environments import UnavailableError
from tui.sglang import flags


@pytest.fixture(scope="module", params=flags.RELEASES)
def asked(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A release and its interpreter."""
    try:
        return request.param, find_interpreter(request.param)
    except UnavailableError as error:
        pytest.skip(str(error))


def test_the_parser_has_the_flags_of_the_inventory(asked: tuple[str, Path]) -> None:
    release, python = asked
    recorded = Path(flags.__file__).parent / "data" / f"flags-{release}.json"
    assert run_oracle(python, "flag_inventory") == json.loads(recorded.read_text())


@pytest.mark.parametrize("sized", [False, True], ids=["flags", "pools"])
def test_the_cases_of_the_story_are_answered_as_recorded(asked: tuple[str, Path], sized: bool) -> None:
    release, python = asked
    recorded = json.loads((RECORDED / f"{release}.json").read_text())["cases"]
    rows = list(zip(list_cases(release), recorded, strict=True))
    some = [(case, row) for case, row in rows if _belongs_to_the_story(case) and (case.given is not None) == sized][:12]
    if not some:
        pytest.skip(f"{release} is asked for its defaults alone")
    answers = ask_cases(python, [case for case, _ in some])
    for answered, (_, row) in zip(answers, some, strict=True):
        assert {key: row[key] for key in answered} == answered


def _belongs_to_the_story(case: OracleCase) -> bool:
    return case.card == STORY_CARD and case.config == HYBRID
