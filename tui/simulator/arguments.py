"""Reads a server's command line with the release's own flags, and resolves what it left open."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from tui.machine_file import SimulatedGpu
from tui.sglang.flags import Flag, FlagInventory, load_inventory
from tui.simulator.models import Model

_GIB_MIB = 1024
# Chunk of prefill and largest graph batch by card size in GiB (below): SGLang's own table.
_BY_CARD = ((20, 2048, 8), (35, 2048, 24), (60, 4096, 32), (160, 8192, 256), (1 << 20, 16384, 512))
# Argument names of 0.5.11 that its parser spells out.
_SHORT_NAMES = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "attention_context_parallel_size": "attn_cp_size",
    "moe_data_parallel_size": "moe_dp_size",
}
_SPECULATIVE_REQUESTS = 48
# What makes a tree of processes, or a split of the memory, that isn't simulated.
_NOT_SIMULATED = (
    *("nnodes", "enable_dp_attention", "attn_cp_size", "moe_dp_size", "tokenizer_worker_num"),
    *("detokenizer_worker_num", "encoder_only", "grpc_mode", "smg_grpc_mode", "use_ray"),
)


def human_readable_int(text: str) -> int:
    """`8192`, `8k` or `8K` (binary) as SGLang takes them."""
    factor = {"k": 1000, "K": 1024, "m": 10**6, "M": 1024**2}.get(text[-1:], 1)
    return int(float(text[:-1]) * factor) if factor > 1 else int(text)


def json_list_type(text: str) -> list[Any]:
    """A JSON list."""
    value = json.loads(text)
    if not isinstance(value, list):
        raise argparse.ArgumentTypeError(f"Invalid JSON list: {text}")
    return value


def nullable_str(text: str) -> str | None:
    """`None` and the empty string mean nothing."""
    return None if text in ("None", "") else text


_READERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "json": json.loads,
    "human_int": human_readable_int,
    "json_list": json_list_type,
    "nullable_str": nullable_str,
}


def parse_arguments(release: str, argv: Sequence[str]) -> dict[str, Any]:
    """The flags that were given, by the release's argument names; exits with status 2 on a wrong one."""
    parser = _build_parser(load_inventory(release))
    given = {_SHORT_NAMES.get(name, name): value for name, value in vars(parser.parse_args(argv)).items()}
    for name in _NOT_SIMULATED:
        if given.get(name) is True or int(given.get(name, 1)) > 1:
            parser.error(f"argument --{name.replace('_', '-')}: not simulated")
    return given


def _build_parser(inventory: FlagInventory) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sglang serve", argument_default=argparse.SUPPRESS)
    for flag in inventory.flags:
        parser.add_argument(*flag.option_strings, dest=flag.dest, **_options(flag))
    return parser


def _options(flag: Flag) -> dict[str, Any]:
    options: dict[str, Any] = {"default": argparse.SUPPRESS, "required": flag.required}
    if flag.action == "boolean":
        return {**options, "action": argparse.BooleanOptionalAction}
    if flag.type is None:
        return {**options, "action": "store_true"}
    options["type"] = _READERS[flag.type]
    if flag.choices is not None:
        options["choices"] = list(flag.choices)
    if flag.nargs is not None:
        options["nargs"] = flag.nargs
    return options


def resolve(
    release: str, defaults: dict[str, Any], given: dict[str, Any], gpu: SimulatedGpu, model: Model
) -> dict[str, Any]:
    """All arguments, in the order of the log's dump, as the server will use them."""
    chunk, largest_batch = next((chunk, batch) for limit, chunk, batch in _BY_CARD if gpu.total_mib < limit * _GIB_MIB)
    args = {**defaults, "chunked_prefill_size": chunk, "random_seed": int.from_bytes(os.urandom(4), "big") >> 2}
    args.update({name: value for name, value in given.items() if name in defaults})
    args["tokenizer_path"] = given.get("tokenizer_path") or args["model_path"]
    args["served_model_name"] = given.get("served_model_name") or args["model_path"]
    if args["speculative_algorithm"] and not args["max_running_requests"]:
        args["max_running_requests"] = _SPECULATIVE_REQUESTS
    _resolve_graphs(release, args, given, largest_batch)
    if release == "0.5.11" and model.multimodal:
        args["disable_piecewise_cuda_graph"] = True
    if "mem_fraction_static" not in given:
        args["mem_fraction_static"] = _default_fraction(release, args, gpu, model)
    return args


def _resolve_graphs(release: str, args: dict[str, Any], given: dict[str, Any], largest_batch: int) -> None:
    if release == "0.5.11":
        largest = given.get("cuda_graph_max_bs") or largest_batch
        args["cuda_graph_max_bs"] = largest
        args["cuda_graph_bs"] = given.get("cuda_graph_bs") or _up_to(args["cuda_graph_bs"], largest)
        args["disable_piecewise_cuda_graph"] = bool(
            given.get("disable_piecewise_cuda_graph") or args["disable_cuda_graph"]
        )
        return
    decode, prefill = (dict(args["cuda_graph_config"][phase]) for phase in ("decode", "prefill"))
    largest = given.get("cuda_graph_max_bs_decode") or min(
        largest_batch, given.get("max_running_requests") or largest_batch
    )
    decode.update(max_bs=largest, bs=given.get("cuda_graph_bs_decode") or _up_to(decode["bs"], largest))
    prefill.update(max_bs=args["chunked_prefill_size"], bs=_up_to(prefill["bs"], args["chunked_prefill_size"]))
    for name, phase in (("decode", decode), ("prefill", prefill)):
        if args["disable_cuda_graph"] or given.get(f"cuda_graph_backend_{name}") == "disabled":
            phase["backend"] = "disabled"
    args["cuda_graph_config"] = {"decode": decode, "prefill": prefill}


def _up_to(sizes: list[int], largest: int) -> list[int]:
    kept = [size for size in sizes if size <= largest]
    return kept if kept[-1:] == [largest] else [*kept, largest]


def _default_fraction(release: str, args: dict[str, Any], gpu: SimulatedGpu, model: Model) -> float:
    """SGLang's reserve for activations and graphs, in MiB, as a share of the card (single node)."""
    reserve = 512 + 1.5 * max(args["chunked_prefill_size"], 2048) + args["tp_size"] / 8 * 1024
    reserve += 2 * (args["cuda_graph_max_bs"] if release == "0.5.11" else args["cuda_graph_config"]["decode"]["max_bs"])
    if release != "0.5.11" or not args["disable_piecewise_cuda_graph"]:
        reserve += 8 * 58
    if gpu.total_mib > 60 * _GIB_MIB:
        reserve = max(reserve, 10 * _GIB_MIB)
    if release == "0.5.11" and args["speculative_algorithm"]:
        reserve += 4096
    fraction = round((gpu.total_mib - reserve) / gpu.total_mib, 3)
    return float(fraction * 0.95 * 0.9734375 if model.multimodal else fraction)


def dump(release: str, args: dict[str, Any]) -> str:
    """The `server_args=` line: a dataclass repr in 0.5.11, a dict since."""
    if release == "0.5.11":
        return "server_args=ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in args.items()) + ")"
    return f"server_args={args!r}"
