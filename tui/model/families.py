"""The architectures that this program can read: how each keeps keys, values and state, and since which release.

Defaults are those of the config classes in transformers 5.19 and SGLang 0.5.23, for keys that published configs leave
out. The sizes that make a model (layers, width, heads, vocabulary) have none, except within a multimodal config, where
Hugging Face itself leaves out what equals the class's default.

`since` is the first wheel on PyPI whose model registry has the architecture; None where 0.5.6.post2 has it. (Read:
0.5.8 to 0.5.23, of 0.5.13 its post1.)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct, field

from tui.model import attention, layers, state
from tui.model.attention import AttentionReader
from tui.model.section import Section
from tui.model.state import StateReader


class Family(Struct, frozen=True):
    """Architectures that are read alike.

    Attributes:
        attention, state: the readers.
        defaults: what the config class has for absent keys.
        since: the first SGLang release that has it, or None.
    """

    attention: AttentionReader = attention.all_layers
    state: StateReader = state.no_state
    defaults: Mapping[str, Any] = field(default_factory=dict)
    since: str | None = None


def _tokens(context: int, *, tied: bool = False, **others: Any) -> dict[str, Any]:
    """Defaults: the longest sequence, if lm_head is the embedding, and what else there is."""
    return {"max_position_embeddings": context, "tie_word_embeddings": tied, **others}


def _kimi_attention(section: Section) -> tuple[int, ...]:
    return layers.others(section, layers.kda_layers(section, 1))


def _glm5_attention(section: Section) -> tuple[int, ...]:
    return layers.others(section, layers.glm5_kda(section))


def _minicpm_attention(section: Section) -> tuple[int, ...]:
    return layers.others(section, layers.minicpm_lightning(section))


def _nemotron_attention(section: Section) -> tuple[int, ...]:
    return layers.nemotron_layers(section, layers.ATTENTION)


_UNTIED = {"tie_word_embeddings": False}
_MLA: dict[str, Any] = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
_GLM_MLA: dict[str, Any] = {**_MLA, "qk_nope_head_dim": 192, "v_head_dim": 256}
_GDN_DEFAULTS = _tokens(
    32768,
    head_dim=256,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_num_key_heads=16,
    linear_num_value_heads=32,
)
_GEMMA4: dict[str, Any] = {"head_dim": 256, "sliding_window": 512, "sliding_window_pattern": 6}
_NEMOTRON: dict[str, Any] = {"head_dim": 128, "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128}

_dense = partial(Family, attention.all_layers, state.no_state)
_latent = partial(Family, attention.latent, state.no_state)
_gated_delta = partial(Family, attention.in_layers(layers.full_by_interval), state.gated_delta_net, _GDN_DEFAULTS)
_nemotron = partial(Family, attention.in_layers(_nemotron_attention), state.nemotron, _tokens(4096, **_NEMOTRON))
_kimi = partial(Family, attention.latent_in_layers(_kimi_attention), state.kimi_linear, _tokens(4096))
_bailing = partial(
    Family, attention.latent_in_layers(layers.bailing_attention), state.bailing, _tokens(32768, head_dim=128, **_MLA)
)
_lfm2 = partial(Family, attention.in_layers(layers.lfm2_attention), state.short_convolution)
_sliding_gemma4 = partial(Family, attention.gemma4, state.no_state)
_step = partial(Family, attention.step3p5, state.no_state, _tokens(128000, max_seq_len=128000, head_dim=128))

_GROUPED_QUERY = (
    ("LlamaForCausalLM SolarForCausalLM GraniteForCausalLM GraniteMoeForCausalLM", _dense(_tokens(2048))),
    ("LlamaForCausalLMEagle3", _dense(_tokens(2048))),
    ("OlmoForCausalLM Olmo2ForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM", _dense(_tokens(2048))),
    ("LlavaForConditionalGeneration PhiForCausalLM", _dense(_tokens(2048))),
    ("MistralForCausalLM MixtralForCausalLM Mistral3ForConditionalGeneration", _dense(_tokens(131072))),
    ("Ministral3ForCausalLM", _dense(_tokens(262144, head_dim=128))),
    ("Qwen2ForCausalLM Qwen2MoeForCausalLM MiMoForCausalLM InternVLChatModel", _dense(_tokens(32768))),
    ("Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration", _dense(_tokens(32768))),
    ("Qwen3ForCausalLM", _dense(_tokens(32768, head_dim=128))),
    ("Qwen3MoeForCausalLM Qwen3OmniMoeForConditionalGeneration", _dense(_tokens(32768))),
    ("Qwen3VLForConditionalGeneration", _dense(_tokens(128000, head_dim=128))),
    ("Qwen3VLMoeForConditionalGeneration", _dense(_tokens(128000))),
    ("Phi3ForCausalLM OlmoeForCausalLM StableLmForCausalLM ArceeForCausalLM", _dense(_tokens(4096))),
    ("GemmaForCausalLM Gemma2ForCausalLM", _dense(_tokens(8192, tied=True, head_dim=256))),
    ("Gemma3ForCausalLM Gemma3ForConditionalGeneration", _dense(_tokens(131072, tied=True, head_dim=256))),
    ("CohereForCausalLM Cohere2ForCausalLM", _dense(_tokens(8192, tied=True))),
    ("Glm4ForCausalLM", _dense(_tokens(131072, head_dim=128))),
    ("Glm4MoeForCausalLM PhiMoEForCausalLM", _dense(_tokens(131072))),
    ("Glm4vForConditionalGeneration", _dense(_tokens(32768))),
    ("Glm4vMoeForConditionalGeneration ApertusForCausalLM", _dense(_tokens(65536))),
    ("Starcoder2ForCausalLM", _dense(_tokens(4096, tied=True))),
    ("Exaone4ForCausalLM", _dense(_tokens(2048), since="0.5.9")),
    ("Ernie4_5_ForCausalLM", _dense(_tokens(131072, tied=True, head_dim=128))),
    ("Ernie4_5_MoeForCausalLM", _dense(_tokens(131072, tied=True))),
    ("MiniMaxM2ForCausalLM", _dense(_tokens(196608, head_dim=128))),
    ("InternLM2ForCausalLM InternLM3ForCausalLM Grok1ForCausalLM", _dense(_UNTIED)),
    ("BailingMoeForCausalLM BailingMoeV2ForCausalLM", _dense(_UNTIED)),
)

_SLIDING = (
    (
        "GptOssForCausalLM",
        Family(
            attention.sliding_by_type,
            defaults=_tokens(131072, head_dim=64, sliding_window=128, sliding_window_pattern=2),
        ),
    ),
    (
        "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
        _sliding_gemma4(_tokens(131072, tied=True, **_GEMMA4), since="0.5.11"),
    ),
    (
        "Gemma4UnifiedForConditionalGeneration",
        _sliding_gemma4(_tokens(262144, tied=True, **_GEMMA4 | {"sliding_window": 1024}), since="0.5.13"),
    ),
    ("Llama4ForConditionalGeneration", Family(attention.llama4, defaults=_tokens(131072, head_dim=128))),
    ("MiMoV2FlashForCausalLM", Family(attention.mimo_v2, defaults=_UNTIED, since="0.5.8")),
    ("MiMoV2ForCausalLM", Family(attention.mimo_v2, defaults=_UNTIED, since="0.5.11")),
    ("Step3p5ForCausalLM", _step(since="0.5.9")),
    ("Step3p7ForConditionalGeneration", _step(since="0.5.13")),
)

_LATENT = (
    ("DeepseekV2ForCausalLM", _latent(_tokens(2048, **_MLA))),
    ("DeepseekV3ForCausalLM KimiVLForConditionalGeneration", _latent(_tokens(4096, **_MLA))),
    ("DeepseekV32ForCausalLM", _latent(_tokens(163840, **_MLA))),
    ("KimiK25ForConditionalGeneration", _latent(_tokens(4096, **_MLA), since="0.5.9")),
    ("Glm4MoeLiteForCausalLM", _latent(_tokens(202752, **_GLM_MLA), since="0.5.8")),
    (
        "GlmMoeDsaForCausalLM",
        _latent(_tokens(202752, **_GLM_MLA, index_topk=2048, index_head_dim=128), since="0.5.9"),
    ),
    ("MistralLarge3ForCausalLM MiniCPM3ForCausalLM", _latent(_UNTIED)),
    ("SarvamMLAForCausalLM", _latent(_UNTIED, since="0.5.10")),
    ("PixtralForConditionalGeneration", Family(attention.optionally_latent, defaults=_tokens(131072))),
    ("DeepseekVL2ForCausalLM", Family(attention.optionally_latent, defaults=_tokens(2048))),
)

_HYBRID = (
    ("Qwen3NextForCausalLM", _gated_delta()),
    ("Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration", _gated_delta(since="0.5.9")),
    ("Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM", _gated_delta(since="0.5.17")),
    (
        "Qwen4ExpForConditionalGeneration",
        Family(attention.in_layers(layers.full_by_type_first), state.qwen4, _GDN_DEFAULTS, since="0.5.20"),
    ),
    ("NemotronHForCausalLM NemotronH_Nano_VL_V2", _nemotron()),
    ("NemotronH_Nano_Omni_Reasoning_V3", _nemotron(since="0.5.11")),
    ("NemotronH_Omni_Reasoning_V3", _nemotron(since="0.5.20")),
    ("FalconH1ForCausalLM", Family(attention.all_layers, state.falcon_h1, _tokens(8192))),
    (
        "GraniteMoeHybridForCausalLM",
        Family(
            attention.in_layers(layers.full_by_type), state.granite_hybrid, _tokens(131072, tied=True), since="0.5.9"
        ),
    ),
    ("Lfm2ForCausalLM Lfm2MoeForCausalLM", _lfm2(_tokens(128000, tied=True), since="0.5.9")),
    ("KimiLinearForCausalLM", _kimi()),
    ("KimiK3ForConditionalGeneration", _kimi(since="0.5.17")),
    ("KimiK3LinearForCausalLM", _kimi(since="0.5.19")),
    ("BailingMoeV2_5ForCausalLM", _bailing(since="0.5.9")),
    ("BailingMoeV3ForCausalLM", _bailing(since="0.5.19")),
    ("BailingMoeV3VLForConditionalGeneration", _bailing(since="0.5.21")),
    (
        "Glm5NextForConditionalGeneration",
        Family(
            attention.indexed_in_layers(_glm5_attention),
            state.glm5_next,
            _tokens(1013760, kv_lora_rank=512, qk_rope_head_dim=0, v_head_dim=256, num_nextn_predict_layers=1),
            since="0.5.20",
        ),
    ),
    (
        "MiniCPMSALAForCausalLM",
        Family(attention.in_layers(_minicpm_attention), state.minicpm, _tokens(32768), since="0.5.19"),
    ),
)

FAMILIES: Final[Mapping[str, Family]] = {
    name: family for names, family in (*_GROUPED_QUERY, *_SLIDING, *_LATENT, *_HYBRID) for name in names.split()
}

# What a text config within a multimodal one may leave out, by its `model_type`.
NESTED_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "llama": {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    },
    "mistral": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
    },
    "gemma3_text": {
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": 262208,
    },
}
