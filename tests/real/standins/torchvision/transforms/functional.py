"""Names that are imported and never used without pictures; see the package above."""

from __future__ import annotations

from . import InterpolationMode

__all__ = ["InterpolationMode", "pil_to_tensor"]


def pil_to_tensor(*_: object, **__: object) -> None:
    """Fail: there are no pictures here."""
    raise RuntimeError("torchvision is a stand-in here: it converts no pictures")
