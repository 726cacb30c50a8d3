"""Weights computed from the architecture, for a config without the files of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from tui.model import blocks, decoders
from tui.model.blueprint import Parameter, size_parameters
from tui.model.config import Decoded
from tui.model.decoders import Context, LayerBuilder
from tui.model.section import Section
from tui.model.shapes import Weights
from tui.model.tensors import DTYPE_BYTES, group_tensors
from tui.model.towers import qwen_vision

_Drafts = Callable[[Context], Iterator[Parameter]]


class Architecture(Struct, frozen=True):
    """How a family's parameters are built.

    Attributes:
        layer: a decoder layer's.
        draft: those for multi-token prediction, or None.
        vision: the vision tower's, or None if there is none.
    """

    layer: LayerBuilder
    draft: _Drafts | None = None
    vision: Callable[[Section], Iterator[Parameter]] | None = None


def compute_weights(decoded: Decoded) -> Weights | str:
    """A model's weights, or why they can't be computed, in a sentence.

    Raises:
        ModelError: a key is missing that this architecture needs.
    """
    model, quantization = decoded.model, decoded.quantization
    architecture = ARCHITECTURES.get(model.architecture)
    if architecture is None:
        return _sorry(model.architecture)
    scheme = None if quantization is None else quantization.scheme
    if quantization is not None and (scheme is None or not scheme.skipped.is_clear):
        return _sorry(f"{model.architecture} quantised with {quantization.summary.method}")
    parameters = _parameters(decoded, architecture)
    return group_tensors(size_parameters(parameters, DTYPE_BYTES[model.dtype], scheme), model)


def _sorry(what: str) -> str:
    return f"weights of {what} can't be computed from config.json alone; point --model at its folder"


def _parameters(decoded: Decoded, architecture: Architecture) -> Iterator[Parameter]:
    model = decoded.model
    context = Context(model, decoded.text)
    # An EAGLE3 draft chooses among fewer tokens (0.5.11 models/llama_eagle3.py:225).
    head = decoded.text.count("draft_vocab_size", default=model.vocab_size)
    for name, rows in (("model.embed_tokens", model.vocab_size), ("lm_head", head)):
        yield from blocks.linear(name, rows, model.hidden_size, plain=True)
    yield from blocks.norm("model.norm", model.hidden_size)
    for layer in range(model.num_layers):
        yield from architecture.layer(context, f"model.layers.{layer}", layer)
    vision = decoded.whole.child("vision_config")
    if architecture.vision is not None and vision is not None:
        yield from architecture.vision(vision)
    if architecture.draft is not None:
        yield from architecture.draft(context)


def _qwen_draft(context: Context) -> Iterator[Parameter]:
    """Qwen's: a projection of two streams, layers of full attention, norms."""
    hidden, layers = context.hidden, context.model.mtp_layers
    if not layers:
        return
    yield from blocks.linear("mtp.fc", hidden, 2 * hidden, plain=True)
    for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        yield from blocks.norm(f"mtp.{name}", hidden)
    for layer in range(layers):
        yield from decoders.gated_attention(context, f"mtp.layers.{layer}", layer)


def _next_layers(layer: LayerBuilder) -> _Drafts:
    """DeepSeek's and GLM's: layers behind the last, each with a projection of two streams."""

    def build(context: Context) -> Iterator[Parameter]:
        first, hidden = context.model.num_layers, context.hidden
        for number in range(first, first + context.model.nextn_layers):
            name = f"model.layers.{number}"
            yield from blocks.linear(f"{name}.eh_proj", hidden, 2 * hidden, plain=True)
            for norm in ("enorm", "hnorm", "shared_head.norm"):
                yield from blocks.norm(f"{name}.{norm}", hidden)
            yield from layer(context, name, number)

    return build


_LLAMA = Architecture(decoders.llama())
_QWEN3 = decoders.llama(head_norms=True)
_QWEN3_MOE = decoders.qwen_moe(head_norms=True)
_DEEPSEEK = Architecture(decoders.deepseek, _next_layers(decoders.deepseek))
_GATED_DELTA = Architecture(decoders.gated_delta, _qwen_draft)
_GATED_DELTA_VISION = Architecture(decoders.gated_delta, _qwen_draft, qwen_vision)

ARCHITECTURES: Final = {
    **dict.fromkeys(("LlamaForCausalLM", "MistralForCausalLM", "Ministral3ForCausalLM", "SolarForCausalLM"), _LLAMA),
    **dict.fromkeys(("GraniteForCausalLM", "GemmaForCausalLM", "Phi3ForCausalLM"), _LLAMA),
    "LlamaForCausalLMEagle3": Architecture(decoders.eagle3),
    "Qwen2ForCausalLM": Architecture(decoders.llama(qkv_bias=True)),
    "Qwen3ForCausalLM": Architecture(_QWEN3),
    "Gemma2ForCausalLM": Architecture(decoders.llama(norms=4)),
    "Gemma3ForCausalLM": Architecture(decoders.llama(head_norms=True, norms=4)),
    "MixtralForCausalLM": Architecture(decoders.mixtral),
    "Qwen2MoeForCausalLM": Architecture(decoders.qwen_moe(qkv_bias=True)),
    "Qwen3MoeForCausalLM": Architecture(_QWEN3_MOE),
    "Qwen3VLForConditionalGeneration": Architecture(_QWEN3, vision=qwen_vision),
    "Qwen3VLMoeForConditionalGeneration": Architecture(_QWEN3_MOE, vision=qwen_vision),
    "GptOssForCausalLM": Architecture(decoders.gpt_oss),
    "Glm4MoeForCausalLM": Architecture(decoders.glm4_moe, _next_layers(decoders.glm4_moe)),
    **dict.fromkeys(("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"), _DEEPSEEK),
    **dict.fromkeys(("Glm4MoeLiteForCausalLM", "GlmMoeDsaForCausalLM"), _DEEPSEEK),
    **dict.fromkeys(("Qwen3NextForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"), _GATED_DELTA),
    **dict.fromkeys(("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration"), _GATED_DELTA_VISION),
    "NemotronHForCausalLM": Architecture(decoders.nemotron),
}
