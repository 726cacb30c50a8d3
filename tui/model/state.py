"""The recurrent state of linear-attention, Mamba2 and convolution layers: one reader a kind of model.

The shapes are those of the `mamba2_cache_params` of SGLang's config classes (`configs/*.py`, `configs/mamba_utils.py`),
the same in 0.5.11 and 0.5.23 where both have the class.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.model import layers as kinds
from tui.model.layers import every_layer, others, query_heads
from tui.model.section import MOST_HEADS, Section
from tui.model.shapes import KdaState, LightningState, Mamba2State, State

StateReader = Callable[[Section], State | None]
_SHORT_CONV_BYTES = 2  # bf16


def no_state(_section: Section) -> None:
    """Attention alone."""


def gated_delta_net(section: Section) -> Mamba2State:
    """Gated delta nets in all layers but those of full attention (Qwen3-Next, Qwen3.5)."""
    return _gated_delta_net(section, others(section, kinds.full_by_interval(section)))


def qwen4(section: Section) -> Mamba2State:
    """As Qwen3.5, and a convolution over n-grams in a few layers, whose state isn't divided among ranks."""
    channels = section.count("hidden_size") * section.count("hc_count", 4)
    steps = (section.count("ple_conv_kernel_size", 4) - 1) * section.count("ngram_size", 3)
    convolved = len(set(section.numbers("ple_layer_ids")))
    layers = others(section, kinds.full_by_type_first(section))
    return _gated_delta_net(section, layers, convolved * channels * steps * _SHORT_CONV_BYTES)


def _gated_delta_net(section: Section, layers: tuple[int, ...], short_conv_bytes: int = 0) -> Mamba2State:
    heads, head_dim = section.count("linear_num_value_heads", most=MOST_HEADS), section.count("linear_value_head_dim")
    return Mamba2State(
        layers=layers,
        intermediate=heads * head_dim,
        groups=section.count("linear_num_key_heads", most=MOST_HEADS),
        heads=heads,
        head_dim=head_dim,
        state_size=section.count("linear_key_head_dim"),
        conv_kernel=section.count("linear_conv_kernel_dim"),
        short_conv_bytes=short_conv_bytes,
    )


def nemotron(section: Section) -> Mamba2State:
    """The Mamba2 mixers of Nemotron-H; its config class and its checkpoints name two keys differently."""
    heads, head_dim = section.count("mamba_num_heads", most=MOST_HEADS), section.count("mamba_head_dim")
    groups = section.first_count(("n_groups", "mamba_n_groups"), most=MOST_HEADS)
    kernel = section.first_count(("conv_kernel", "mamba_d_conv"))
    layers = kinds.nemotron_layers(section, kinds.MAMBA)
    state_size = section.count("ssm_state_size")
    return Mamba2State(layers, heads * head_dim, groups or 8, heads, head_dim, state_size, kernel or 4)


def falcon_h1(section: Section) -> Mamba2State:
    """A Mamba2 mixer beside the attention of each layer."""
    width = section.optional("mamba_d_ssm") or section.count("mamba_expand", 2) * section.count("hidden_size")
    return _falcon_mixer(section, every_layer(section), width)


def granite_hybrid(section: Section) -> Mamba2State | None:
    """The Mamba2 mixers of Granite 4; none where all layers are of attention."""
    layers = others(section, kinds.full_by_type(section))
    width = section.count("mamba_expand", 2) * section.count("hidden_size")
    return _falcon_mixer(section, layers, width) if layers else None


def _falcon_mixer(section: Section, layers: tuple[int, ...], width: int) -> Mamba2State:
    heads = section.count("mamba_n_heads", most=MOST_HEADS)
    automatic = section.get("mamba_d_head", "auto") == "auto"
    head_dim = width // heads if automatic else section.count("mamba_d_head")
    if head_dim * heads != width:
        raise section.error("mamba_n_heads", f"{heads} heads of {head_dim} don't make a mixer of {width}")
    groups = section.count("mamba_n_groups", 1, most=MOST_HEADS)
    return Mamba2State(
        layers, width, groups, heads, head_dim, section.count("mamba_d_state"), section.count("mamba_d_conv", 4)
    )


def short_convolution(section: Section) -> Mamba2State | None:
    """LFM2: short convolutions instead of a recurrence, so the SSM part is empty."""
    width = section.count("hidden_size")
    layers = others(section, kinds.lfm2_attention(section))
    return Mamba2State(layers, width, 1, 1, width, 0, section.count("conv_L_cache", 3)) if layers else None


def kimi_linear(section: Section) -> KdaState | None:
    """Kimi delta attention, in layers that the config counts from 1."""
    return _listed_kda(section, kinds.kda_layers(section, 1))


def glm5_next(section: Section) -> KdaState | None:
    """Kimi delta attention, in layers that the config counts from 0."""
    if section.child("linear_attn_config") is not None:
        return _listed_kda(section, kinds.kda_layers(section, 0))
    heads, head_dim = section.count("linear_num_heads", 64, most=MOST_HEADS), section.count("linear_head_dim", 128)
    return _square_kda(kinds.glm5_kda(section), heads, head_dim, section.count("linear_conv_kernel_dim", 4))


def _listed_kda(section: Section, layers: tuple[int, ...]) -> KdaState | None:
    linear = section.child("linear_attn_config")
    if linear is None or not layers:
        return None
    heads, head_dim = linear.count("num_heads", most=MOST_HEADS), linear.count("head_dim")
    return _square_kda(layers, heads, head_dim, linear.count("short_conv_kernel_size"))


def _square_kda(layers: tuple[int, ...], heads: int, head_dim: int, kernel: int) -> KdaState:
    return KdaState(layers, heads, head_dim, heads, head_dim, kernel)


def bailing(section: Section) -> KdaState | LightningState | None:
    """Ling: Kimi delta attention where the config has a short convolution, else lightning attention."""
    layers = others(section, kinds.bailing_attention(section))
    heads, head_dim = query_heads(section), section.count("head_dim", 128)
    kernel = section.optional("short_conv_kernel_size")
    if not layers:
        return None
    return LightningState(layers, heads, head_dim) if kernel is None else _square_kda(layers, heads, head_dim, kernel)


def minicpm(section: Section) -> LightningState | None:
    """Lightning attention."""
    layers = kinds.minicpm_lightning(section)
    heads = section.first_count(("lightning_nkv", "num_key_value_heads"), most=MOST_HEADS)
    head_dim = section.first_count(("lightning_head_dim", "head_dim"))
    if not layers:
        return None
    return LightningState(
        layers, heads or query_heads(section), head_dim or section.count("hidden_size") // query_heads(section)
    )
