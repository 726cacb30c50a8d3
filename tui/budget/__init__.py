"""The memory budget: what SGLang will do with a GPU's memory, computed as it does. Pure: no I/O, no clock."""

from __future__ import annotations
