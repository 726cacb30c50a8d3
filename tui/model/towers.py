"""Vision towers whose weights can be computed from the config alone; published checkpoints never quantise them."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model import blocks
from tui.model.blueprint import Parameter
from tui.model.section import MOST_LAYERS, Section

_PREFIX = "model.visual"


def qwen_vision(section: Section) -> Iterator[Parameter]:
    """The tower of Qwen3-VL and Qwen3.5 (SGLang's `models/qwen3_vl.py`)."""
    hidden, patch = section.count("hidden_size"), section.count("patch_size", 16)
    depth = section.count("depth", most=MOST_LAYERS)
    volume = section.count("in_channels", 3) * section.count("temporal_patch_size", 2) * patch * patch
    yield from _linear("patch_embed.proj", hidden, volume)
    yield Parameter(f"{_PREFIX}.pos_embed.weight", (section.count("num_position_embeddings"), hidden), plain=True)
    for block in range(depth):
        yield from _block(f"blocks.{block}", hidden, section.count("intermediate_size"))
    merged = hidden * section.count("spatial_merge_size", 2) ** 2
    yield from _merger("merger", hidden, merged, section)
    for number in range(len(section.numbers("deepstack_visual_indexes"))):
        yield from _merger(f"deepstack_merger_list.{number}", merged, merged, section)


def _block(name: str, hidden: int, width: int) -> Iterator[Parameter]:
    yield from _linear(f"{name}.attn.qkv", 3 * hidden, hidden)
    yield from _linear(f"{name}.attn.proj", hidden, hidden)
    yield from _linear(f"{name}.mlp.linear_fc1", width, hidden)
    yield from _linear(f"{name}.mlp.linear_fc2", hidden, width)
    for norm in ("norm1", "norm2"):
        yield from blocks.norm(f"{_PREFIX}.{name}.{norm}", hidden, bias=True)


def _merger(name: str, normed: int, merged: int, section: Section) -> Iterator[Parameter]:
    yield from blocks.norm(f"{_PREFIX}.{name}.norm", normed, bias=True)
    yield from _linear(f"{name}.linear_fc1", merged, merged)
    yield from _linear(f"{name}.linear_fc2", section.count("out_hidden_size"), merged)


def _linear(name: str, rows: int, columns: int) -> Iterator[Parameter]:
    return blocks.linear(f"{_PREFIX}.{name}", rows, columns, bias=True, plain=True)
