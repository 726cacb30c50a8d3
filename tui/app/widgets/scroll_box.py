"""A box that scrolls."""

from __future__ import annotations

from textual.containers import VerticalScroll


class ScrollBox(VerticalScroll, inherit_bindings=False):
    """Leaves the keys to the screen: Textual's own, between a list and its screen, would scroll the box instead."""
