from __future__ import annotations

from pathlib import Path

import pytest

from tui.errors import SgltuiError
from tui.model.errors import ModelError, ModelNotFoundError
from tui.model.find import find_model, hub_cache

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def download(cache: Path, model_id: str, commit: str = COMMIT, *, branch: bool = True) -> Path:
    """A model as huggingface_hub leaves it in its cache."""
    repository = cache / f"models--{model_id.replace('/', '--')}"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    if branch:
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / "main").write_text(commit)
    return snapshot


def refusal(path_or_id: str, cache: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        find_model(path_or_id, cache_dir=cache)
    assert caught.value.what
    return caught.value


@pytest.fixture(autouse=True)
def no_cache_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_folder_is_found_with_and_without_a_tilde(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert find_model(str(folder)) == folder
    assert find_model("~/models/mine") == folder
    assert find_model(str(folder / "config.json")) == folder / "config.json"


def test_an_id_is_the_commit_of_its_main_branch(tmp_path: Path) -> None:
    older = download(tmp_path, "Qwen/Qwen3-8B", "a" * 40)
    newer = download(tmp_path, "Qwen/Qwen3-8B")
    assert older.exists()
    assert find_model("Qwen/Qwen3-8B", cache_dir=tmp_path) == newer
    of_nobody = download(tmp_path, "gpt2")
    assert find_model("gpt2", cache_dir=tmp_path) == of_nobody


def test_the_only_snapshot_stands_in_for_a_branch(tmp_path: Path) -> None:
    only = download(tmp_path, "org/by-commit", branch=False)
    assert find_model("org/by-commit", cache_dir=tmp_path) == only
    download(tmp_path, "org/by-commit", "b" * 40, branch=False)
    assert isinstance(refusal("org/by-commit", tmp_path), ModelNotFoundError)


def test_a_branch_that_leads_out_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    snapshot = download(tmp_path, "org/model")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "models--org--model" / "refs" / "main").write_text("../../..")
    assert find_model("org/model", cache_dir=tmp_path) == snapshot


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "home/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "xdg"}, "xdg/huggingface/hub"),
        ({"HF_HOME": "hf", "XDG_CACHE_HOME": "xdg"}, "hf/hub"),
        ({"HF_HUB_CACHE": "hub", "HF_HOME": "hf"}, "hub"),
        ({"HF_HUB_CACHE": "", "HF_HOME": "hf"}, "hf/hub"),
    ],
)
def test_the_cache_is_where_hugging_face_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value) if value else "")
    assert hub_cache() == tmp_path / expected
    snapshot = download(tmp_path / expected, "org/model")
    assert find_model("org/model") == snapshot


def test_what_is_nowhere_is_said_with_where_it_was_looked_for(tmp_path: Path) -> None:
    error = refusal("org/absent", tmp_path)
    assert isinstance(error, ModelNotFoundError)
    assert isinstance(error, SgltuiError)
    assert "org/absent" in error.what
    assert str(tmp_path) in error.what
    assert "hf download org/absent" in error.hint
    assert "--config" in error.hint


@pytest.mark.parametrize(
    "given",
    ["/no/such/folder", "./nothing", "~/nothing", "a/b/c", "..", "org/..", "../../etc", "org/na me", "-x", "x" * 5000],
)
def test_what_can_be_no_id_is_called_a_path_that_is_not_there(tmp_path: Path, given: str) -> None:
    (tmp_path / "deep").mkdir()
    assert "hf download" not in str(refusal(given, tmp_path / "deep"))


@pytest.mark.parametrize("given", ["", "a\0b"])
def test_what_is_no_name_at_all_is_refused(tmp_path: Path, given: str) -> None:
    refusal(given, tmp_path)


def test_an_unfinished_download_is_said_to_be_one(tmp_path: Path) -> None:
    (download(tmp_path, "org/model") / "config.json").unlink()
    error = refusal("org/model", tmp_path)
    assert "config.json" in error.what
    assert "hf download org/model" in error.hint


def test_folders_and_files_that_hold_no_model_are_told_apart(tmp_path: Path) -> None:
    assert "no config.json" in refusal(str(tmp_path), tmp_path).what
    download(tmp_path, "org/model")
    assert "cache" in refusal(str(tmp_path / "models--org--model"), tmp_path).hint
    (tmp_path / "gguf").mkdir()
    (tmp_path / "gguf" / "model.gguf").write_bytes(b"GGUF")
    assert "GGUF" in refusal(str(tmp_path / "gguf"), tmp_path).hint
    assert "neither" in refusal(str(tmp_path / "gguf" / "model.gguf"), tmp_path).what
