"""Where a model's files are: a folder, a `config.json`, or an id in the local Hugging Face cache. Never the network."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tui.model.errors import ModelError, ModelNotFoundError
from tui.text import printable

CONFIG_NAME = "config.json"
# Letters, digits and .-_ in both halves, as the hub allows; no `..`, which would leave the cache.
_ID = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w.\-]*(/[A-Za-z0-9][\w.\-]*)?", re.ASCII)
_COMMIT = re.compile(r"\w[\w.\-]*", re.ASCII)


def find_model(path_or_id: str, *, cache_dir: Path | None = None) -> Path:
    """The folder with a model's files, or the path of a config file.

    Args:
        path_or_id: a folder, a JSON file, or a Hugging Face id such as `Qwen/Qwen3-8B`; `~` is one's home.
        cache_dir: where the Hugging Face cache is, instead of what the environment says.

    Raises:
        ModelNotFoundError: it is none of them.
        ModelError: it is there, and can't be a model.
    """
    if not path_or_id or "\0" in path_or_id:
        raise ModelError(f"{path_or_id!r} is neither a path nor a model id")
    given = _expand(path_or_id)
    try:
        if given.is_dir():
            return _folder(given)
        if given.exists():
            return _file(given)
    except OSError as error:  # a name too long, a folder that mustn't be read
        raise ModelError(f"can't be looked at: {error.strerror}", file=given) from error
    return _cached(path_or_id, hub_cache() if cache_dir is None else cache_dir)


def hub_cache() -> Path:
    """The Hugging Face cache, as huggingface_hub finds it."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        value = os.environ.get(variable)
        if value:
            return _expand(value) / below
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _expand(cache) / "huggingface" / "hub"


def _expand(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~somebody who isn't a user here
        return Path(path)


def _folder(path: Path) -> Path:
    if (path / CONFIG_NAME).is_file():
        return path
    hint = "give the folder into which the model was downloaded, with its config.json"
    if (path / "snapshots").is_dir():
        hint = "that is a folder of the Hugging Face cache: give the model's id, or one of its snapshots"
    elif next(path.glob("*.gguf"), None) is not None:
        hint = "GGUF files can't be planned for; --config takes the config.json of the model that they were made from"
    raise ModelNotFoundError(f"no {CONFIG_NAME} in it", hint, file=path)


def _file(path: Path) -> Path:
    if path.suffix != ".json" or not path.is_file():
        raise ModelError("neither a folder nor a config.json", "give the folder with the model's files", file=path)
    return path


def _cached(model_id: str, cache: Path) -> Path:
    """The folder of a downloaded model: the commit that its branch `main` had, else its only one."""
    shown = printable(model_id)
    if model_id.startswith(("/", ".", "~")) or not _ID.fullmatch(model_id):
        raise ModelNotFoundError(f"{shown}: no such folder or file", "check the path, or give a Hugging Face id")
    repository = cache / f"models--{model_id.replace('/', '--')}"
    snapshot = _snapshot(repository)
    if snapshot is None:
        raise ModelNotFoundError(
            f"{shown} is neither a path here nor in the Hugging Face cache (looked in {printable(str(cache))})",
            f"download it with `hf download {shown}`, or give its config.json with --config",
        )
    if not (snapshot / CONFIG_NAME).is_file():
        raise ModelNotFoundError(
            f"{shown}: its download has no {CONFIG_NAME}",
            f"finish it with `hf download {shown}`",
            file=snapshot,
        )
    return snapshot


def _snapshot(repository: Path) -> Path | None:
    try:
        commit = (repository / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        commit = ""
    if _COMMIT.fullmatch(commit) and (repository / "snapshots" / commit).is_dir():
        return repository / "snapshots" / commit
    return _only_snapshot(repository / "snapshots")


def _only_snapshot(folder: Path) -> Path | None:
    """What was downloaded by its commit has no branch; which of several is meant, nobody can tell."""
    try:
        snapshots = [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return None
    return snapshots[0] if len(snapshots) == 1 else None
