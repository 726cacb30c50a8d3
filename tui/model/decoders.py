"""Decoder layers of the families whose weights can be computed from the config alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from tui.model import blocks
from tui.model.blueprint import Parameter
from tui.model.layers import ATTENTION, MAMBA, MLP, nemotron_blocks
from tui.model.section import MOST_HEADS, MOST_LAYERS, Section
from tui.model.shapes import Experts, GroupedQuery, Latent, Mamba2State, Model

LayerBuilder = Callable[["Context", str, int], Iterator[Parameter]]


class Context(Struct, frozen=True):
    """What a layer is built from: the decoded model and the text part of its config."""

    model: Model
    text: Section

    @property
    def hidden(self) -> int:
        """The width of the residual stream."""
        return self.model.hidden_size

    @property
    def grouped(self) -> GroupedQuery:
        """The attention's shape.

        Raises:
            ModelError: it is latent attention, which this family doesn't have.
        """
        if not isinstance(self.model.attention.full, GroupedQuery):
            raise self.text.error("kv_lora_rank", "makes latent attention, which this architecture doesn't have")
        return self.model.attention.full

    @property
    def latent(self) -> Latent:
        """Likewise for latent attention.

        Raises:
            ModelError: it isn't latent.
        """
        if not isinstance(self.model.attention.full, Latent):
            raise self.text.missing("kv_lora_rank")
        return self.model.attention.full

    @property
    def recurrent(self) -> Mamba2State:
        """The state's shape.

        Raises:
            ModelError: there is none.
        """
        if not isinstance(self.model.state, Mamba2State):
            raise self.text.missing("layer_types")
        return self.model.state

    @property
    def routed(self) -> Experts:
        """The experts.

        Raises:
            ModelError: there are none.
        """
        if self.model.experts is None:
            raise self.text.missing("num_experts")
        return self.model.experts


def llama(*, qkv_bias: bool = False, head_norms: bool = False, norms: int = 2) -> LayerBuilder:
    """Llama and what is built like it. `norms`: how many as wide as the stream a layer has."""

    def build(context: Context, name: str, _layer: int) -> Iterator[Parameter]:
        yield from _attention(context, name, qkv_bias=qkv_bias, head_norms=head_norms)
        bias = context.text.flag("mlp_bias", default=False)
        yield from blocks.gated_mlp(f"{name}.mlp", context.hidden, context.text.count("intermediate_size"), bias=bias)
        yield from _stream_norms(context, name, norms)

    return build


def eagle3(context: Context, name: str, _layer: int) -> Iterator[Parameter]:
    """The one layer of an EAGLE3 draft: three streams of the target made one, attention over two."""
    hidden = context.hidden
    streams = 3 * context.text.count("target_hidden_size", default=hidden)
    yield from blocks.linear(f"{name}.fc", hidden, streams, plain=True)
    yield from blocks.grouped_query(f"{name}.self_attn", 2 * hidden, context.grouped, output_width=hidden)
    yield from blocks.gated_mlp(f"{name}.mlp", hidden, context.text.count("intermediate_size"))
    yield from _stream_norms(context, name, 3)


def mixtral(context: Context, name: str, _layer: int) -> Iterator[Parameter]:
    """Mixtral: experts in each layer."""
    yield from _attention(context, name)
    yield from blocks.router(f"{name}.block_sparse_moe.gate", context.routed.count, context.hidden)
    yield from _experts(context, f"{name}.block_sparse_moe.experts")
    yield from _stream_norms(context, name)


def qwen_moe(*, qkv_bias: bool = False, head_norms: bool = False) -> LayerBuilder:
    """Qwen2-MoE and Qwen3-MoE: experts in most layers, beside them a shared one where the config has its width."""

    def build(context: Context, name: str, layer: int) -> Iterator[Parameter]:
        yield from _attention(context, name, qkv_bias=qkv_bias, head_norms=head_norms)
        yield from _qwen_mlp(context, name, layer)
        yield from _stream_norms(context, name)

    return build


def gated_delta(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    """Qwen3-Next and Qwen3.5: gated delta nets and gated attention, dense or with experts."""
    if layer in context.recurrent.layers:
        yield from blocks.gated_delta_net(f"{name}.linear_attn", context.hidden, context.recurrent)
        yield from _qwen_mlp(context, name, layer)
        yield from _stream_norms(context, name)
    else:
        yield from gated_attention(context, name, layer)


def gated_attention(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    """Their layers of full attention; also what predicts several tokens at once."""
    gated = context.text.flag("attn_output_gate", default=True)
    yield from _attention(context, name, head_norms=True, gated=gated)
    yield from _qwen_mlp(context, name, layer)
    yield from _stream_norms(context, name)


def glm4_moe(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    """GLM-4.5 and later with grouped-query attention."""
    head_norms = context.text.flag("use_qk_norm", default=False)
    yield from _attention(context, name, head_norms=head_norms)
    yield from _deepseek_mlp(context, name, layer)
    yield from _stream_norms(context, name)


def deepseek(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    """DeepSeek-V2, V3, V3.2 and the GLM and Kimi models built like them."""
    shape = context.latent
    indexed = layer in shape.index_layers or layer >= context.model.num_layers
    yield from blocks.latent(f"{name}.self_attn", context.hidden, shape, context.text, indexed=indexed)
    yield from _deepseek_mlp(context, name, layer)
    yield from _stream_norms(context, name)


def gpt_oss(context: Context, name: str, _layer: int) -> Iterator[Parameter]:
    """gpt-oss: sinks, and biases everywhere."""
    routed, hidden = context.routed, context.hidden
    bias = context.text.flag("attention_bias", default=True)
    yield Parameter(f"{name}.self_attn.sinks", (context.grouped.heads,))
    yield from blocks.grouped_query(f"{name}.self_attn", hidden, context.grouped, bias=bias, output_bias=bias)
    yield from blocks.linear(f"{name}.mlp.router", routed.count, hidden, bias=True, plain=True)
    yield from _experts(context, f"{name}.mlp.experts")
    yield Parameter(f"{name}.mlp.experts.gate_up_proj_bias", (routed.count, 2 * routed.intermediate_size), plain=True)
    yield Parameter(f"{name}.mlp.experts.down_proj_bias", (routed.count, hidden), plain=True)
    yield from _stream_norms(context, name)


def nemotron(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    """Nemotron-H: one mixer a layer, of one of four kinds."""
    kind, hidden, text = nemotron_blocks(context.text)[layer], context.hidden, context.text
    mixer = f"{name}.mixer"
    if kind == MAMBA:
        yield from blocks.mamba2(mixer, hidden, context.recurrent)
    elif kind == ATTENTION:
        bias = text.flag("attention_bias", default=False)
        yield from blocks.grouped_query(mixer, hidden, context.grouped, bias=bias, output_bias=bias)
    elif kind == MLP:
        yield from blocks.plain_mlp(mixer, hidden, text.count("intermediate_size"))
    else:
        yield from _nemotron_experts(context, mixer)
    yield from blocks.norm(f"{name}.norm", hidden)


def _nemotron_experts(context: Context, mixer: str) -> Iterator[Parameter]:
    routed, hidden, text = context.routed, context.hidden, context.text
    width = text.optional("moe_latent_size") or hidden
    if width != hidden:
        yield from blocks.linear(f"{mixer}.fc1_latent_proj", width, hidden, plain=True)
        yield from blocks.linear(f"{mixer}.fc2_latent_proj", hidden, width, plain=True)
    yield from blocks.router(f"{mixer}.gate", routed.count, hidden, correction=True)
    yield from blocks.experts(f"{mixer}.experts", routed.count, width, routed.intermediate_size, gated=False)
    shared = text.number("n_shared_experts", 0, most=MOST_HEADS)
    if shared:
        width = shared * text.count("moe_shared_expert_intermediate_size")
        yield from blocks.plain_mlp(f"{mixer}.shared_experts", hidden, width)


def _attention(
    context: Context, name: str, *, qkv_bias: bool = False, head_norms: bool = False, gated: bool = False
) -> Iterator[Parameter]:
    bias = context.text.flag("attention_bias", default=False)
    # GLM-4.5 has biases before the attention alone, Llama-like models on both sides.
    output_bias = bias and not context.model.architecture.startswith("Glm")
    yield from blocks.grouped_query(
        f"{name}.self_attn",
        context.hidden,
        context.grouped,
        bias=bias or qkv_bias,
        output_bias=output_bias,
        head_norms=head_norms,
        gated=gated,
    )


def _stream_norms(context: Context, name: str, count: int = 2) -> Iterator[Parameter]:
    names = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
    for norm in names[:count]:
        yield from blocks.norm(f"{name}.{norm}", context.hidden)


def _experts(context: Context, name: str) -> Iterator[Parameter]:
    return blocks.experts(name, context.routed.count, context.hidden, context.routed.intermediate_size)


def _qwen_mlp(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    text, hidden = context.text, context.hidden
    step = text.count("decoder_sparse_step", 1, most=MOST_LAYERS)
    dense = layer in text.numbers("mlp_only_layers") or (layer + 1) % step
    if context.model.experts is None or dense:
        yield from blocks.gated_mlp(f"{name}.mlp", hidden, text.count("intermediate_size"))
        return
    yield from blocks.router(f"{name}.mlp.gate", context.routed.count, hidden)
    yield from _experts(context, f"{name}.mlp.experts")
    shared = text.number("shared_expert_intermediate_size", 0)
    if shared:
        yield from blocks.gated_mlp(f"{name}.mlp.shared_expert", hidden, shared)
        yield from blocks.linear(f"{name}.mlp.shared_expert_gate", 1, hidden, plain=True)


def _deepseek_mlp(context: Context, name: str, layer: int) -> Iterator[Parameter]:
    text, hidden = context.text, context.hidden
    dense = text.number("first_k_dense_replace", 0, most=MOST_LAYERS)
    if context.model.experts is None or layer < dense or layer % text.count("moe_layer_freq", 1, most=MOST_LAYERS):
        yield from blocks.gated_mlp(f"{name}.mlp", hidden, text.count("intermediate_size"))
        return
    # The correction is what balances experts from DeepSeek-V3 on.
    correction = context.model.architecture != "DeepseekV2ForCausalLM"
    yield from blocks.router(f"{name}.mlp.gate", context.routed.count, hidden, correction=correction)
    yield from _experts(context, f"{name}.mlp.experts")
    shared = text.number("n_shared_experts", 0, most=MOST_HEADS)
    if shared:
        width = shared * context.routed.intermediate_size
        yield from blocks.gated_mlp(f"{name}.mlp.shared_experts", hidden, width)
