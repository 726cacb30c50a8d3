"""A simulated machine: GPUs, and servers that behave like SGLang. The demo, and the tests' stand-in."""

from __future__ import annotations
