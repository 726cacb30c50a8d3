"""The pool of sliding-window layers where it follows the number of requests.

Since 0.5.14, without radix cache and with a known number of requests. Source: SGLang 0.5.23
model_executor/pool_configurator.py:924 (compute_swa_request_cap) and SWARequestCapPoolConfigurator.
"""

from __future__ import annotations

from tui.budget.kv_cells import CellSize
from tui.budget.settings import Settings
from tui.budget.token_pool import TokenPool
from tui.budget.types import PlanRequest

_EVICTION_INTERVAL = 128  # SGLANG_SWA_EVICTION_INTERVAL's default


def cap_sliding(
    request: PlanRequest, settings: Settings, cell: CellSize, tokens: TokenPool, available_bytes: int
) -> TokenPool:
    """The pool as it was, or one whose sliding-window part is as large as the requests need, the rest being full."""
    window = request.model.attention.window
    applies = request.rules.caps_sliding and request.flags.has("disable-radix-cache") and settings.chunk > 0
    if not applies or cell.sliding is None or not cell.full.priced or settings.requests is None or window is None:
        return tokens
    page = settings.backend.page_size
    side = _up_to_pages(_needed(request, settings, settings.requests, window), page)
    left = available_bytes - side * cell.sliding.priced
    full = max(0, left // (cell.full.priced + cell.draft)) // page * page
    wanted: int | None = request.flags.get("max-total-tokens")
    return TokenPool(full if wanted is None else min(full, wanted // page * page), side)


def _needed(request: PlanRequest, settings: Settings, requests: int, window: int) -> int:
    """Tokens that all requests hold at worst: their windows, what waits for eviction, and chunks in flight."""
    page = settings.backend.page_size
    drafts = settings.speculation.draft_tokens if settings.speculation else 1
    interval = max(1, int(request.environment.get("SGLANG_SWA_EVICTION_INTERVAL", _EVICTION_INTERVAL)))
    overlaps = _overlaps(request, settings)
    each = window + interval * drafts + page + _decode_tokens(settings, overlaps=overlaps)
    return each * requests + (2 if overlaps else 1) * settings.chunk + page


def _decode_tokens(settings: Settings, *, overlaps: bool) -> int:
    """Tokens that a request may get in one decode step; twice as many wait where the schedule overlaps."""
    speculation, page = settings.speculation, settings.backend.page_size
    if speculation is None:
        return page
    steps = speculation.steps * speculation.topk
    if overlaps:
        return 2 * max(steps, speculation.draft_tokens)
    spare = page if page > 1 and speculation.topk > 1 else 0
    branches = _up_to_pages(speculation.steps + spare, page) * speculation.topk
    return max(branches, _up_to_pages(speculation.draft_tokens, page))


def _overlaps(request: PlanRequest, settings: Settings) -> bool:
    stops = settings.speculation is not None and settings.speculation.stops_overlap
    return not (request.flags.has("disable-overlap-schedule") or stops or settings.parallel.pipeline > 1)


def _up_to_pages(tokens: int, page_size: int) -> int:
    return -(-tokens // page_size) * page_size
