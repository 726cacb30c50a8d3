"""From tensors, stored or computed, to weights grouped by part, layer and way of dividing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from tui.model import placement, quirks
from tui.model.headers import StoredTensor
from tui.model.placement import Place
from tui.model.shapes import GroupedQuery, Model, Shard, WeightGroup, Weights

DTYPE_BYTES: Final = {"float32": 4, "float16": 2, "bfloat16": 2}
_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
_INDEX = re.compile(r"\.\d+\.")
_Key = tuple[str, int | None, Shard]


class Tensor(msgspec.Struct, frozen=True, gc=False):
    """A tensor as it stays on the GPU, all ranks together.

    Attributes:
        name: in a checkpoint.
        size_bytes: in the dtype that it stays in.
        convertible: `--dtype` rescales it.
    """

    name: str
    size_bytes: int
    convertible: bool


def group_tensors(tensors: Iterable[Tensor], model: Model) -> Weights:
    """Weights computed from the architecture, without what SGLang doesn't load."""
    grouping = _Grouping(model)
    for tensor in tensors:
        place = placement.place(_without_indices(tensor.name))
        if place is not None:
            grouping.add(tensor, place)
    return grouping.weights(exact=False)


def group_stored(stored: Iterable[StoredTensor], model: Model) -> Weights:
    """Weights of a checkpoint: plain floating point in the model's dtype, the rest as it is stored."""
    grouping, width = _Grouping(model), DTYPE_BYTES[model.dtype]
    for tensor in stored:
        place = placement.place(_without_indices(tensor.name))
        if place is None:
            continue
        if tensor.dtype in _FLOATS and not place.fixed:
            grouping.add(Tensor(tensor.name, tensor.elements * width, convertible=True), place)
        else:
            grouping.add(Tensor(tensor.name, tensor.size_bytes, convertible=False), place)
    return grouping.weights(exact=True)


@dataclass(slots=True)
class _Grouping:
    """Sums sizes and convertible bytes by part, layer and shard."""

    model: Model
    target: dict[_Key, list[int]] = field(default_factory=dict)
    draft: dict[_Key, list[int]] = field(default_factory=dict)
    recurrent: frozenset[int] = field(init=False)
    makes_all_keys: bool = field(init=False)

    def __post_init__(self) -> None:
        state = self.model.state
        # Layers with a state and neither keys nor values.
        self.recurrent = frozenset(state.layers if state else ()) - frozenset(self.model.attention.full_layers)
        self.makes_all_keys = quirks.makes_all_keys(self.model)

    def weights(self, *, exact: bool) -> Weights:
        """The groups."""
        if quirks.copies_head(self.model):
            embedding = self.target.get((placement.EMBEDDING, None, Shard.VOCABULARY), [0, 0])
            self.target[placement.LM_HEAD, None, Shard.VOCABULARY] = list(embedding)
        return Weights(_groups(self.target), _groups(self.draft), exact)

    def add(self, tensor: Tensor, place: Place) -> None:
        """Add a tensor to its group, if SGLang loads it."""
        layer = _layer(tensor.name)
        if place.draft or (layer is not None and layer >= self.model.num_layers):
            if place.part not in {placement.EMBEDDING, placement.LM_HEAD}:  # the target's are used
                self._sum(self.draft, tensor, None, place)
        elif not quirks.is_dropped(place, self.model):
            self._sum(self.target, tensor, layer, place)

    def _sum(self, groups: dict[_Key, list[int]], tensor: Tensor, layer: int | None, place: Place) -> None:
        part, shard = self._located(place, layer)
        size, kv = tensor.size_bytes, self._kv_bytes(tensor, layer, place)
        if place.part == placement.LM_HEAD:
            size = quirks.head_bytes(self.model, size, DTYPE_BYTES[self.model.dtype])
        if place.fused:
            size -= kv
        elif shard is Shard.KV_HEADS and self.makes_all_keys:
            return  # counted with the queries
        for kind, amount in ((Shard.KV_HEADS, kv), (shard, size)):
            if amount:
                entry = groups.setdefault((part, layer, kind), [0, 0])
                entry[0] += amount
                entry[1] += amount if tensor.convertible else 0

    def _located(self, place: Place, layer: int | None) -> tuple[str, Shard]:
        """The part and the shard; recurrent layers have no keys that could need copying."""
        shard = quirks.adjusted_shard(place, self.model)
        if place.part == placement.ATTENTION and layer in self.recurrent:
            return placement.LINEAR_ATTENTION, Shard.ATTENTION if shard is Shard.KV_HEADS else shard
        return place.part, shard

    def _kv_bytes(self, tensor: Tensor, layer: int | None, place: Place) -> int:
        """Bytes of keys and values that come with a tensor: in it, or made besides it."""
        shape = attention_shape(self.model, layer)
        if shape is None or layer in self.recurrent:
            return 0
        if place.fused:
            kv = shape.kv_heads * (shape.head_dim + shape.v_head_dim)
            return tensor.size_bytes * kv // (kv + shape.heads * shape.head_dim)
        made = self.makes_all_keys and place.part == placement.ATTENTION and ".q_proj." in tensor.name
        return 2 * tensor.size_bytes * shape.kv_heads // shape.heads if made else 0


def attention_shape(model: Model, layer: int | None) -> GroupedQuery | None:
    """The grouped-query attention of a layer (None: of a draft's); None where it is another kind."""
    if layer is not None and layer in model.attention.sliding_layers:
        return model.attention.sliding
    full = model.attention.full
    return full if isinstance(full, GroupedQuery) else None


def _groups(sizes: dict[_Key, list[int]]) -> tuple[WeightGroup, ...]:
    return tuple(
        WeightGroup(part, layer, shard, size, convertible)
        for (part, layer, shard), (size, convertible) in sizes.items()
    )


def _without_indices(name: str) -> str:
    return _INDEX.sub(".", name)


def _layer(name: str) -> int | None:
    match = _LAYER.search(name)
    return None if match is None else int(match[1])
