"""A process that lives and says nothing: which stage it hangs in, and for how long that is still usual."""

from __future__ import annotations

from msgspec import Struct

from tui.diagnosis.progress import Stage


class Patience(Struct, frozen=True):
    """A stage's usual silence.

    Attributes:
        seconds: longer than healthy starts in public logs are silent there.
        failure: the class beyond that.
        words: what may be the matter.
    """

    seconds: float
    failure: str
    words: str


# Kernels are compiled for 10 to 20 minutes at the first start on a new machine; weights come over slow networks.
PATIENCE: dict[Stage, Patience] = {
    Stage.DISTRIBUTED_INIT: Patience(
        300, "hang_dist_init", "the ranks don't reach each other: interface, peer-to-peer access or a missing rank"
    ),
    Stage.WEIGHT_LOAD: Patience(
        900, "slow_weight_load", "the files come slowly, or a rank of another machine doesn't load"
    ),
    Stage.MEMORY_POOL: Patience(900, "hang_after_load", "nothing came after the weights"),
    Stage.CUDA_GRAPH_CAPTURE: Patience(
        1200, "hang_graph_capture", "the capture doesn't go on: a lock, a kernel or a collective that hangs"
    ),
    Stage.SHUTDOWN: Patience(300, "hang_shutdown", "it was asked to end, and doesn't"),
}


def judge_silence(stage: Stage, seconds: float | None) -> Patience | None:
    """The class of hang, when the silence is longer than usual."""
    patience = PATIENCE.get(stage)
    return patience if patience is not None and seconds is not None and seconds > patience.seconds else None
