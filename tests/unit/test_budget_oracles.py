"""The budget against answers of SGLang's own flag resolution and pool arithmetic (`tests/fixtures/oracles`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.oracles.record import RECORDED
from tests.support.budget_oracle import compare_error, compare_flags, compare_pools

RELEASES = ("0.5.6.post2", "0.5.11", "0.5.23")


def read_cases(release: str, part: str = "") -> list[Any]:
    """The recorded cases of a release that have a part in their answer."""
    cases = json.loads((RECORDED / f"{release}.json").read_text())["cases"]
    return [
        pytest.param(
            release, case, id=f"{release}-{case['card']['total_mib']}-{case['config']}-{' '.join(case['argv'])}"
        )
        for case in cases
        if not part or part in case
    ]


def all_cases(part: str = "") -> list[Any]:
    return [case for release in RELEASES for case in read_cases(release, part)]


@pytest.mark.parametrize(("release", "case"), all_cases())
def test_flags_resolve_as_in_the_real_one(release: str, case: dict[str, Any]) -> None:
    compare_flags(release, case)


@pytest.mark.parametrize(("release", "case"), all_cases("pools"))
def test_pools_are_sized_as_in_the_real_one(release: str, case: dict[str, Any]) -> None:
    compare_pools(release, case)


@pytest.mark.parametrize(("release", "case"), all_cases("error"))
def test_it_fails_as_the_real_one(release: str, case: dict[str, Any]) -> None:
    compare_error(release, case)
