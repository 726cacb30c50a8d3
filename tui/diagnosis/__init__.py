"""What a log says about its launch. Pure: lines in, facts out."""

from __future__ import annotations
