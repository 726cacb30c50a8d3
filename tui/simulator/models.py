"""The few models that simulated servers know by name; any other name is a dense model of 8 GiB.

Sizes are those of the public checkpoints in bfloat16: weights from their safetensors headers, KV bytes a token as
2 x KV heads x head size x 2 x layers, state bytes of Qwen3.6's linear-attention layers as SGLang's own code gives them.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class State:
    """Linear-attention state of one request slot, in bytes (state in float32)."""

    conv_bytes: int
    ssm_bytes: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A model's own draft layers (MTP).

    Attributes:
        weights_gib: with a private copy of embedding and head.
        shared_gib: that private copy, dropped once the draft shares the target's.
    """

    architecture: str
    weights_gib: float
    shared_gib: float
    kv_bytes_per_token: int


@dataclass(frozen=True, slots=True)
class Model:
    """What a model takes on the GPU."""

    architecture: str
    model_type: str
    weights_gib: float
    kv_bytes_per_token: int
    shards: int
    context_length: int
    multimodal: bool = False
    state: State | None = None
    draft: Draft | None = None

    @property
    def weights_bytes(self) -> int:
        """Weights on one GPU without tensor parallelism."""
        return int(self.weights_gib * GIB)


_QWEN36_27B = Model(
    "Qwen3_5ForConditionalGeneration", "qwen3_5", 50.96, 65536, 15, 262144,
    multimodal=True,
    state=State(conv_bytes=2949120, ssm_bytes=150994944),
    draft=Draft("Qwen3_5ForCausalLMMTP", 5.53, 4.74, 4096),
)  # fmt: skip
_KNOWN = {
    "qwen3.6-27b": _QWEN36_27B,
    "qwen3.5-27b": _QWEN36_27B,
    "qwen3-0.6b": Model("Qwen3ForCausalLM", "qwen3", 1.11, 114688, 1, 40960),
    "qwen3-8b": Model("Qwen3ForCausalLM", "qwen3", 15.27, 147456, 5, 40960),
    "qwen3-32b": Model("Qwen3ForCausalLM", "qwen3", 61.02, 262144, 17, 40960),
    "qwen3-30b-a3b": Model("Qwen3MoeForCausalLM", "qwen3_moe", 56.87, 98304, 16, 40960),
    "llama-3.1-8b-instruct": Model("LlamaForCausalLM", "llama", 14.97, 131072, 4, 131072),
    "llama-3.3-70b-instruct": Model("LlamaForCausalLM", "llama", 131.42, 327680, 30, 131072),
}
_UNKNOWN = Model("LlamaForCausalLM", "llama", 8.0, 131072, 4, 32768)


def find_model(path: str) -> Model:
    """The model meant by a path or hub name, by its last component."""
    return _KNOWN.get(path.rstrip("/").rsplit("/", 1)[-1].lower(), _UNKNOWN)
