"""Flags that became others between releases: one table. Add a row when a release renames a flag.

Where a release kept the old name for a while, the row is what that release itself did with it: the deprecated actions
of 0.5.14 to 0.5.19 (server_args.py add_cli_args, 0.5.14 and 0.5.19). When each name came and went is in
`data/flag-history.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field


class Rename(Struct, frozen=True):
    """One flag that became another; names without dashes.

    Attributes:
        values: where a value has another name, too: old to new. True is a switch.
    """

    old: str
    new: str
    values: Mapping[Any, Any] = field(default_factory=dict)


RENAMES: tuple[Rename, ...] = (
    Rename("stream-output", "incremental-streaming-output"),
    Rename("mamba-scheduler-strategy", "mamba-radix-cache-strategy"),
    Rename("cuda-graph-max-bs", "cuda-graph-max-bs-decode"),
    Rename("cuda-graph-bs", "cuda-graph-bs-decode"),
    Rename("piecewise-cuda-graph-max-tokens", "cuda-graph-max-bs-prefill"),
    Rename("piecewise-cuda-graph-tokens", "cuda-graph-bs-prefill"),
    Rename("disable-piecewise-cuda-graph", "cuda-graph-backend-prefill", {True: "disabled"}),
    Rename("enable-breakable-cuda-graph", "cuda-graph-backend-prefill", {True: "breakable"}),
    Rename("enforce-piecewise-cuda-graph", "cuda-graph-backend-prefill", {True: "tc_piecewise"}),
    Rename("nsa-prefill-backend", "dsa-prefill-backend"),
    Rename("nsa-decode-backend", "dsa-decode-backend"),
    Rename("enable-nsa-prefill-context-parallel", "enable-prefill-cp"),
    Rename("enable-prefill-context-parallel", "enable-prefill-cp"),
    # 0.5.16 server_args.py, legacy_mode_to_strategy.
    Rename("nsa-prefill-cp-mode", "cp-strategy", {"in-seq-split": "zigzag", "round-robin-split": "interleave"}),
    Rename("prefill-cp-mode", "cp-strategy", {"in-seq-split": "zigzag"}),
    Rename("speculative-dflash-draft-window-size", "speculative-draft-window-size"),
    # 0.5.16 server_args.py _handle_elastic_ep and _handle_multimodal_feature_transport.
    Rename("elastic-ep-rejoin", "elastic-ep-join-mode", {True: "recover"}),
    Rename("keep-mm-feature-on-device", "mm-feature-transport", {True: "cuda_ipc"}),
)

# Flags that went without a successor, and that nobody misses: left out, the server is the same.
DISPENSABLE: Mapping[str, str] = {
    "enable-piecewise-cuda-graph": "it is the default since 0.5.10",
    "enable-flashinfer-autotune": "it is the default since 0.5.7",
    "collect-tokens-histogram": "it did nothing since 0.5.11 at the latest",
    "prefill-round-robin-balance": "it did nothing since 0.5.11 at the latest",
}

# Flags that went and can't be carried over, with what a person can do instead.
GONE: Mapping[str, str] = {
    "hybrid-kvcache-ratio": "see --swa-full-tokens-ratio, which divides the pool in another way",
    "multi-item-scoring-delimiter": "see --enable-mis, which takes no token",
    "enable-nan-detection": "set SGLANG_SPEC_NAN_DETECTION=1 and SGLANG_SPEC_OOB_DETECTION=1 in [env]",
    "piecewise-cuda-graph-compiler": "prefill graphs are no longer compiled by pieces",
    "torchao-config": "quantise with --quantization, or use a quantised checkpoint",
}

# What does the same without being a rename: the deprecated pair, and the flag in its place (0.5.23 server_args.py:415).
ATTENTION_REPLICAS = "attn-dp-size"
ATTENTION_SWITCH, REPLICAS = "enable-dp-attention", "dp-size"

# Deprecated flags that still work, and what their warning names (0.5.23 server_args.py:406-440).
SUCCESSORS: Mapping[str, str] = {
    "disable-cuda-graph": "--cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled",
    "enable-dp-attention": "--attn-dp-size N in place of --dp-size N --enable-dp-attention",
    "monokernel-backend": "--enable-amd-monokernel",
    "stream-output": "--incremental-streaming-output",
}
