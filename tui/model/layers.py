"""Which layers of a model are of which kind, as its config says it: by interval, by list, by pattern.

Sources: `get_hybrid_layer_ids` of SGLang's `configs/model_config.py` and the `*_layer_ids` of its config classes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.model.section import MOST_HEADS, MOST_LAYERS, Section

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
MAMBA, ATTENTION, MLP, MOE = "M", "*", "-", "E"
# Names of layers that keep keys and values: by type or, in configs of transformers 5, by kind of attention.
_FULL_TYPES = frozenset({FULL, "attention", "indexed_attention", "qwen_sparse_attention"})
_NEMOTRON_BLOCKS = {"mamba": MAMBA, "attention": ATTENTION, "mlp": MLP, "moe": MOE}
_LIGHTNING_NAMES = frozenset({"lightning", "lightning_attn", "lightning-attn"})
_MINICPM_NAMES = frozenset({"minicpm4", "minicpm", "standard", "attention", "attn"})


def layer_count(section: Section) -> int:
    """How many decoder layers the model has; for Nemotron-H the length of its pattern, as in its config class."""
    if section.get("layers_block_type") is not None or section.get("hybrid_override_pattern") is not None:
        return len(nemotron_blocks(section))
    return section.count("num_hidden_layers", most=MOST_LAYERS)


def query_heads(section: Section) -> int:
    """How many query heads an attention has."""
    return section.count("num_attention_heads", most=MOST_HEADS)


def every_layer(section: Section) -> tuple[int, ...]:
    """All layers."""
    return tuple(range(layer_count(section)))


def others(section: Section, layers: tuple[int, ...]) -> tuple[int, ...]:
    """All layers but those."""
    known = frozenset(layers)
    return tuple(layer for layer in every_layer(section) if layer not in known)


def full_by_interval(section: Section) -> tuple[int, ...]:
    """The layers of full attention: by `full_attention_interval`, which wins, or by their types."""
    interval = section.optional("full_attention_interval", most=MOST_LAYERS)
    if interval is not None:
        return tuple(range(interval - 1, layer_count(section), interval))
    if not section.texts("layer_types"):
        raise section.missing("full_attention_interval")
    return full_by_type(section)


def full_by_type(section: Section) -> tuple[int, ...]:
    """The layers that `layer_types` calls layers of full attention."""
    return layers_of_type(section, _FULL_TYPES)


def full_by_type_first(section: Section) -> tuple[int, ...]:
    """As `full_by_interval`, but the types win (Qwen4-Exp)."""
    return full_by_type(section) if section.texts("layer_types") else full_by_interval(section)


def layers_of_type(section: Section, types: Iterable[str]) -> tuple[int, ...]:
    """The layers whose entry in `layer_types` is one of those.

    Raises:
        ModelError: there are fewer entries than layers.
    """
    listed = section.texts("layer_types")
    if not listed:
        raise section.missing("layer_types")
    wanted, layers = frozenset(types), _checked_count(section, "layer_types", len(listed))
    return tuple(layer for layer, kind in enumerate(listed[:layers]) if kind in wanted)


def marked(section: Section, key: str, mark: int) -> tuple[int, ...]:
    """The layers with that mark in a list of numbers, one a layer."""
    marks = section.numbers(key)
    layers = _checked_count(section, key, len(marks))
    return tuple(layer for layer, found in enumerate(marks[:layers]) if found == mark)


def nemotron_blocks(section: Section) -> str:
    """What each layer of a Nemotron-H is: a Mamba2 mixer, an attention, an MLP or a mixture of experts.

    The list wins over the pattern, as in SGLang's config class; without both, nothing is known.
    """
    names = section.texts("layers_block_type")
    key = "layers_block_type" if names else "hybrid_override_pattern"
    pattern = "".join(_NEMOTRON_BLOCKS.get(name, "?") for name in names) or section.text(key)
    if not pattern:
        raise section.missing(key)
    if set(pattern) - {MAMBA, ATTENTION, MLP, MOE}:
        raise section.error(key, "has a layer of a kind that SGLang doesn't know")
    if len(pattern) > MOST_LAYERS:
        raise section.error(key, f"has {len(pattern)} layers")
    return pattern


def nemotron_layers(section: Section, kind: str) -> tuple[int, ...]:
    """The layers of Nemotron-H that are of a kind."""
    return tuple(layer for layer, found in enumerate(nemotron_blocks(section)) if found == kind)


def lfm2_attention(section: Section) -> tuple[int, ...]:
    """The layers of LFM2 that are attention: by type, or by the list that older configs have."""
    if section.texts("layer_types"):
        return full_by_type(section)
    listed = frozenset(section.numbers("full_attn_idxs"))
    if not listed:
        raise section.missing("layer_types")
    return tuple(layer for layer in every_layer(section) if layer in listed)


def kda_layers(section: Section, first: int) -> tuple[int, ...]:
    """The layers listed as Kimi delta attention, counted from 0 here and from `first` in the config."""
    linear = section.child("linear_attn_config")
    if linear is None:
        raise section.missing("linear_attn_config")
    listed = frozenset(linear.numbers("kda_layers"))
    return tuple(layer for layer in every_layer(section) if layer + first in listed)


def glm5_kda(section: Section) -> tuple[int, ...]:
    """The layers of GLM-5-Next that are Kimi delta attention: by list, by type, or three in four."""
    if section.child("linear_attn_config") is not None:
        return kda_layers(section, 0)
    if section.texts("layer_types"):
        return layers_of_type(section, {LINEAR})
    return tuple(layer for layer in every_layer(section) if (layer + 1) % 4)


def bailing_attention(section: Section) -> tuple[int, ...]:
    """The layers of Ling that are latent attention: each n-th, or those not marked 1."""
    if isinstance(section.get("layer_group_size"), list):
        return others(section, marked(section, "layer_group_size", 1))
    size = section.count("layer_group_size", most=MOST_LAYERS)
    return tuple(range(size - 1, layer_count(section), size))


def minicpm_lightning(section: Section) -> tuple[int, ...]:
    """The layers of MiniCPM-SALA that are lightning attention; the list is repeated as often as needed."""
    names = section.texts("mixer_types") or ["minicpm4"]
    if set(names) - _LIGHTNING_NAMES - _MINICPM_NAMES:
        raise section.error("mixer_types", "has a mixer that SGLang doesn't know")
    return tuple(layer for layer in every_layer(section) if names[layer % len(names)] in _LIGHTNING_NAMES)


def _checked_count(section: Section, key: str, entries: int) -> int:
    layers = layer_count(section)
    if entries < layers:
        raise section.error(key, f"has {entries} entries for {layers} layers")
    return layers
