"""Asking for launches and stops, and reading what the keepers record."""

from __future__ import annotations
