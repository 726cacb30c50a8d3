"""What a ready server tells about itself: the bodies of its endpoints, from the release's recording."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tui.simulator.engine import Engine
from tui.simulator.ranks import gpus_per_replica
from tui.simulator.release import read_recording
from tui.simulator.scheduler import Load
from tui.simulator.setup import Setup
from tui.simulator.startup import Outcome

GIB = 1 << 30
_RESERVED_INPUT = 6  # max_req_input_len is the context length less this
_ACCEPT_LENGTH = 2.6  # as its log says
_LAST_FIELDS = ("version", "frontend")
_PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


@dataclass(slots=True)
class Facts:
    """One server's bodies. Sizes go out in GiB, as SGLang writes them."""

    setup: Setup
    outcome: Outcome
    engine: Engine
    command: str
    seconds: float
    created: int = field(default_factory=lambda: int(time.time()))
    recording: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.recording = read_recording(self.setup.release)

    @property
    def context_length(self) -> int:
        """Longest request, in tokens."""
        return int(self.setup.args["context_length"] or self.setup.model.context_length)

    def model_info(self) -> dict[str, Any]:
        """GET /model_info."""
        args = self.setup.args
        ours = {
            "model_path": args["model_path"],
            "served_model_name": args["served_model_name"],
            "tokenizer_path": args["tokenizer_path"],
            "model_type": self.setup.model.model_type,
            "architectures": [self.setup.model.architecture],
            "has_image_understanding": self.setup.model.multimodal,
        }
        return self._fill("model_info", ours)

    def models(self) -> dict[str, Any]:
        """GET /v1/models."""
        name = self.setup.args["served_model_name"]
        model = {
            "id": name,
            "object": "model",
            "created": self.created,
            "owned_by": "sglang",
            "root": name,
            "parent": None,
            "max_model_len": self.context_length,
        }
        return {"object": "list", "data": [model]}

    def server_info(self) -> dict[str, Any]:
        """GET /server_info."""
        ours = {
            "max_total_num_tokens": self.outcome.pools.tokens,
            "max_req_input_len": self.context_length - _RESERVED_INPUT,
            "launch_command": self.command,
            "startup_time": {**self._startup_time(), "tokenizer_e2e": self.seconds},
        }
        told = self._fill("server_info", ours)
        if self.outcome.scheduler_pids:
            told["scheduler_pids"] = self.outcome.scheduler_pids
        last: dict[str, Any] = {name: told.pop(name) for name in _LAST_FIELDS if name in told}
        return {
            **self.setup.args,
            **told,
            "internal_states": [self._internal_state(index) for index in range(self.setup.args["dp_size"])],
            **last,
        }

    def get_load(self) -> list[dict[str, Any]]:
        """GET /get_load, only before 0.5.23."""
        replicas = self.setup.args["dp_size"]
        return [
            {
                "dp_rank": None if replicas == 1 else index,
                "num_reqs": load.running + load.queued,
                "num_waiting_reqs": load.queued,
                "num_tokens": load.used_tokens,
                "num_pending_tokens": 0,
                "ts_tic": time.monotonic(),
            }
            for index, load in self._each(self.engine.loads)
        ]

    def loads(self) -> dict[str, Any]:
        """GET /v1/loads."""
        recorded, replicas = self.recording["loads"]["loads"][0], self.setup.args["dp_size"]
        loads = []
        for index, load in self._each(self.engine.loads):
            ours = self._load(load, self.engine.gauges[index])
            number = {"dp_rank": index} if replicas > 1 or "dp_rank" in recorded else {}
            loads.append({name: ours.get(name, value) for name, value in recorded.items()} | number)
        body = {
            "timestamp": datetime.now(UTC).isoformat(),
            "num_accelerators": gpus_per_replica(self.setup.args),
            "dp_rank_count": replicas,
            "loads": loads,
            "aggregate": self._aggregate(loads),
        }
        return self._fill("loads", body)

    def _aggregate(self, loads: Sequence[dict[str, Any]]) -> dict[str, float]:
        running, waiting = (sum(load[name] for load in loads) for name in ("num_running_reqs", "num_waiting_reqs"))
        tokens = sum(load["num_used_tokens"] for load in loads)
        ours = {
            "total_running_reqs": running,
            "total_waiting_reqs": waiting,
            "total_reqs": running + waiting,
            "total_used_tokens": tokens,
            "total_tokens": tokens,
            "avg_token_usage": loads[0]["token_usage"],
            "avg_throughput": loads[0]["gen_throughput"],
        }
        return {"avg_utilization": 0.0, **ours}

    def metrics(self) -> str:
        """GET /metrics: the gauges of the recording, with the values that are known here, else 0."""
        labels = f'engine_type="unified",model_name="{self.setup.args["served_model_name"]}"'
        ranks = f'{labels},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        several = self.setup.args["dp_size"] > 1
        each = [
            (f'dp_rank="{index}",{ranks}' if several else ranks, told, self._gauges(told))
            for index, told in self._each(self.engine.gauges)
        ]
        lines = []
        for name in self.recording["gauges"]:
            short = name.removeprefix("sglang:")
            lines += [f"# TYPE {name} gauge"]
            lines += [f"{name}{{{rank}}} {float(values.get(short, 0.0))}" for rank, _, values in each]
        totals = {
            "prompt_tokens_total": self.engine.prompt_tokens,
            "generation_tokens_total": self.engine.generated_tokens,
            "num_requests_total": self.engine.requests,
        }
        for short, value in totals.items():
            lines += [f"# TYPE sglang:{short} counter", f"sglang:{short}{{{labels}}} {float(value)}"]
        retracted = [(rank, told.retracted) for rank, told, _ in each if told.retracted]  # from the first one on
        name = "sglang:num_retracted_requests_total"
        lines += [f"# TYPE {name} counter"] * bool(retracted)
        lines += [f"{name}{{{rank}}} {float(count)}" for rank, count in retracted]
        cached = f'sglang:cached_tokens_total{{cache_source="device",{labels}}}'
        lines += ["# TYPE sglang:cached_tokens_total counter", f"{cached} {float(self.engine.cached_tokens)}"]
        first, seconds = "sglang:time_to_first_token_seconds", self.engine.first_token_s
        lines += [
            f"# TYPE {first} histogram",
            f'{first}_bucket{{{labels},le="+Inf"}} {float(self.engine.first_tokens)}',
        ]
        lines += [f"{first}_sum{{{labels}}} {seconds}", f"{first}_count{{{labels}}} {float(self.engine.first_tokens)}"]
        return "\n".join(lines) + "\n"

    def _fill(self, part: str, ours: dict[str, Any]) -> dict[str, Any]:
        """A recorded body with what is ours in the place of what was theirs."""
        recorded: dict[str, Any] = self.recording[part]
        return {name: ours.get(name, value) for name, value in recorded.items()}

    def _startup_time(self) -> dict[str, Any]:
        timings = self.outcome.timings
        times: dict[str, Any] = {
            name: timings[name] for name in ("load_weight", "kv_cache_allocation", "scheduler_e2e")
        }
        return {**times, "cuda_graph": {phase: timings.get(phase, 0.0) for phase in _PHASES}}

    def _internal_state(self, index: int) -> dict[str, Any]:
        requests = self.outcome.pools.max_running_requests
        ours = {
            "world_size": gpus_per_replica(self.setup.args) * self.setup.args["dp_size"],
            "startup_time": self._startup_time(),
            "last_gen_throughput": self.engine.gauges[index].tokens_per_s,
            "memory_usage": self._memory_usage(),
            "effective_max_running_requests_per_dp": requests,
        }
        omitted = self.recording["internal_state_omits"]
        args = {name: value for name, value in self.setup.args.items() if name not in omitted}
        return {**args, "pp_max_micro_batch_size": requests, **self._fill("internal_state", ours)}

    def _memory_usage(self) -> dict[str, Any]:
        pools, graphs = self.outcome.pools, self.outcome.graph_bytes
        digits = 2 if self.setup.is_old else 3
        usage = {
            "weight": round(self.outcome.weights_bytes / GIB, digits),
            "kvcache": round(pools.kv_bytes / GIB, digits),
            "token_capacity": pools.tokens,
        }
        if self.setup.is_old:
            return {**usage, "graph": round(sum(graphs.values()) / GIB, digits)}
        return {
            **usage,
            "startup_available": round(self.outcome.available_bytes / GIB, digits),
            "token_capacity_swa": None,
            "graph": {phase: round(graphs.get(phase, 0) / GIB, digits) for phase in _PHASES},
        }

    def _each(self, told: Mapping[int, Load]) -> list[tuple[int, Load]]:
        """Of each copy of the model."""
        return [(index, told[index]) for index in range(self.setup.args["dp_size"])]

    def _load(self, load: Load, gauges: Load) -> dict[str, Any]:
        tokens = self.outcome.pools.tokens
        usage = self._memory_usage()
        return {
            "timestamp": time.time(),
            "num_running_reqs": load.running,
            "num_waiting_reqs": load.queued,
            "num_total_reqs": load.running + load.queued,
            "num_used_tokens": load.used_tokens,
            "num_total_tokens": load.used_tokens,
            "max_total_num_tokens": tokens,
            "max_running_requests": self.outcome.pools.max_running_requests,
            "token_usage": round(load.used_tokens / tokens, 4),
            "gen_throughput": gauges.tokens_per_s if self.setup.args["enable_metrics"] else 0.0,
            "memory": {
                "weight_gb": usage["weight"],
                "kv_cache_gb": usage["kvcache"],
                "graph_gb": round(sum(self.outcome.graph_bytes.values()) / GIB, 3),
                "token_capacity": tokens,
            },
        }

    def _gauges(self, told: Load) -> dict[str, float]:
        tokens, state = self.outcome.pools.tokens, self.outcome.pools.state
        used = told.used_tokens
        speculates = bool(told.running and self.setup.args.get("speculative_algorithm"))
        return {
            "num_running_reqs": told.running,
            "num_queue_reqs": told.queued,
            "mamba_usage": told.slots / state.slots if state is not None else 0.0,
            "mamba_available_tokens": state.slots - told.slots if state is not None else 0,
            "spec_accept_length": _ACCEPT_LENGTH * speculates,
            "num_used_tokens": used,
            "kv_used_tokens": used,
            "kv_available_tokens": tokens - used,
            "token_usage": used / tokens,
            "full_token_usage": used / tokens,
            "max_total_num_tokens": tokens,
            "num_pages": tokens,
            "page_size": 1,
            "context_len": self.context_length,
            "gen_throughput": told.tokens_per_s,
            "startup_available_gpu_memory_gb": self.outcome.available_bytes / GIB,
            "weight_memory_usage_gb": self.outcome.weights_bytes / GIB,
            "kv_cache_memory_usage_gb": self.outcome.pools.kv_bytes / GIB,
            "new_token_ratio": told.new_token_ratio,
            "is_cuda_graph": float(not self.setup.args["disable_cuda_graph"]),
        }
