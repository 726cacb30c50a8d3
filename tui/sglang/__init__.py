"""What a given SGLang release calls, defaults to and prints. SGLang itself is never imported."""

from __future__ import annotations
