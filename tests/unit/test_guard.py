"""What is refused as a model, and from where a relative path is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.launches import make_launch
from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.launch.again import spec_of
from tui.launch.guard import check_model
from tui.launch.measured import key_of
from tui.launch.proving import preset_of
from tui.launch.records import read_launch
from tui.launch.spec import spec_from_model
from tui.paths import Places
from tui.sglang.versions import parse_release

RELATIVE = "models/qwen/3"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server was launched in it, with a model below; we are somewhere else."""
    model = tmp_path / "data" / RELATIVE
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "data"


@pytest.mark.parametrize("model", ["s3://bucket/models/qwen", "gs://bucket/qwen", "redis://host:6379/qwen", "org/name"])
def test_what_sglang_fetches_itself_isn_t_looked_for(model: str) -> None:
    check_model(model)


def test_a_relative_path_starts_where_the_server_runs(folder: Path) -> None:
    check_model(RELATIVE, str(folder))
    with pytest.raises(RefusedError, match="doesn't exist"):
        check_model(RELATIVE)


def test_a_launch_that_named_a_relative_path_is_meant_from_anywhere(folder: Path) -> None:
    places = Places(state=folder / "state", config=folder / "config")
    argv = ["python", "-m", "sglang.launch_server", "--model-path", RELATIVE, "--port", "31000"]
    records = make_launch(places, model=RELATIVE, argv=argv, cwd=str(folder), sglang_version="0.5.11")
    records.end(State.STOPPED, asked=True)
    recorded = read_launch(records.files.directory)
    whole = str(folder / RELATIVE)
    assert spec_of(recorded.launch).model == whole
    assert preset_of(places, recorded, "kept", GpuReading()).preset.model == whole


def test_figures_of_a_folder_are_known_by_whichever_path_it_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    release = parse_release("0.5.11")
    keys = {key_of(spec_from_model(model), release, "card") for model in (RELATIVE, str(folder / RELATIVE))}
    assert len(keys) == 1
