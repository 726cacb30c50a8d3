"""The schedulers of a server: one a tensor-parallel rank, pipeline stage and data-parallel replica.

Of a real one they differ in this: its later stages log their batches too, its warm-up reaches every replica, and 0.5.23
with several stages takes 15 s to stop. Other ways to split a model are refused (`tui.simulator.arguments`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rank:
    """One scheduler's place.

    Attributes:
        pp, tp: its pipeline stage, its shard of that.
        gpu: ordinal among the visible GPUs.
        tag: ` DP0 PP1 TP0 EP0`, without what there is only one of; in log lines, and with underscores in the title.
    """

    pp: int
    tp: int
    gpu: int
    tag: str

    @property
    def is_first(self) -> bool:
        """It speaks for its replica, and takes its requests."""
        return self.pp == self.tp == 0

    @property
    def title(self) -> str:
        """What it calls itself."""
        return "sglang::scheduler" + self.tag.replace(" ", "_")


def gpus_per_replica(args: dict[str, Any]) -> int:
    """GPUs that share one copy of the model."""
    count: int = args["tp_size"] * args["pp_size"]
    return count


def list_replicas(args: dict[str, Any]) -> list[list[Rank]]:
    """The ranks of each copy of the model, on GPUs as SGLang counts them."""
    return [
        [_make_rank(args, dp, pp, tp) for pp in range(args["pp_size"]) for tp in range(args["tp_size"])]
        for dp in range(args["dp_size"])
    ]


def _make_rank(args: dict[str, Any], dp: int, pp: int, tp: int) -> Rank:
    step = args["gpu_id_step"]
    gpu = args["base_gpu_id"] + dp * gpus_per_replica(args) * step + pp * args["tp_size"] + tp * step
    expert = tp * args["ep_size"] // args["tp_size"]
    places = {"dp": dp, "pp": pp, "tp": tp, "ep": expert}
    tag = "".join(f" {name.upper()}{place}" for name, place in places.items() if args[f"{name}_size"] > 1)
    return Rank(pp, tp, gpu, tag)
