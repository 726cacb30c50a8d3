"""Tiny models with random weights, for the real SGLang: 2 layers, 400 thousand parameters, a byte for a token.

Written with the standard library alone, so that every release of SGLang and transformers is given the same files.
"""

from __future__ import annotations

import json
import random
import struct
from math import prod
from pathlib import Path
from typing import Any

_HIDDEN, _INTERMEDIATE, _HEADS, _KV_HEADS, _HEAD_DIM, _VOCABULARY, _LAYERS = 128, 256, 4, 2, 32, 512, 2
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTEXT = 2048

_COMMON = {
    "bos_token_id": 0,
    "dtype": "bfloat16",
    "eos_token_id": 0,
    "head_dim": _HEAD_DIM,
    "hidden_act": "silu",
    "hidden_size": _HIDDEN,
    "intermediate_size": _INTERMEDIATE,
    "max_position_embeddings": CONTEXT,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": _KV_HEADS,
    "pad_token_id": 0,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": _VOCABULARY,
}
_DENSE = {
    **_COMMON,
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "model_type": "qwen3",
    "num_hidden_layers": _LAYERS,
}
# Three layers with linear attention and one with full; `full_attention_interval` is what SGLang 0.5.11 reads.
_HYBRID = {
    **_COMMON,
    "architectures": ["Qwen3NextForCausalLM"],
    "decoder_sparse_step": 1,
    "full_attention_interval": 4,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 32,
    "mlp_only_layers": [],
    "model_type": "qwen3_next",
    "moe_intermediate_size": 64,
    "norm_topk_prob": True,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 4,
    "partial_rotary_factor": 0.25,
    "shared_expert_intermediate_size": 64,
}


def make_dense_model(folder: Path) -> Path:
    """A Qwen3 that serves: weights, configuration, tokenizer."""
    _write_configuration(folder, _DENSE)
    _write_weights(folder / "model.safetensors")
    return folder


def make_hybrid_model(folder: Path) -> Path:
    """A Qwen3-Next without weights, for `--load-format dummy`: its pools can be sized, its kernels aren't there."""
    _write_configuration(folder, _HYBRID)
    return folder


def _write_configuration(folder: Path, config: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    tokenizer_config = {
        "chat_template": _TEMPLATE,
        "eos_token": _SPECIAL[0],
        "model_max_length": CONTEXT,
        "pad_token": _SPECIAL[0],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    for name, document in (
        ("config.json", config),
        ("tokenizer.json", _tokenizer()),
        ("tokenizer_config.json", tokenizer_config),
    ):
        (folder / name).write_text(json.dumps(document, indent=2))


def _tokenizer() -> dict[str, Any]:
    """Byte-level BPE without a single merge."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    words = [*_SPECIAL, *_byte_letters()]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": word, **added} for number, word in enumerate(_SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {word: number for number, word in enumerate(words)}, "merges": []},
    }


def _byte_letters() -> list[str]:
    """The letter that byte-level tokenizers use for each byte: itself if it is printable, else one from 256 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _shapes() -> dict[str, tuple[int, ...]]:
    """Shape of each parameter, as transformers names them."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (_VOCABULARY, _HIDDEN),
        "model.norm.weight": (_HIDDEN,),
        "lm_head.weight": (_VOCABULARY, _HIDDEN),
    }
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (_HIDDEN,),
        "post_attention_layernorm": (_HIDDEN,),
        "self_attn.q_proj": (_HEADS * _HEAD_DIM, _HIDDEN),
        "self_attn.k_proj": (_KV_HEADS * _HEAD_DIM, _HIDDEN),
        "self_attn.v_proj": (_KV_HEADS * _HEAD_DIM, _HIDDEN),
        "self_attn.o_proj": (_HIDDEN, _HEADS * _HEAD_DIM),
        "self_attn.q_norm": (_HEAD_DIM,),
        "self_attn.k_norm": (_HEAD_DIM,),
        "mlp.gate_proj": (_INTERMEDIATE, _HIDDEN),
        "mlp.up_proj": (_INTERMEDIATE, _HIDDEN),
        "mlp.down_proj": (_HIDDEN, _INTERMEDIATE),
    }
    for number in range(_LAYERS):
        shapes |= {f"model.layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    return shapes


def _write_weights(path: Path) -> None:
    """A safetensors file: length of the header (8 bytes, little-endian), header in JSON, the tensors' bytes."""
    source = random.Random(0)  # noqa: S311 - weights, not secrets
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, shape in _shapes().items():
        begin = len(data)
        data += b"".join(_bfloat16(1.0 if "norm" in name else source.gauss(0, 0.02)) for _ in range(prod(shape)))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _bfloat16(value: float) -> bytes:
    """The upper half of a 32-bit float."""
    return struct.pack("<f", value)[2:]
