"""Stands in for torchvision, whose usual wheels are CUDA builds that don't fit torch's CPU build.

SGLang and transformers import a few of its names whether a model sees pictures or not. Those exist here; using one
fails.
"""

from __future__ import annotations

__version__ = "0.0.0+standin"
