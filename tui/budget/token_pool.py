"""How many tokens and requests fit into what is left for the KV cache.

Sources: SGLang 0.5.11 pool_configurator.py (calculate_pool_sizes) and model_runner_kv_cache_mixin.py
(_resolve_max_num_reqs), 0.5.23 mem_cache/kv_cache_configurator.py:3113 (resolve_max_num_reqs).
"""

from __future__ import annotations

from msgspec import Struct

from tui.budget.kv_cells import CellSize
from tui.budget.rules import Rules

_REQUESTS_A_CONTEXT = 512
_FEWEST_REQUESTS, _MOST_REQUESTS = 2048, 4096


class TokenPool(Struct, frozen=True):
    """Tokens of the pool; `sliding` those of the sliding-window layers, or None."""

    tokens: int
    sliding: int | None


def size_tokens(available_bytes: int, cell: CellSize, page_size: int, wanted: int | None) -> TokenPool:
    """Tokens in `available_bytes`, in whole pages; `wanted` is `--max-total-tokens`."""
    tokens = _whole_pages(int(available_bytes // cell.bytes), page_size)
    if wanted is not None and wanted < tokens:
        tokens = _whole_pages(wanted, page_size)
    if cell.sliding is None:
        return TokenPool(tokens, None)
    if cell.full.priced == 0:
        return TokenPool(tokens, tokens)
    return TokenPool(tokens, _whole_pages(int(tokens * cell.sliding_ratio), page_size))


def cap_requests(tokens: int, context_length: int, requested: int | None, state_cap: int | None, rules: Rules) -> int:
    """`max_running_requests` of one attention-DP rank.

    Args:
        tokens: of the pool.
        context_length: longest sequence.
        requested: `--max-running-requests` (or the speculative default) for this rank; None when nothing was said.
        state_cap: requests whose states fit, for hybrid models.
        rules: of the release.
    """
    estimated = min(max(int(tokens / context_length * _REQUESTS_A_CONTEXT), _FEWEST_REQUESTS), _MOST_REQUESTS)
    if requested is None:
        requests = min(estimated + (1 if rules.extra_row else 0), tokens // 2)
    elif rules.tokens_cap_requests:
        requests = min(requested, tokens // 2)
    else:
        requests = min(requested, estimated) if rules.estimate_caps_requests else requested
    return requests if state_cap is None else min(requests, state_cap)


def _whole_pages(tokens: int, page_size: int) -> int:
    return tokens // page_size * page_size
