"""Names that are imported and never used without pictures; see the package above."""

from __future__ import annotations

from enum import Enum


class InterpolationMode(Enum):
    """The modes that transformers maps its own onto while it is imported."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"
