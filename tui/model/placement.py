"""Which part of a model a tensor belongs to, and how SGLang divides it among ranks: told from its checkpoint name.

Source: the layers that SGLang's `models/*.py` build (column- and row-parallel, replicated, vocabulary-parallel, fused
experts). Compared with the parameters that releases 0.5.11 and 0.5.23 make, rank by rank.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from tui.model.shapes import Shard

EMBEDDING, LM_HEAD, VISION_TOWER = "token embedding", "lm_head", "vision tower"
ATTENTION, LINEAR_ATTENTION = "attention", "linear attention"
MLP, EXPERTS, SHARED_EXPERTS, ROUTER, NORMS, OTHER = "mlp", "experts", "shared experts", "router", "norms", "other"
_AUDIO_TOWER = "audio tower"


class Place(Struct, frozen=True):
    """Where a tensor belongs.

    Attributes:
        part: in words.
        shard: how it is divided.
        fused: queries, keys and values in one, of which keys and values may have to be copied.
        fixed: keeps the dtype that it is stored in, whatever the model computes in.
        draft: only a draft worker loads it.
    """

    part: str
    shard: Shard
    fused: bool = False
    fixed: bool = False
    draft: bool = False


# The last component of a name, where it isn't the tensor's own name.
_LEAVES: Final = frozenset(
    (
        *("weight", "bias", "qweight", "qzeros", "scales", "g_idx"),
        *("weight_scale", "weight_scale_inv", "weight_scale_2", "input_scale", "k_scale", "v_scale"),
        *("weight_packed", "weight_shape", "weight_zero_point", "weight_g_idx"),
        *("weight_global_scale", "input_global_scale"),
    )
)
_SCALES: Final = frozenset(leaf for leaf in _LEAVES if "_scale" in leaf)
_FLOAT32: Final = frozenset({"A_log", "A", "e_score_correction_bias", "expert_bias"})
_NOT_LOADED = re.compile(r"(^|\.)(talker|code2wav|token2wav)\.|rotary_emb\.|\.rotary_pos_emb\.")
_DRAFT = re.compile(r"(^|\.)mtp(_layers)?\.")
_VISION = re.compile(
    r"(^|\.)(visual|vision_tower|vision_model|vision_encoder|vision_embed_tokens|vit|multi_modal_projector|mm_projector"
    r"|embed_vision|vision_embedder|patch_merger|mlp1)\."
)
_AUDIO = re.compile(r"(^|\.)(audio_tower|audio_model|audio_encoder|embed_audio|sound_encoder|sound_projection)\.")
_PROJECTORS = frozenset({"multi_modal_projector", "mm_projector", "embed_vision", "vision_embedder", "mlp1"})

_EMBEDDINGS = frozenset({"embed_tokens", "word_embeddings", "tok_embeddings", "embeddings", "wte"})
_HEADS = frozenset({"lm_head", "output", "embed_out"})
_SHARED = frozenset({"shared_expert", "shared_experts", "shared_mlp"})
_ROUTERS = frozenset({"gate", "router", "e_score_correction_bias", "expert_bias", "shared_expert_gate"})
_MLPS = frozenset({"mlp", "feed_forward", "block_sparse_moe", "moe", "ffn"})
_MLP_MODULES = frozenset(
    (
        *("gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3", "fc1", "fc2", "c_fc", "c_proj"),
        *("linear_fc1", "linear_fc2", "input_linear", "output_linear"),
    )
)
_RECURRENT = frozenset({"linear_attn", "mixer", "mamba", "conv", "short_conv"})
_ATTENTIONS = _RECURRENT | {"self_attn", "attention", "attn"}
_ATTENTION_MODULES = frozenset({"q_proj", "o_proj", "qkv_proj"})
_KV = frozenset({"k_proj", "v_proj"})
_FUSED_QKV = frozenset({"qkv_proj", "query_key_value", "W_pack", "c_attn", "wqkv"})
# Projections to a latent, which every rank has whole.
_WHOLE = frozenset(
    ("q_a_proj", "kv_a_proj_with_mqa", "kv_a_proj", "f_a_proj", "g_a_proj", "wk", "wq_b", "weights_proj", "compressor")
)
# Row-parallel: their bias is added once, so each rank has it whole.
_ROWS = frozenset(("o_proj", "down_proj", "out_proj", "w2", "wo", "dense", "fc2", "linear_fc2", "proj", "c_proj"))
# Parts of a tower that are divided among ranks; position embeddings where SGLang makes them as a vocabulary's.
_DIVIDED_TOWER = frozenset(
    ("blocks", "layers", "merger", "merger_list", "deepstack_merger_list", "pos_embed", "position_embedding")
)
_WHOLE_TOWER = frozenset({"patch_embed", "patch_embedder", "patch_conv", "patch_embedding"})


@lru_cache(maxsize=4096)
def place(name: str) -> Place | None:
    """Where a tensor belongs; None if SGLang doesn't load it. `name` is without the layer's and the expert's index."""
    if _NOT_LOADED.search(name):
        return None
    tokens = name.split(".")
    leaf = tokens[-1] if tokens[-1] in _LEAVES and len(tokens) > 1 else ""
    module = tokens[-2] if leaf else tokens[-1]
    found = _place(name, frozenset(tokens), module, leaf)
    fixed = leaf in _SCALES or module in _FLOAT32
    return Place(found.part, found.shard, found.fused, fixed, draft=_DRAFT.search(name) is not None)


def _place(name: str, tokens: frozenset[str], module: str, leaf: str) -> Place:
    if _VISION.search(name):
        return _tower(tokens, module, leaf, VISION_TOWER, Shard.VISION)
    if _AUDIO.search(name):
        return _tower(tokens, module, leaf, _AUDIO_TOWER, Shard.TENSOR)
    if "layers" not in tokens:
        return _outside(tokens, module)
    return _in_layer(tokens, module, leaf)


def _outside(tokens: frozenset[str], module: str) -> Place:
    """A tensor of no decoder layer."""
    if module in _EMBEDDINGS:
        return Place(EMBEDDING, Shard.VOCABULARY)
    if module in _HEADS:
        return Place(LM_HEAD, Shard.VOCABULARY)
    return Place(NORMS if _is_norm(module, tokens) else OTHER, Shard.COPIED)


def _in_layer(tokens: frozenset[str], module: str, leaf: str) -> Place:
    copied = leaf == "bias" and module in _ROWS
    if "experts" in tokens:
        whole = module == "down_proj_bias" or copied
        return Place(EXPERTS, Shard.COPIED if whole else Shard.EXPERTS)
    if module in _MLP_MODULES and tokens & (_MLPS | _SHARED | {"mixer"}):
        return Place(SHARED_EXPERTS if tokens & _SHARED else MLP, Shard.COPIED if copied else Shard.TENSOR)
    if tokens & _ATTENTIONS and module not in _ROUTERS and not _is_norm(module, tokens):
        return _in_attention(tokens, module, copied=copied)
    if module in _ROUTERS:
        return Place(ROUTER, Shard.COPIED)
    # A draft layer may hold an embedding and a head of its own.
    return _outside(tokens, "lm_head" if module == "head" else module)


def _in_attention(tokens: frozenset[str], module: str, *, copied: bool) -> Place:
    plain = module in _ATTENTION_MODULES | _KV or not tokens & _RECURRENT
    part = ATTENTION if plain else LINEAR_ATTENTION
    if copied or module in _WHOLE or "indexer" in tokens:
        return Place(part, Shard.COPIED)
    shard = Shard.KV_HEADS if module in _KV else Shard.ATTENTION
    return Place(part, shard, fused=module in _FUSED_QKV)


def _tower(tokens: frozenset[str], module: str, leaf: str, part: str, shard: Shard) -> Place:
    """A vision or audio tower: its blocks and mergers are divided, the rest is copied."""
    whole = tokens & (_WHOLE_TOWER | _PROJECTORS)
    if whole or not tokens & _DIVIDED_TOWER or _is_norm(module, tokens) or (leaf == "bias" and module in _ROWS):
        return Place(part, Shard.COPIED)
    return Place(part, shard)


def _is_norm(module: str, tokens: frozenset[str]) -> bool:
    """Normalisations; the Mamba2 mixers' own are as wide as the mixer, and divided with it."""
    if module == "norm" and "mixer" in tokens:
        return False
    return "norm" in module or module.startswith("ln_") or module.endswith("_ln")
