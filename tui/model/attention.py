"""Which layers keep keys and values, and of which shape: one reader a kind of model.

The rules are those of SGLang's `configs/model_config.py` (`_derive_model_shapes`, `is_hybrid_swa_model`), read in
releases 0.5.6 to 0.5.23, and of its config classes.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.model import layers as kinds
from tui.model.layers import every_layer, layer_count, query_heads
from tui.model.section import MOST_HEADS, MOST_TOKENS, Section
from tui.model.shapes import Attention, GroupedQuery, Latent

AttentionReader = Callable[[Section], Attention]
LayerReader = Callable[[Section], tuple[int, ...]]

# What the number of key-value heads is called, in the order in which SGLang looks.
_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_WINDOW = ("sliding_window_size", "sliding_window", "window_size")


def grouped_query(section: Section) -> GroupedQuery:
    """Multi-head or grouped-query attention, in the usual keys."""
    heads = query_heads(section)
    kv_heads = section.first_count(_KV_HEADS, most=MOST_HEADS)
    head_dim = section.optional("head_dim") or _divided(section, heads)
    # Some configs write 0 for "the same".
    v_head_dim = section.number("v_head_dim", 0) or head_dim
    return GroupedQuery(heads, heads if kv_heads is None else kv_heads, head_dim, v_head_dim)


def all_layers(section: Section) -> Attention:
    """Grouped-query attention in every layer, in one pool whatever its windows are."""
    return Attention(grouped_query(section), every_layer(section))


def in_layers(read: LayerReader) -> AttentionReader:
    """Grouped-query attention in some layers, something else in the others."""
    return lambda section: Attention(grouped_query(section), read(section))


def latent(section: Section) -> Attention:
    """Multi-head latent attention in every layer, with a sparse-attention indexer if the config has one."""
    found = every_layer(section)
    return Attention(_indexed(section, _latent(section), found), found)


def latent_in_layers(read: LayerReader) -> AttentionReader:
    """Latent attention in some layers, something else in the others."""
    return lambda section: Attention(_latent(section), read(section))


def indexed_in_layers(read: LayerReader) -> AttentionReader:
    """Likewise, with an indexer if the config has one."""

    def read_all(section: Section) -> Attention:
        found = read(section)
        return Attention(_indexed(section, _latent(section), found), found)

    return read_all


def optionally_latent(section: Section) -> Attention:
    """Latent attention if the config has its rank, else grouped-query (Pixtral, DeepSeek-VL2)."""
    has_rank = section.optional("kv_lora_rank") is not None and section.flag("use_mla", default=True)
    return latent(section) if has_rank else all_layers(section)


def index_bytes(section: Section) -> int:
    """Bytes a token that each layer's compressed index takes (Qwen4-Exp, bf16): one key for several tokens."""
    if section.optional("indexer_n_heads") is None:
        return 0
    key_bytes = section.count("indexer_kv_heads", 1) * section.count("indexer_head_dim") * 2
    return key_bytes // section.count("indexer_compress_ratio")


def sliding_by_type(section: Section) -> Attention:
    """Sliding and full layers of one shape, told apart by type (gpt-oss)."""
    shape = grouped_query(section)
    return _with_sliding(section, shape, shape)


def gemma4(section: Section) -> Attention:
    """Gemma 4: the plain keys describe the sliding layers, the `global_` ones the full layers.

    Layers that reuse the keys and values of another still get a pool of their own.
    """
    sliding = grouped_query(section)
    kv_heads = section.optional("num_global_key_value_heads", most=MOST_HEADS)
    if kv_heads is None or not section.flag("attention_k_eq_v", default=False):
        kv_heads = sliding.kv_heads
    head_dim = section.count("global_head_dim", 512)
    return _with_sliding(section, GroupedQuery(sliding.heads, kv_heads, head_dim, head_dim), sliding)


def llama4(section: Section) -> Attention:
    """Three layers in four see a chunk only: SGLang pools them apart, and has no window for them.

    0.5.6 does so with `--hybrid-kvcache-ratio` alone.
    """
    shape, full = grouped_query(section), tuple(range(3, layer_count(section), 4))
    return Attention(
        shape,
        full,
        sliding=shape,
        sliding_layers=kinds.others(section, full),
        pooled_since="0.5.8",
    )


def mimo_v2(section: Section) -> Attention:
    """MiMo-V2: sliding layers with heads of their own, marked 1 in `hybrid_layer_pattern`."""
    full = grouped_query(section)
    return Attention(
        full,
        kinds.marked(section, "hybrid_layer_pattern", 0),
        sliding=_own_sliding_shape(section, full),
        sliding_layers=kinds.marked(section, "hybrid_layer_pattern", 1),
        window=_window(section),
    )


def step3p5(section: Section) -> Attention:
    """Step-3.5: sliding layers with another number of key-value heads."""
    full = grouped_query(section)
    other = section.child("attention_other_setting")
    kv_heads = full.kv_heads if other is None else other.count("num_attention_groups", most=MOST_HEADS)
    return _with_sliding(section, full, GroupedQuery(full.heads, kv_heads, full.head_dim, full.v_head_dim))


def _latent(section: Section) -> Latent:
    rope_dim = 0 if section.flag("use_mla_nope", default=False) else section.number("qk_rope_head_dim")
    return Latent(query_heads(section), section.count("kv_lora_rank"), rope_dim)


def _indexed(section: Section, shape: Latent, found: tuple[int, ...]) -> Latent:
    if section.optional("index_topk") is None:
        return shape
    return Latent(
        shape.heads,
        shape.kv_lora_rank,
        shape.rope_dim,
        index_head_dim=section.count("index_head_dim"),
        index_layers=tuple(layer for layer in found if not _shares_index(section, layer)),
        index_pool=section.count("index_kpool", 1),
    )


def _shares_index(section: Section, layer: int) -> bool:
    """The layer takes the selection of the layer before (SGLang's `dsa_layer_skips_topk`)."""
    types = section.texts("indexer_types")
    if types:
        return layer < len(types) and types[layer] == "shared"
    pattern = section.text("index_topk_pattern")
    if pattern is not None:
        return layer < len(pattern) and pattern[layer] == "S"
    offset = section.count("index_skip_topk_offset", 2)
    return max(layer - offset + 1, 0) % section.count("index_topk_freq", 1) != 0


def _with_sliding(section: Section, full: GroupedQuery, sliding: GroupedQuery) -> Attention:
    if not section.texts("layer_types"):
        section = section.with_defaults({**section.defaults, "layer_types": _alternating(section)})
    return Attention(
        full,
        kinds.full_by_type(section),
        sliding=sliding,
        sliding_layers=kinds.layers_of_type(section, {kinds.SLIDING}),
        window=_window(section),
    )


def _alternating(section: Section) -> list[str]:
    """The types that a config class fills in: full attention in each n-th layer."""
    period = section.optional("sliding_window_pattern")
    if period is None:
        raise section.missing("layer_types")
    return [kinds.SLIDING if (layer + 1) % period else kinds.FULL for layer in every_layer(section)]


def _own_sliding_shape(section: Section, full: GroupedQuery) -> GroupedQuery:
    head_dim = section.count("swa_head_dim", full.head_dim)
    return GroupedQuery(
        heads=section.count("swa_num_attention_heads", full.heads, most=MOST_HEADS),
        kv_heads=section.count("swa_num_key_value_heads", full.kv_heads, most=MOST_HEADS),
        head_dim=head_dim,
        v_head_dim=section.count("swa_v_head_dim", head_dim),
    )


def _window(section: Section) -> int | None:
    return section.first_count(_WINDOW, most=MOST_TOKENS)


def _divided(section: Section, heads: int) -> int:
    """`hidden_size` over the heads, rounded down as SGLang does."""
    width = section.count("hidden_size")
    if width < heads:
        raise section.error("num_attention_heads", f"{heads} heads for a hidden size of {width}")
    return width // heads
