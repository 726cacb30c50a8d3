"""Bytes that one token takes in the KV cache of one rank.

Sources: SGLang 0.5.6.post2 model_executor/model_runner.py (get_cell_size_per_token), 0.5.11 and 0.5.23
model_executor/pool_configurator.py (DefaultPoolConfigurator, HybridSWAPoolConfigurator), 0.5.11
model_runner_kv_cache_mixin.py:134 and 0.5.23 kv_cache_configurator.py (calculate_mla_kv_cache_dim).
"""

from __future__ import annotations

from msgspec import Struct

from tui.model.shapes import Attention, GroupedQuery, Latent

_INDEX_BLOCK = 128  # elements of the indexer's keys that share a float32 scale
_LATENT_BLOCK = 128  # likewise of an fp8 latent
_SCALE_BYTES = 4
_ROPE_BYTES = 2  # the part with positions stays bfloat16 beside an fp8 latent


class KvDtype(Struct, frozen=True):
    """The KV cache's dtype.

    Attributes:
        name: as resolved: `bfloat16`, `fp8_e4m3`, `fp8_e5m2`, …
        size: bytes of an element.
    """

    name: str
    size: int

    @property
    def is_fp8(self) -> bool:
        """One byte an element."""
        return self.name.startswith("fp8")


class TokenBytes(Struct, frozen=True):
    """One token's bytes on one rank, all layers of a kind together.

    Attributes:
        keys, values: of grouped-query attention, else 0.
        latent: of MLA, with the indexer's keys.
        priced: what sizing charges, which in some releases is less than what is allocated.
    """

    keys: int
    values: int
    latent: int
    priced: int

    @property
    def stored(self) -> int:
        """What is allocated."""
        return self.keys + self.values + self.latent


def kv_heads(attention: GroupedQuery, ranks: int) -> int:
    """KV heads on a rank; copied where ranks outnumber them."""
    return max(1, attention.kv_heads // ranks)


def grouped_bytes(attention: GroupedQuery, layers: int, ranks: int, dtype: KvDtype) -> TokenBytes:
    """Bytes of a token in `layers` layers of grouped-query attention; `ranks` is attention TP."""
    heads = kv_heads(attention, ranks)
    keys = heads * attention.head_dim * layers * dtype.size
    values = heads * attention.v_head_dim * layers * dtype.size
    return TokenBytes(keys, values, 0, keys + values)


def latent_bytes(
    attention: Latent, layers: int, index_bytes: int, dtype: KvDtype, *, scaled_rows: bool, prices_rows: bool
) -> TokenBytes:
    """Bytes of a token in `layers` layers of MLA: every rank keeps all of it.

    Args:
        attention: what a layer keeps.
        layers: how many of them this stage has.
        index_bytes: of a sparse-attention indexer, all its layers together.
        dtype: of the cache.
        scaled_rows: a sparse-attention model keeps fp8 rows with their scales (all backends but trtllm).
        prices_rows: the release charges such rows as they are, not as plain latents.
    """
    plain = (attention.kv_lora_rank + attention.rope_dim) * dtype.size
    row = plain
    if attention.index_head_dim is not None and dtype.is_fp8 and scaled_rows:
        row = (
            attention.kv_lora_rank
            + attention.kv_lora_rank // _LATENT_BLOCK * _SCALE_BYTES
            + attention.rope_dim * _ROPE_BYTES
        )
    priced = (row if prices_rows else plain) * layers + index_bytes
    return TokenBytes(0, 0, row * layers + index_bytes, priced)


def index_bytes(attention: Latent, layers: int, pool: int) -> int:
    """Keys of a sparse-attention indexer, fp8 with their scales; `pool` tokens share one."""
    if attention.index_head_dim is None:
        return 0
    key = attention.index_head_dim + attention.index_head_dim // _INDEX_BLOCK * _SCALE_BYTES
    return -(-key // pool) * layers


class CellSize(Struct, frozen=True):
    """What sizing charges for a token of `max_total_num_tokens`.

    Attributes:
        full: layers of full attention (or all, where none slides).
        sliding: layers of sliding-window attention with a pool of their own, or None.
        sliding_ratio: their tokens for each token of the full pool.
        draft: layers of the draft model that this release prices.
    """

    full: TokenBytes
    sliding: TokenBytes | None
    sliding_ratio: float
    draft: int

    @property
    def bytes(self) -> float:
        """Of one token."""
        if self.sliding is None:
            return self.full.priced + self.draft
        if self.full.priced == 0:
            return self.sliding.priced + self.draft
        return self.full.priced + self.draft + self.sliding_ratio * self.sliding.priced


def layers_on_stage(attention: Attention, start: int, end: int) -> tuple[int, int]:
    """Layers of full and of sliding-window attention from `start` up to `end`."""
    return (
        sum(start <= layer < end for layer in attention.full_layers),
        sum(start <= layer < end for layer in attention.sliding_layers),
    )
