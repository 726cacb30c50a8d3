"""Fixtures around real servers. Without SGLTUI_TEST_REAL=1 all of these tests are skipped at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.real.environments import PACKAGES, UnavailableError, ensure_environment
from tests.real.machine import Engine, RealMachine
from tests.real.make_model import make_dense_model, make_hybrid_model
from tui.errors import SgltuiError
from tui.keeper.stop import StopRequest
from tui.launch.records import list_names
from tui.launch.stop import stop_launch
from tui.paths import Places

_HERE = Path(__file__).parent
_LIMIT_S = 2400  # making an environment and the longest scenario


@pytest.hookimpl(tryfirst=True)  # before `-m real` looks for the marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, and skip it unless it is asked for: it takes gigabytes, and half an hour."""
    wanted = os.environ.get("SGLTUI_TEST_REAL") == "1"
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.timeout(_LIMIT_S))
            if not wanted:
                item.add_marker(pytest.mark.skip(reason="needs a real SGLang: make test-real"))


@pytest.fixture(scope="session", params=PACKAGES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Each release in turn; its environment is made on first use."""
    release: str = request.param
    try:
        python = ensure_environment(release)
    except UnavailableError as error:
        pytest.skip(str(error))
    models = tmp_path_factory.mktemp("models")
    return Engine(release, python, make_dense_model(models / "dense"), make_hybrid_model(models / "hybrid"))


@pytest.fixture
def make_real_machine(engine: Engine, tmp_path: Path) -> Iterator[Callable[[str], RealMachine]]:
    """Makes command lines with folders of their own; whatever they have launched is ended with the test."""
    machines: list[RealMachine] = []

    def make(name: str) -> RealMachine:
        machine = RealMachine(Places(state=tmp_path / name / "state", config=tmp_path / name / "config"))
        machine.write_preset("dense", engine.dense_model, engine.python)
        machine.write_preset("hybrid", engine.hybrid_model, engine.python)
        machines.append(machine)
        return machine

    yield make
    for machine in machines:
        for name in list_names(machine.places):
            with suppress(SgltuiError):  # most have ended
                stop_launch(machine.places, name, StopRequest(release_wait_s=0, kill=True))


@pytest.fixture
def real_machine(make_real_machine: Callable[[str], RealMachine]) -> RealMachine:
    """One of them."""
    return make_real_machine("machine")
