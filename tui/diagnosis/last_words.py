"""Announcements that explain an end without an error, or a silence: a table like that of the rules."""

from __future__ import annotations

from msgspec import Struct


class LastWords(Struct, frozen=True):
    """A harmless line, unless nothing comes after it.

    Attributes:
        of_end: it explains a process that was killed; otherwise a process that lives and says nothing.
    """

    id: str
    literal: str
    failure: str
    of_end: bool
    words: str
    sample: str


LAST_WORDS: tuple[LastWords, ...] = (
    LastWords(
        "host-cache",
        "host memory for hierarchical KV cache",
        "host_mem_hicache",
        of_end=True,
        words="it was ended while it took host memory for the hierarchical cache, which each rank takes for itself",
        sample="Allocating 40.00 GB host memory for hierarchical KV cache.",
    ),
    LastWords(
        "jit",
        "Prebuilt kernels not found, using JIT backend",
        "stale_jit_lock",
        of_end=False,
        words="it began to compile kernels and has said nothing since: a lock of a killed compilation may be left over",
        sample="2025-05-02 16:14:33,560 - INFO - flashinfer.jit: Prebuilt kernels not found, using JIT backend",
    ),
)
