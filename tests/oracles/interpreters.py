"""Where the interpreters are that have a real SGLang, and what an oracle finds in its environment."""

from __future__ import annotations

import os
from pathlib import Path

from tests.real.environments import PACKAGES, UnavailableError, ensure_environment

STAND_INS = Path(__file__).parents[1] / "real" / "standins"


def find_interpreter(release: str) -> Path:
    """`$SGLTUI_REAL_PYTHON_0_5_11` and so on, or the cached environment of `tests.real`, made if it isn't there.

    Raises:
        UnavailableError: it can't be made here.
    """
    variable = "SGLTUI_REAL_PYTHON_" + release.upper().replace(".", "_")
    given = os.environ.get(variable)
    if given:
        return Path(given)
    if release not in PACKAGES:
        raise UnavailableError(f"{variable} must name an interpreter that has SGLang {release}")
    return ensure_environment(release)


def oracle_environment() -> dict[str, str]:
    """The environment for an oracle: the stand-ins for what exists for CUDA alone can be imported."""
    return os.environ | {"PYTHONPATH": str(STAND_INS), "PYTHONHASHSEED": "0"}
