"""CUDA compute capability by a card's name, where no driver can be asked.

Source: NVIDIA's table of CUDA GPUs. SGLang chooses its attention backend, and with it the page size, by capability.
"""

from __future__ import annotations

import re

# The first pattern that is found wins; names as nvidia-smi prints them, or as people shorten them.
_BY_NAME = tuple(
    (re.compile(pattern, re.IGNORECASE), capability)
    for pattern, capability in (
        (r"\bGB10\b", (12, 1)),
        (r"RTX PRO \d000.*Blackwell|\bRTX PRO 6000\b|\bRTX 50\d0\b", (12, 0)),
        (r"\bG?B300\b", (10, 3)),
        (r"\bG?B[12]00\b", (10, 0)),
        (r"\b(?:H100|H200|H20|H800|GH200)\b", (9, 0)),
        (r"\b(?:RTX 40\d0|L40S?|L4|L20|RTX 6000 Ada|RTX 5000 Ada|RTX 4000 Ada)\b", (8, 9)),
        (r"\b(?:RTX 30\d0|A10G?|A40|A16|A2|RTX A[2-6]\d00)\b", (8, 6)),
        (r"\b(?:A100|A800|A30)\b", (8, 0)),
        (r"\b(?:T4|RTX 20\d0|TITAN RTX|Quadro RTX)\b", (7, 5)),
        (r"\bV100\b", (7, 0)),
    )
)


def capability_of(name: str) -> tuple[int, int] | None:
    """Major and minor version, or None for a card that isn't listed (or isn't NVIDIA's)."""
    return next((capability for pattern, capability in _BY_NAME if pattern.search(name)), None)
