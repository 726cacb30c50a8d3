"""Log files as they are: bytes on disk, followed, indexed, and made safe to show."""

from __future__ import annotations
