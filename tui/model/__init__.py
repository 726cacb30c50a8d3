"""What a model is made of: its shapes and its weights, read from its files without torch."""

from __future__ import annotations
