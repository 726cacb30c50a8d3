"""The parts of the screen; each shows values it is given and asks by messages."""

from __future__ import annotations
