"""A model's shapes, as far as its memory depends on them. Sizes are counts of elements unless the name says bytes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class GroupedQuery(Struct, frozen=True):
    """Multi-head or grouped-query attention of one kind of layer."""

    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int


class Latent(Struct, frozen=True):
    """Multi-head latent attention (DeepSeek's MLA).

    Attributes:
        kv_lora_rank: the latent's width.
        rope_dim: width of the part of a key that carries positions.
        index_head_dim: width of the sparse-attention indexer's keys (DSA), else None.
        index_layers: layers with an indexer of their own; the others use the one before. Before SGLang 0.5.18 all
            layers of full attention are charged for one.
        index_pool: tokens that share one index key; charged so from SGLang 0.5.22 on.
    """

    heads: int
    kv_lora_rank: int
    rope_dim: int
    index_head_dim: int | None = None
    index_layers: tuple[int, ...] = ()
    index_pool: int = 1


class Attention(Struct, frozen=True):
    """The layers that keep keys and values.

    Attributes:
        full: what layers of full attention keep.
        full_layers: their indices.
        sliding: what layers of sliding-window attention keep, if SGLang gives those a pool of their own.
        sliding_layers: their indices.
        window: the sliding window, in tokens.
        pooled_since: the first release that gives sliding layers a pool of their own; None where every release that
            knows the architecture does.
    """

    full: GroupedQuery | Latent
    full_layers: tuple[int, ...]
    sliding: GroupedQuery | None = None
    sliding_layers: tuple[int, ...] = ()
    window: int | None = None
    pooled_since: str | None = None


class Mamba2State(Struct, frozen=True):
    """Recurrent state of Mamba2 and gated-delta-net layers (Qwen3-Next, Qwen3.5): a convolution and an SSM matrix.

    Attributes:
        short_conv_bytes: of another state that a slot has on every rank, whatever the TP size (Qwen4-Exp's n-gram
            convolution, bf16). SGLang 0.5.23 allocates it beside what it charges.
    """

    layers: tuple[int, ...]
    intermediate: int
    groups: int
    heads: int
    head_dim: int
    state_size: int
    conv_kernel: int
    short_conv_bytes: int = 0


class KdaState(Struct, frozen=True):
    """Recurrent state of Kimi-delta-attention layers."""

    layers: tuple[int, ...]
    heads: int
    head_dim: int
    key_heads: int
    key_head_dim: int
    conv_kernel: int


class LightningState(Struct, frozen=True):
    """Recurrent state of lightning-attention layers: a matrix a head, no convolution."""

    layers: tuple[int, ...]
    heads: int
    head_dim: int


State = Mamba2State | KdaState | LightningState


class Vision(Struct, frozen=True):
    """The vision tower's config, as SGLang's own heuristic reads it; None where the config has no such field.

    Attributes:
        heads: of its attention, which tensor parallelism divides.
    """

    num_hidden_layers: int | None
    hidden_size: int | None
    heads: int | None = None


class Experts(Struct, frozen=True):
    """A mixture of experts.

    Attributes:
        count: routed experts a layer.
        intermediate_size: of one routed expert.
    """

    count: int
    intermediate_size: int


class Quantization(Struct, frozen=True):
    """How a checkpoint is quantised.

    Attributes:
        method: `fp8`, `awq`, `gptq`, `compressed-tensors`, `modelopt_fp4`, `mxfp4`, … as SGLang calls it.
        block: rows and columns that share a scale in block fp8, else None.
        kv_cache_fp8: the checkpoint asks for an fp8 KV cache (`kv_cache_quant_algo: FP8`).
    """

    method: str
    block: tuple[int, int] | None = None
    kv_cache_fp8: bool = False


class Shard(StrEnum):
    """How tensor parallelism divides a tensor among ranks."""

    VOCABULARY = "vocabulary"  # by rows of the vocabulary, padded
    ATTENTION = "attention"  # by heads, over the ranks that share an attention
    KV_HEADS = "kv heads"  # likewise, but copied where ranks outnumber the heads
    TENSOR = "tensor"  # over all TP ranks
    EXPERTS = "experts"  # whole experts over EP ranks, the rest over TP
    VISION = "vision"  # over TP, or copied with --mm-enable-dp-encoder
    COPIED = "copied"  # each rank has all of it


class WeightGroup(Struct, frozen=True):
    """Tensors of one layer that are divided alike.

    Attributes:
        part: what it is, in words: "token embedding", "lm_head", "attention", "mlp", "experts", "vision tower", …
        layer: the decoder layer it belongs to; None for what belongs to none.
        shard: how it is divided.
        size_bytes: of the whole model, in the dtype in which it stays on the GPU.
        convertible: bytes of it that `--dtype` rescales (unquantised floating point).
    """

    part: str
    layer: int | None
    shard: Shard
    size_bytes: int
    convertible: int


class Weights(Struct, frozen=True):
    """A checkpoint's tensors.

    Attributes:
        target: what the model itself loads.
        draft: the multi-token-prediction layers that only a draft worker loads; empty when there are none.
        exact: read from the checkpoint's headers; False when computed from the architecture.
    """

    target: tuple[WeightGroup, ...]
    draft: tuple[WeightGroup, ...]
    exact: bool


class Model(Struct, frozen=True):
    """Everything the budget wants to know of a model.

    Attributes:
        name: the path or id it was read from.
        architecture: `architectures[0]` of its config.
        dtype: the dtype that SGLang's `--dtype auto` chooses.
        context_length: longest sequence, in tokens, after rope scaling as SGLang reads it.
        multimodal: SGLang serves it as a multimodal model.
        tied_embeddings: lm_head is the token embedding.
        state_dtype: the config's dtype for the recurrent state, or None.
        index_bytes_per_layer: bytes a token that a compressed index of keys takes in each layer (Qwen4-Exp), else 0.
        nextn_layers: `num_nextn_predict_layers` of the text config; 0 when it has none.
        mtp_layers: layers of the multi-token-prediction head, whichever key the family counts them in.
        weights: None when the architecture is unknown and there are no files to read; `weights_trouble` says why.
        sglang_since: the first SGLang release that has this architecture; None when 0.5.6 has it.
    """

    name: str
    architecture: str
    model_type: str
    dtype: str
    hidden_size: int
    num_layers: int
    vocab_size: int
    context_length: int
    attention: Attention
    state: State | None
    state_dtype: str | None
    vision: Vision | None
    multimodal: bool
    experts: Experts | None
    quantization: Quantization | None
    tied_embeddings: bool
    nextn_layers: int
    mtp_layers: int
    index_bytes_per_layer: int
    weights: Weights | None
    weights_trouble: str | None = None
    sglang_since: str | None = None
