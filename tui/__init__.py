"""A terminal process manager for SGLang servers, and a detective for their GPU memory."""

from __future__ import annotations

__version__ = "0.1.0"
