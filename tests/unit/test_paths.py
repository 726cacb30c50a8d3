from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tui
from tui.paths import Places, find_places, find_shipped_presets


def test_shipped_presets_of_a_checkout_lie_beside_the_package() -> None:
    found = find_shipped_presets()
    assert found == Path(tui.__file__).parent.parent / "presets"
    assert any(found.glob("*.toml"))


def ask_copy(site: Path) -> Path:
    """What a copy of the package in `site` finds, in a fresh interpreter."""
    package = site / "tui"
    package.mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "paths.py", "errors.py"):
        shutil.copy(Path(tui.__file__).parent / name, package)
    question = "from tui.paths import find_shipped_presets; print(find_shipped_presets())"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    answer = subprocess.run(
        [sys.executable, "-c", question], env=environment, cwd=site, capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.strip())


def test_shipped_presets_of_a_wheel_lie_inside_the_package(tmp_path: Path) -> None:
    (tmp_path / "tui" / "shipped_presets").mkdir(parents=True)
    (tmp_path / "presets").mkdir()  # in site-packages, that is somebody else's package
    assert ask_copy(tmp_path) == tmp_path / "tui" / "shipped_presets"


def test_shipped_presets_of_an_editable_install_lie_beside_the_package(tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    assert ask_copy(tmp_path) == tmp_path / "presets"


def test_the_wheel_carries_the_presets_where_they_are_looked_for() -> None:
    project = tomllib.loads((Path(tui.__file__).parent.parent / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["presets"] == "tui/shipped_presets"


def test_variables_win_over_the_usual_folders() -> None:
    places = find_places({"SGLTUI_STATE_DIR": "/s", "SGLTUI_CONFIG_DIR": "/c"}, Path("/p"))
    assert places == Places(state=Path("/s"), config=Path("/c"), simulated=None, project_presets=Path("/p"))
    assert (places.instances, places.user_presets, places.settings_file) == (
        Path("/s/instances"),
        Path("/c/presets"),
        Path("/c/config.toml"),
    )


def test_a_simulated_machine_brings_its_own_folders() -> None:
    places = find_places({"SGLTUI_SIMULATED": "/sim", "XDG_STATE_HOME": "/real"})
    assert (places.simulated, places.state, places.config) == (Path("/sim"), Path("/sim/state"), Path("/sim/config"))


def test_variables_win_over_a_simulated_machine() -> None:
    places = find_places({"SGLTUI_SIMULATED": "/sim", "SGLTUI_STATE_DIR": "/s"})
    assert (places.state, places.config) == (Path("/s"), Path("/sim/config"))


def test_without_variables_the_folders_are_those_of_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x/config")
    places = find_places({})
    assert (places.state, places.config) == (Path("/x/state/sgltui"), Path("/x/config/sgltui"))
