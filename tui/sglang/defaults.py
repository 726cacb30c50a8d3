"""How many requests SGLang lets run at once where nobody says; the memory may hold fewer."""

from __future__ import annotations

SPECULATIVE_REQUESTS = 48
"""With speculative decoding."""
LEAST_REQUESTS = 2048
"""Without: by the size of the KV cache, and at least so many (0.5.11 `model_runner_kv_cache_mixin.py:703`)."""
