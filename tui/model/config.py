"""A model's `config.json`, decoded as far as its memory depends on it.

Sources: SGLang's `configs/model_config.py` and `utils/hf_transformers/common.py` (0.5.11 and 0.5.23).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from tui.model.attention import index_bytes
from tui.model.document import describe
from tui.model.errors import UnknownArchitectureError
from tui.model.families import FAMILIES, NESTED_DEFAULTS, Family
from tui.model.layers import layer_count
from tui.model.quantization import QuantizationConfig, read_quantization
from tui.model.section import MOST_HEADS, MOST_LAYERS, MOST_TOKENS, Section
from tui.model.shapes import Experts, Mamba2State, Model, State, Vision

# Where a multimodal config keeps its language model, in the order in which SGLang looks.
_TEXT_CONFIGS = ("llm_config", "language_config", "text_config")
_CONTEXT = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
# transformers 5 always gives these the length before scaling, and then SGLang doesn't multiply.
_UNSCALED_ROPES = frozenset({"llama3", "yarn", "longrope"})
_MOST_ROPE_FACTOR = 1e6
# transformers 5 keeps a scaling for each kind of layer of these, and SGLang doesn't look into them.
_ROPES_BY_KIND = ("gemma3", "gemma4")
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_DTYPES: Final = {
    "half": "float16",
    "float16": "float16",
    "float": "float32",
    "float32": "float32",
    "bfloat16": "bfloat16",
}
_MAMBA_DTYPES = frozenset({"float32", "bfloat16", "float16"})
# What transformers' class fills in where a vision config has no such key: layers, width.
_VISION_CLASSES = {
    "gemma4_vision": (16, 768),
    "gemma4_unified_vision": (16, 768),
    "siglip_vision_model": (12, 768),
    "pixtral": (24, 1024),
}
# Flat configs that SGLang serves as multimodal all the same; from 0.5.11 on. A config with a text config of its own is
# multimodal anyway, which covers what later releases added to SGLang's list.
_FLAT_MULTIMODAL = frozenset(
    {"Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration", "MiMoV2ForCausalLM"}
)
_MULTIMODAL_ON_REQUEST = frozenset({"Gemma3ForConditionalGeneration", "Llama4ForConditionalGeneration"})
_ALWAYS_BFLOAT16 = frozenset({"MistralLarge3ForCausalLM", "PixtralForConditionalGeneration"})
_VOCABULARY_LIMIT = 1 << 28


class Decoded(Struct, frozen=True):
    """A config, decoded.

    Attributes:
        model: without its weights.
        text: the part about the language model, with the family's defaults.
        whole: the whole config.
        quantization: how the checkpoint is quantised, or None.
    """

    model: Model
    text: Section
    whole: Section
    quantization: QuantizationConfig | None


def decode_config(whole: Section, name: str, quantization_file: Section | None = None) -> Decoded:
    """Decode a config; `quantization_file` is the `hf_quant_config.json` beside it.

    Raises:
        UnknownArchitectureError: no release that was read has it, or its memory can't be computed.
        ModelError: a key is missing that matters, or has a value that can't be one.
    """
    architecture = _architecture(whole)
    family = FAMILIES.get(architecture)
    if family is None:
        raise UnknownArchitectureError(
            f"architecture {architecture} isn't one whose memory can be computed",
            "the server can be started all the same; its log tells what it takes",
            file=whole.file,
            key="architectures",
        )
    text = _text_section(whole, family)
    quantization = _quantization(whole, text, quantization_file)
    return Decoded(_model(whole, text, name=name, family=family, quantization=quantization), text, whole, quantization)


def _model(
    whole: Section, text: Section, *, name: str, family: Family, quantization: QuantizationConfig | None
) -> Model:
    architecture, state = _architecture(whole), family.state(text)
    summary = None if quantization is None else quantization.summary
    nextn_layers = text.number("num_nextn_predict_layers", 0, most=MOST_LAYERS)
    return Model(
        name=name,
        architecture=architecture,
        model_type=whole.text("model_type") or "",
        dtype=_dtype(whole, text, architecture, None if summary is None else summary.method),
        hidden_size=text.count("hidden_size"),
        num_layers=layer_count(text),
        vocab_size=text.count("vocab_size", most=_VOCABULARY_LIMIT),
        context_length=_context_length(text),
        attention=family.attention(text),
        state=state,
        state_dtype=_state_dtype(text, architecture, state),
        vision=_vision(whole, architecture),
        multimodal=_is_multimodal(whole, text, architecture),
        experts=_experts(text),
        quantization=summary,
        tied_embeddings=_tied(whole, text),
        nextn_layers=nextn_layers,
        mtp_layers=nextn_layers or _mtp_layers(text, architecture),
        index_bytes_per_layer=index_bytes(text),
        weights=None,
        sglang_since=family.since,
    )


def _architecture(whole: Section) -> str:
    names = whole.texts("architectures")
    if not names:
        raise whole.missing("architectures")
    return names[0]


def _text_section(whole: Section, family: Family) -> Section:
    thinker = whole.child("thinker_config")
    if thinker is not None:
        return _with_nested_defaults(thinker.child("text_config") or thinker, family)
    for key in _TEXT_CONFIGS:
        child = whole.child(key)
        if child is not None:
            return _with_nested_defaults(child, family)
    return whole.with_defaults(family.defaults)


def _with_nested_defaults(section: Section, family: Family) -> Section:
    sizes = NESTED_DEFAULTS.get(section.text("model_type") or "", {})
    return section.with_defaults({**sizes, **family.defaults})


def _quantization(whole: Section, text: Section, file: Section | None) -> QuantizationConfig | None:
    for section in (whole.child("quantization_config"), whole.child("compression_config"), file):
        if section is not None:
            return read_quantization(section)
    inner = text.child("quantization_config") if text.path else None
    return None if inner is None else read_quantization(inner)


def _dtype(whole: Section, text: Section, architecture: str, method: str | None) -> str:
    """What `--dtype auto` becomes (`_get_and_verify_dtype`, and what flag resolution sets before it)."""
    if architecture in _ALWAYS_BFLOAT16 or (architecture == "GptOssForCausalLM" and method == "mxfp4"):
        return "bfloat16"
    written = _written_dtype(whole, text)
    if written is not None and written != "float32":
        return written
    return "bfloat16" if (text.text("model_type") or "").startswith("gemma") else "float16"


def _written_dtype(whole: Section, text: Section) -> str | None:
    thinker = whole.child("thinker_config")
    # SGLang gives the language model of a thinker the thinker's dtype, whatever it says itself.
    places = (thinker, whole) if thinker is not None else (text, whole)
    for section in places:
        for key in ("dtype", "torch_dtype"):
            name = section.text(key)
            if name is not None:
                return _known_dtype(section, key, name)
    return None


def _known_dtype(section: Section, key: str, name: str) -> str:
    known = _DTYPES.get(name.removeprefix("torch."))
    if known is None:
        raise section.error(key, f"{name!r} is no dtype that SGLang computes in")
    return known


def _state_dtype(text: Section, architecture: str, state: State | None) -> str | None:
    """The config's dtype for SSM states. Kimi, Ling, Granite and MiniCPM have none in SGLang: always float32."""
    if not isinstance(state, Mamba2State) or architecture.startswith("Granite"):
        return None
    name = text.text("mamba_ssm_dtype")
    return name if name in _MAMBA_DTYPES else None


def _context_length(text: Section) -> int:
    """SGLang's `get_context_length`."""
    length = text.first_count(_CONTEXT, most=MOST_TOKENS)
    if length is None:
        raise text.missing("max_position_embeddings")
    scaling = text.child("rope_scaling") or text.child("rope_parameters")
    if scaling is None or (text.text("model_type") or "").startswith(_ROPES_BY_KIND):
        return length
    return int(length * _rope_factor(scaling, most=MOST_TOKENS / length))


def _rope_factor(scaling: Section, most: float) -> float:
    kind = scaling.text("rope_type") or scaling.text("type")
    if kind in _UNSCALED_ROPES or scaling.get("original_max_position_embeddings") is not None:
        return 1
    factor = scaling.get("factor", 1)
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise scaling.error("factor", f"{describe(factor)} is not a number")
    if not 1 <= factor <= min(_MOST_ROPE_FACTOR, most):
        raise scaling.error("factor", f"{factor} is out of all proportion")
    return factor


def _vision(whole: Section, architecture: str) -> Vision | None:
    """The vision tower, where SGLang looks for it: at the top of the config, and not for Nemotron's."""
    section = whole.child("vision_config")
    if section is None or architecture.startswith("NemotronH"):
        return None
    layers, width = _VISION_CLASSES.get(section.text("model_type") or "", (None, None))
    return Vision(
        num_hidden_layers=section.first_count(("num_hidden_layers", "vt_num_hidden_layers"), MOST_LAYERS) or layers,
        hidden_size=section.first_count(("hidden_size", "vt_hidden_size")) or width,
        heads=section.first_count(("num_attention_heads", "num_heads"), most=MOST_HEADS),
    )


def _is_multimodal(whole: Section, text: Section, architecture: str) -> bool:
    if architecture in _MULTIMODAL_ON_REQUEST:  # with --enable-multimodal
        return False
    return text.path != whole.path or architecture in _FLAT_MULTIMODAL


def _experts(text: Section) -> Experts | None:
    if not text.flag("enable_moe_block", default=True):
        return None
    count = next((text.number(key, 0, most=MOST_HEADS) for key in _EXPERTS if text.get(key) is not None), 0)
    if not count:
        return None
    width = text.first_count(("moe_intermediate_size", "intermediate_size"))
    if width is None:
        raise text.missing("moe_intermediate_size")
    return Experts(count, width)


def _tied(whole: Section, text: Section) -> bool:
    """If lm_head is the embedding: a multimodal config's own word wins over its language model's."""
    return whole.flag("tie_word_embeddings", default=text.flag("tie_word_embeddings", default=False))


def _mtp_layers(text: Section, architecture: str) -> int:
    """Layers for multi-token prediction under the other key; Qwen3-Next has one that its config doesn't mention."""
    unsaid = 1 if architecture.startswith("Qwen3Next") else 0
    return text.number("mtp_num_hidden_layers", unsaid, most=MOST_LAYERS)
