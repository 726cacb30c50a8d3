"""Names that are imported and never used without pictures; see the package."""

from __future__ import annotations


class ImageReadMode:
    """How a picture is decoded; only named."""

    RGB = "RGB"
    UNCHANGED = "UNCHANGED"


def decode_image(*_: object, **__: object) -> None:
    """Fail: there is no decoder here."""
    raise RuntimeError("torchvision is a stand-in here: it decodes no pictures")


decode_jpeg = decode_image
