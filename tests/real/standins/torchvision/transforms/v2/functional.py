"""A name that is imported and never used without pictures; see the package above."""

from __future__ import annotations


def pil_to_tensor(*_: object, **__: object) -> None:
    """Fail: there are no pictures here."""
    raise RuntimeError("torchvision is a stand-in here: it converts no pictures")
