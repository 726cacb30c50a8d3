"""The second interface of the transforms; see the package above."""

from __future__ import annotations
