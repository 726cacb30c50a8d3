"""One screen a file."""

from __future__ import annotations
