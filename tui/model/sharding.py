"""What one rank holds of a model, and which divisions SGLang refuses.

Sources: SGLang's `layers/vocab_parallel_embedding.py`, `layers/linear.py`, `layers/moe/fused_moe_triton/layer.py`,
`layers/quantization/fp8.py` (0.5.11 and 0.5.23). Sizes are bytes of the largest rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from tui.model import placement
from tui.model.quirks import WITH_VISION_DP
from tui.model.shapes import GroupedQuery, Mamba2State, Model, Shard, WeightGroup
from tui.model.tensors import attention_shape

_VOCABULARY_PADDING: Final = 64
# These keep their token embedding whole on each rank with data-parallel attention; others divide it with the attention.
_WHOLE_EMBEDDING = ("Qwen3_5", "Bailing", "Step3p", "Sarvam")


def rank_bytes(
    weights: tuple[WeightGroup, ...],
    model: Model,
    *,
    tp: int,
    attention_tp: int,
    ep: int,
    pp_layers: range,
    is_first_stage: bool,
    is_last_stage: bool,
    vision_dp: bool,
) -> int:
    """Bytes of weights on one rank.

    Args:
        weights: of the target or the draft; a draft's belong to no layer.
        model: that they are of.
        tp: ranks among which tensors are divided.
        attention_tp: ranks that share an attention; fewer than `tp` with data-parallel attention.
        ep: ranks among which whole experts are divided; what is left of `tp` divides each of them.
        pp_layers: the pipeline stage's layers.
        is_first_stage: it has the token embedding.
        is_last_stage: it has the head.
        vision_dp: vision towers are copied (`--mm-enable-dp-encoder`).
    """
    parts = rank_parts(
        weights,
        model,
        tp=tp,
        attention_tp=attention_tp,
        ep=ep,
        pp_layers=pp_layers,
        is_first_stage=is_first_stage,
        is_last_stage=is_last_stage,
        vision_dp=vision_dp,
    )
    return sum(parts.values())


def rank_parts(
    weights: tuple[WeightGroup, ...],
    model: Model,
    *,
    tp: int,
    attention_tp: int,
    ep: int,
    pp_layers: range,
    is_first_stage: bool,
    is_last_stage: bool,
    vision_dp: bool,
) -> dict[str, int]:
    """Bytes on one rank by part of the model, as `rank_bytes` takes them."""
    split = _Split(model, tp, attention_tp, ep, vision_dp)
    parts: dict[str, int] = {}
    for group in weights:
        if group.layer is None:
            size = split.outside(group, first=is_first_stage, last=is_last_stage)
        elif group.layer in pp_layers:
            size = split.of(group)
        else:
            continue
        if size:
            parts[group.part] = parts.get(group.part, 0) + size
    return parts


class _Split(Struct, frozen=True):
    """One way of dividing a model."""

    model: Model
    tp: int
    attention_tp: int
    ep: int
    vision_dp: bool

    def of(self, group: WeightGroup) -> int:
        """A group's bytes on a rank."""
        shard = group.shard
        if shard is Shard.COPIED:
            return group.size_bytes
        if shard is Shard.KV_HEADS:
            return self._kv_heads(group)
        if shard is Shard.VOCABULARY:
            return self._vocabulary(group)
        return _ceil(group.size_bytes, self._ranks(shard))

    def outside(self, group: WeightGroup, *, first: bool, last: bool) -> int:
        """Bytes of what belongs to no layer, on a stage that may be the first or the last of a pipeline."""
        if group.part == placement.EMBEDDING:
            # A tied head on another stage than the embedding is a copy of it.
            heads = self._vocabulary(group, self.tp) if self.model.tied_embeddings and last and not first else 0
            return heads + (self.of(group) if first else 0)
        if group.part in {placement.LM_HEAD, placement.NORMS}:
            return self.of(group) if last else 0
        return self.of(group)

    def _ranks(self, shard: Shard) -> int:
        if shard is Shard.ATTENTION:
            return self.attention_tp
        if shard is Shard.VISION:
            # Vision attention is divided among the ranks that share an attention.
            return 1 if self.vision_dp else self.attention_tp
        return self.tp

    def _embedding_ranks(self) -> int:
        with_dp = self.attention_tp != self.tp
        return 1 if with_dp and self.model.architecture.startswith(_WHOLE_EMBEDDING) else self.attention_tp

    def _kv_heads(self, group: WeightGroup) -> int:
        shape = attention_shape(self.model, group.layer)
        if shape is None:
            return _ceil(group.size_bytes, self.attention_tp)
        heads = max(1, shape.kv_heads // self.attention_tp)
        return _ceil(group.size_bytes * heads, shape.kv_heads)

    def _vocabulary(self, group: WeightGroup, ranks: int | None = None) -> int:
        """A share of the rows, padded to 64, or to 64 a rank where they wouldn't divide."""
        rows = self.model.vocab_size
        if ranks is None:
            ranks = self._embedding_ranks() if group.part == placement.EMBEDDING else self.tp
        padded = _pad(rows, _VOCABULARY_PADDING)
        if padded % ranks:
            padded = _pad(rows, _VOCABULARY_PADDING * ranks)
        return _ceil(group.size_bytes * (padded // ranks), rows)


def check_sharding(model: Model, tp: int, attention_tp: int, ep: int) -> str | None:
    """Why SGLang would refuse to divide a model so, or None.

    What a flag could still change isn't refused here: vision towers that can run data-parallel.
    """
    problems = (
        *_attention_problems(model, attention_tp),
        *_state_problems(model, attention_tp),
        *_expert_problems(model, tp, ep),
        *_vision_problems(model, attention_tp),
    )
    return next(iter(problems), None)


def _attention_problems(model: Model, ranks: int) -> Iterable[str]:
    for shape in (model.attention.full, model.attention.sliding):
        if shape is None:
            continue
        if shape.heads % ranks:
            yield f"{shape.heads} attention heads can't be divided among {ranks} ranks"
        if isinstance(shape, GroupedQuery) and max(shape.kv_heads, ranks) % min(shape.kv_heads, ranks):
            yield f"{shape.kv_heads} key-value heads can neither be divided among {ranks} ranks nor copied evenly"


def _state_problems(model: Model, ranks: int) -> Iterable[str]:
    state = model.state
    # A short convolution (LFM2) has a state without heads.
    if state is None or (isinstance(state, Mamba2State) and not state.state_size):
        return
    if state.heads % ranks:
        yield f"{state.heads} heads of linear attention can't be divided among {ranks} ranks"


def _expert_problems(model: Model, tp: int, ep: int) -> Iterable[str]:
    experts = model.experts
    if experts is None:
        return
    if tp % ep:
        yield f"TP {tp} is no multiple of EP {ep}"
        return
    if experts.count % ep:
        yield f"{experts.count} experts can't be divided among {ep} ranks"
    ranks, width = tp // ep, experts.intermediate_size
    if width % ranks:
        yield f"experts that are {width} wide can't be divided among {ranks} ranks"
    elif (block := _block(model)) and (width // ranks) % block:
        yield (
            f"experts that are {width} wide come to {width // ranks} on each of {ranks} ranks, "
            f"which is no multiple of the {block} that share a scale in their block-fp8 weights"
        )


def _block(model: Model) -> int | None:
    quantization = model.quantization
    return quantization.block[0] if quantization is not None and quantization.block is not None else None


def _vision_problems(model: Model, ranks: int) -> Iterable[str]:
    heads = model.vision.heads if model.vision is not None and model.multimodal else None
    if heads is not None and heads % ranks and model.architecture not in WITH_VISION_DP:
        yield f"the {heads} heads of the vision tower can't be divided among {ranks} ranks"


def _ceil(size: int, parts: int) -> int:
    return -(-size // parts)


def _pad(size: int, unit: int) -> int:
    return _ceil(size, unit) * unit
