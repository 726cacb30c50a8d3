"""What runs beside each server: it starts it, watches it, records it, stops it. Standard library alone."""

from __future__ import annotations
