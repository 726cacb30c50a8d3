"""Reads a model: its config, and its tensors from the headers of its files or, without files, from its architecture."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tui.model.architecture import compute_weights
from tui.model.config import Decoded, decode_config
from tui.model.document import read_json
from tui.model.find import CONFIG_NAME
from tui.model.headers import read_checkpoint
from tui.model.section import Section
from tui.model.shapes import Model
from tui.model.tensors import group_stored

_QUANTIZATION_NAME = "hf_quant_config.json"


def read_model(path: Path, name: str) -> Model:
    """Read a model from its folder, or from a config file alone.

    Args:
        path: what `find_model` found.
        name: what the model is called in messages.

    Raises:
        UnknownArchitectureError: its memory can't be computed.
        IncompleteModelError: files of the checkpoint are missing or too short.
        ModelError: a file can't be used as it is.
    """
    if not path.is_dir():
        return _computed(_decode(path, name))
    decoded = _decode(path / CONFIG_NAME, name)
    stored = read_checkpoint(path)
    if stored is None:
        return _computed(decoded)
    model = decoded.model
    return replace(model, weights=group_stored(stored, model))


def _decode(config: Path, name: str) -> Decoded:
    quantization = config.parent / _QUANTIZATION_NAME
    section = Section(quantization, "", read_json(quantization)) if quantization.is_file() else None
    return decode_config(Section(config, "", read_json(config)), name, section)


def _computed(decoded: Decoded) -> Model:
    found = compute_weights(decoded)
    if isinstance(found, str):
        return replace(decoded.model, weights_trouble=found)
    return replace(decoded.model, weights=found)
