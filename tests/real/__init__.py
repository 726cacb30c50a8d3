"""The product's own commands against a real SGLang server, on the CPU: `make test-real`."""

from __future__ import annotations
