"""Resolves command lines as a real SGLang does on a given card, and prints what matters to memory.

Run as `flag_inventory` is. Standard input: `{"card": {"name", "total_mib", "capability"}, "cases":
[{"config": PATH of a config.json, "argv": [...]}]}`. The answer: `{"sglang": RELEASE, "answers": [...]}`, each either
`{"resolved": {...}}` or `{"error": {"type", "message", "raised_in"}}`.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.oracles.answering import answer, hide_the_machine, module, sglang_release
from tests.oracles.asking import Case, ask_each
from tests.oracles.pretence import Card, pretend_flashinfer, pretend_gpus

# In the order in which SGLang lists them; each release has those it knows.
MEMORY_FIELDS = (
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "mem_fraction_static",
    "max_running_requests",
    "max_total_tokens",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "page_size",
    "swa_full_tokens_ratio",
    "disable_radix_cache",
    "disable_overlap_schedule",
    "enable_hierarchical_cache",
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "tp_size",
    "pp_size",
    "dp_size",
    "enable_dp_attention",
    "attn_dp_size",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "max_mamba_cache_size",
    "mamba_ssm_dtype",
    "mamba_full_memory_ratio",
    "mamba_scheduler_strategy",
    "mamba_radix_cache_strategy",
    "cuda_graph_max_bs",
    "cuda_graph_bs",
    "disable_cuda_graph",
    "cuda_graph_config",
    "enable_piecewise_cuda_graph",
    "disable_piecewise_cuda_graph",
    "piecewise_cuda_graph_max_tokens",
    "piecewise_cuda_graph_tokens",
)


class ArgumentRefusedError(Exception):
    """SGLang's parser refused the command line; carries its last line."""


def prepare(case: Case, folder: Path) -> Any:
    """The resolved ServerArgs of a case.

    Raises:
        ArgumentRefusedError: by the parser.
        Exception: whatever SGLang raises while it resolves.
    """
    config = Path(case["config"])
    model = folder / config.stem
    model.mkdir(exist_ok=True)
    shutil.copyfile(config, model / "config.json")
    server_args_module = module("sglang.srt.server_args")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            server_args = server_args_module.prepare_server_args(["--model-path", str(model), *case["argv"]])
            if hasattr(server_args, "resolve_once"):  # 0.5.23 resolves apart from parsing
                server_args.resolve_once()
    except SystemExit as error:
        raise ArgumentRefusedError(printed.getvalue().strip().rpartition("\n")[2]) from error
    return server_args


def resolved_fields(server_args: Any) -> dict[str, Any]:
    """What was resolved, of MEMORY_FIELDS."""
    resolved = server_args.resolved_dict() if hasattr(server_args, "resolved_dict") else vars(server_args)
    return {name: resolved[name] for name in MEMORY_FIELDS if name in resolved}


def main(make_ask: Callable[[str, Path], Callable[[Case], dict[str, Any]]], needed: Sequence[str]) -> None:
    """Read the question, pretend its cards, answer each case with `make_ask(release, folder)`.

    `needed` modules are imported once, before the children that answer are forked.
    """
    question = json.load(sys.stdin)
    hide_the_machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        card = question["card"]
        pretend_gpus(Card(card["name"], card["total_mib"], tuple(card["capability"])), folder)

        def ask_all() -> dict[str, Any]:
            release = sglang_release()
            module("sglang.srt.server_args")
            pretend_flashinfer(release)
            for wanted in needed:
                module(wanted)
            return {"sglang": release, "answers": ask_each(question["cases"], make_ask(release, folder))}

        answer(ask_all)


def _make_ask(_release: str, folder: Path) -> Callable[[Case], dict[str, Any]]:
    def ask(case: Case) -> dict[str, Any]:
        return {"resolved": resolved_fields(prepare(case, folder))}

    return ask


if __name__ == "__main__":
    main(_make_ask, ["sglang.srt.configs.model_config"])
