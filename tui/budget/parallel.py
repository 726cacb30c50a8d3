"""How a server's work is divided among GPUs."""

from __future__ import annotations

from msgspec import Struct

from tui.budget.refusal import RefusedLaunch
from tui.sglang.parse import Flags


class Parallel(Struct, frozen=True):
    """Sizes of the groups.

    Attributes:
        attention_dp: replicas of the attention inside a TP group; 1 without DP attention.
        replicas: whole servers behind one port (`--dp-size` without DP attention).
        nodes: machines.
    """

    tensor: int
    pipeline: int
    attention_dp: int
    attention_context: int
    expert: int
    replicas: int
    nodes: int

    @property
    def attention_tensor(self) -> int:
        """Ranks that share one attention: heads are divided among them."""
        return max(1, self.tensor // (self.attention_dp * self.attention_context))

    @property
    def world(self) -> int:
        """Ranks of one replica, on all machines."""
        return self.tensor * self.pipeline

    @property
    def local_ranks(self) -> int:
        """GPUs that are needed on this machine."""
        return max(1, self.world * self.replicas // self.nodes)


def read_parallel(flags: Flags) -> Parallel:
    """The sizes that flags ask for.

    Raises:
        RefusedLaunch: they don't go together.
    """
    data = _size(flags, "dp-size")
    attention_dp = _size(flags, "attn-dp-size")
    if flags.has("enable-dp-attention"):
        attention_dp, data = max(attention_dp, data), 1
    parallel = Parallel(
        tensor=_size(flags, "tp-size"),
        pipeline=_size(flags, "pp-size"),
        attention_dp=attention_dp,
        attention_context=_size(flags, "attn-cp-size"),
        expert=_size(flags, "ep-size"),
        replicas=data,
        nodes=_size(flags, "nnodes"),
    )
    if parallel.tensor % (parallel.attention_dp * parallel.attention_context):
        raise RefusedLaunch(
            f"--tp-size {parallel.tensor} can't be divided into {parallel.attention_dp} attention replicas"
            + (f" of {parallel.attention_context} context ranks" if parallel.attention_context > 1 else ""),
        )
    if parallel.world % parallel.nodes:
        raise RefusedLaunch(f"{parallel.world} ranks can't be divided among --nnodes {parallel.nodes}")
    return parallel


def _size(flags: Flags, name: str) -> int:
    size = flags.get(name)
    if size is None:
        return 1
    if size < 1:
        raise RefusedLaunch(f"--{name} is {size}, but must be at least 1")
    return int(size)
