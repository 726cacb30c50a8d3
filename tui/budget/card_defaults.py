"""Defaults that SGLang takes from the size of the card.

Source: SGLang 0.5.11 server_args.py:1294 (_handle_gpu_memory_settings), 0.5.23 arg_groups/memory_hook.py:88. The size
is that of the smallest card that nvidia-smi shows, whatever CUDA_VISIBLE_DEVICES says.
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.rules import Fraction, Rules

_GIB_MIB = 1024
_MANY_RANKS = 4
# Cards below so many GiB: chunk of prefill, largest decode batch for fewer than 4 ranks, and for more.
_TABLE = (
    (20, 2048, 8, 8),
    (35, None, None, None),  # by release
    (60, 4096, 32, 160),
    (90, 8192, 256, 512),
    (160, 8192, 256, 512),
)
_LARGER = (16384, 512, 512)
_UNKNOWN = (4096, 160, 160)
_EARLY_SMALL_GIB, _EARLY_LARGE_GIB = 35, 160
_EARLY_SMALL, _EARLY_MIDDLE, _EARLY_LARGE = (2048, 8, 80), (8192, 160, 160), (16384, 160, 160)


class CardDefaults(Struct, frozen=True):
    """What is used where flags say nothing: tokens of a prefill chunk, requests of the largest decode graph."""

    chunked_prefill_size: int
    largest_batch: int


def card_defaults(total_mib: int | None, tensor: int, rules: Rules) -> CardDefaults:
    """The defaults for a card; `total_mib` as nvidia-smi prints it, None when unknown."""
    chunk, few, many = _row(total_mib, rules)
    return CardDefaults(chunk, few if tensor < _MANY_RANKS else many)


def _row(total_mib: int | None, rules: Rules) -> tuple[int, int, int]:
    if total_mib is None:
        return _UNKNOWN
    if rules.fraction is not Fraction.BY_WORK:
        return _early_row(total_mib)
    for limit_gib, chunk, few, many in _TABLE:
        if total_mib < limit_gib * _GIB_MIB:
            if chunk is None or few is None or many is None:
                return (rules.small_card_chunk, *rules.small_card_batches)
            return chunk, few, many
    return _LARGER


def _early_row(total_mib: int) -> tuple[int, int, int]:
    """Before 0.5.3 (0.4.10.post2 and 0.5.2 server_args.py)."""
    if total_mib < _EARLY_SMALL_GIB * _GIB_MIB:
        return _EARLY_SMALL
    return _EARLY_MIDDLE if total_mib < _EARLY_LARGE_GIB * _GIB_MIB else _EARLY_LARGE
