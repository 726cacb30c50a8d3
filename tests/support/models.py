"""Model configs of the fixtures, decoded; and checkpoints written by hand."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from tui.model.config import Decoded, decode_config
from tui.model.section import Section
from tui.model.shapes import Model, WeightGroup
from tui.model.sharding import rank_bytes

FIXTURES = Path(__file__).parents[1] / "fixtures"
CONFIGS = FIXTURES / "budget" / "configs"
DTYPES = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "U8": 1, "I32": 4}  # bytes of an element


def load_fixture(name: str) -> Any:
    """A JSON file of `fixtures/model`."""
    return json.loads((FIXTURES / "model" / name).read_text())


def all_configs() -> dict[str, dict[str, Any]]:
    """Every config there is, by name."""
    own: dict[str, dict[str, Any]] = {
        path.stem: json.loads(path.read_text()) for path in sorted(CONFIGS.glob("*.json"))
    }
    own.update(load_fixture("families.json"))
    return own


def decode(document: Mapping[str, Any], name: str = "model") -> Decoded:
    """A config, decoded as if it came from a file of that name."""
    return decode_config(Section(Path(f"{name}.json"), "", document), name)


def on_rank(
    model: Model,
    groups: tuple[WeightGroup, ...] | None = None,
    *,
    tp: int = 1,
    attention_tp: int | None = None,
    ep: int = 1,
    vision_dp: bool = False,
) -> int:
    """Bytes on the first of `tp` ranks, without a pipeline."""
    if groups is None:
        assert model.weights is not None, model.weights_trouble
        groups = model.weights.target
    return rank_bytes(
        groups,
        model,
        tp=tp,
        attention_tp=attention_tp or tp,
        ep=ep,
        pp_layers=range(model.num_layers),
        is_first_stage=True,
        is_last_stage=True,
        vision_dp=vision_dp,
    )


def write_safetensors(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """A safetensors file of zeros: dtype and shape by name."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for name, (dtype, shape) in tensors.items():
        end = position + prod(shape) * DTYPES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [position, end]}
        position = end
    write_header(path, json.dumps(header).encode(), position)


def write_header(path: Path, header: bytes, data_bytes: int) -> None:
    """A safetensors file with that header, and zeros behind it, of which none takes space on the disk."""
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + data_bytes)
