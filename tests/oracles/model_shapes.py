"""Asks a real SGLang what its configs mean and how many bytes its models' parameters take on rank 0.

Run as `resolve_flags` is. Standard input: `{"card": {}, "cases": [{"config": PATH, "argv": [], "draft": false}]}`.
The answer to a case is `{"shape": {...}, "parameter_bytes": N}`, or the error. The model class of SGLang itself is
constructed, on torch's meta device and with process groups of rank 0 that nobody else joins.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.oracles import runners, stand_in_packages
from tests.oracles.answering import module
from tests.oracles.asking import Case
from tests.oracles.pretence import meta_tensors
from tests.oracles.resolve_flags import main

# What model classes want to know and no size depends on.
_FILLED_IN: dict[str, dict[str, Any]] = {
    "deepseek": {
        "topk_method": "noaux_tc",
        "scoring_func": "sigmoid",
        "norm_topk_prob": True,
        "routed_scaling_factor": 2.5,
    },
    "glm": {"topk_method": "noaux_tc", "scoring_func": "sigmoid", "norm_topk_prob": True, "moe_layer_freq": 1},
    "gpt-oss": {"swiglu_limit": 7.0, "rope_theta": 150000},
    "grok": {"rms_norm_eps": 1e-5},
}
_NARROW = ("in_proj_a", "in_proj_b", "conv1d")  # what published FP8 checkpoints of Qwen3.5 leave alone
_SHAPES = (
    "head_dim",
    "v_head_dim",
    "swa_head_dim",
    "swa_v_head_dim",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "index_head_dim",
)
_FACTS = ("context_len", "num_attention_heads", "num_hidden_layers", "num_nextn_predict_layers", "is_multimodal")


def _write_model(case: Case, folder: Path) -> Path:
    """A folder with the config, completed."""
    source = Path(case["config"])
    document = json.loads(source.read_text())
    for prefix, values in _FILLED_IN.items():
        if source.stem.startswith(prefix):
            document = values | document
    quantization = document.get("quantization_config", {})
    if quantization.get("quant_method") == "fp8" and source.stem.startswith("qwen3."):
        layers = range(document["text_config"]["num_hidden_layers"])
        names = [f"model.language_model.layers.{layer}.linear_attn.{name}" for layer in layers for name in _NARROW]
        quantization["modules_to_not_convert"] = ["lm_head", "visual", *names]
    model = folder / source.stem
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(document))
    return model


def _make_ask(release: str, folder: Path) -> Callable[[Case], dict[str, Any]]:
    def ask(case: Case) -> dict[str, Any]:
        server_args_module = module("sglang.srt.server_args")
        model = _write_model(case, folder)
        server_args = server_args_module.prepare_server_args(["--model-path", str(model), *case["argv"]])
        {"0.5.11": _put_groups_0_5_11, "0.5.23": _put_groups_0_5_23}[release](server_args)
        config = module("sglang.srt.configs.model_config").ModelConfig.from_server_args(
            server_args, is_draft_model=case.get("draft", False)
        )
        return {"shape": _describe(config), "parameter_bytes": _parameter_bytes(config)}

    return ask


def _describe(config: Any) -> dict[str, Any]:
    found = {name: getattr(config, name, None) for name in (*_SHAPES, *_FACTS)}
    swa = getattr(config, "swa_attention_layer_ids", None)
    return found | {
        "dtype": str(config.dtype).removeprefix("torch."),
        "kv_heads": config.get_num_kv_heads(1),
        "swa_kv_heads": config.get_swa_num_kv_heads(1),
        "swa_layers": swa,
    }


def _parameter_bytes(config: Any) -> int:
    torch, loader = module("torch"), module("sglang.srt.model_loader.loader")
    load_config = module("sglang.srt.configs.load_config").LoadConfig()
    quantization = loader._get_quantization_config(config, load_config)
    torch.set_default_dtype(config.dtype)
    with torch.device("meta"), meta_tensors():
        model = loader._initialize_model(config, load_config, quantization)
    unique = {id(parameter): parameter for parameter in model.parameters()}
    return sum(parameter.numel() * parameter.element_size() for parameter in unique.values())


def _group(size: int) -> SimpleNamespace:
    group = runners._group(size)
    group.device_group = SimpleNamespace(rank=lambda: 0, size=lambda: size)
    return group


def _put_groups_0_5_11(server_args: Any) -> None:
    runners._put_groups_0_5_11(server_args)
    state, attention = module("sglang.srt.distributed.parallel_state"), module("sglang.srt.layers.dp_attention")
    state._MOE_EP, state._MOE_TP = _group(server_args.ep_size), _group(server_args.tp_size // server_args.ep_size)
    replicas = server_args.dp_size if server_args.enable_dp_attention else 1
    attention._ATTN_TP_SIZE, attention._ATTN_TP_RANK = server_args.tp_size // replicas, 0
    attention._ATTN_DP_SIZE, attention._ATTN_DP_RANK = replicas, 0
    attention._LOCAL_ATTN_DP_SIZE, attention._LOCAL_ATTN_DP_RANK = replicas, 0
    attention._ENABLE_DP_ATTENTION_FLAG = server_args.enable_dp_attention
    module("sglang.srt.server_args").set_global_server_args_for_scheduler(server_args)
    module("sglang.srt.layers.moe").initialize_moe_config(server_args)
    module("sglang.srt.layers.quantization.fp8_utils").initialize_fp8_gemm_config(server_args)


def _put_groups_0_5_23(server_args: Any) -> None:
    server_args.resolve_once()
    context = module("sglang.srt.runtime_context")
    context.publish(server_args, role="scheduler", ranks=context.SpawnRanks(world_rank=0, gpu_id=0))
    parallel = context.get_parallel()
    runners._put_groups_0_5_23(parallel)
    module("sglang.srt.layers.dp_attention").initialize_dp_attention_flags(server_args)
    parallel.override_permanently(moe_ep_group=_group(parallel.moe_ep_size), moe_tp_group=_group(parallel.moe_tp_size))


if __name__ == "__main__":
    stand_in_packages.install()
    main(_make_ask, ["sglang.srt.configs.model_config", "sglang.srt.model_loader.loader", "sglang.srt.models.registry"])
