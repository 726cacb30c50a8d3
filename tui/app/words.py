"""The words and signs of the screen: pure functions from what is known to what is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from tui.diagnosis.progress import Progress, Stage
from tui.keeper.states import ALIVE, State
from tui.observe import Instance

# Marketing and packaging words that don't tell two GPUs apart.
_GPU_NOISE = frozenset({"NVIDIA", "GeForce", "Blackwell", "Server", "Workstation", "Edition", "Generation", "Graphics"})

STAGE_WORDS = {
    Stage.ARGS: "arguments",
    Stage.IMPORT: "imports",
    Stage.DOWNLOAD: "download",
    Stage.DISTRIBUTED_INIT: "init",
    Stage.WEIGHT_LOAD: "weights",
    Stage.MEMORY_POOL: "pool",
    Stage.CUDA_GRAPH_CAPTURE: "graphs",
    Stage.WARMUP: "warm-up",
    Stage.READY: "",
    Stage.RUNTIME: "runtime",
    Stage.SHUTDOWN: "shutdown",
}

STATE_STYLES = {
    State.READY: "$success",
    State.STOPPING: "$warning",
    State.FAILED: "$error",
    State.LOST: "$error",
    State.STOPPED: "$quiet",
    State.EXITED: "$quiet",
}


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The few signs that aren't letters, in two sets."""

    ascii_only: bool
    pointer: str
    rule: str
    dot: str
    free: str
    edge: str
    ellipsis: str
    arrow: str
    degrees: str
    problem: str
    done: str
    states: dict[State, str]

    def plain(self, text: str) -> str:
        r"""Text from outside, on one line and safe to draw: what doesn't print is shown as its escape (`\x1b`)."""
        line = " ".join(text.splitlines()) if "\n" in text else text
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        return shown.encode("ascii", "backslashreplace").decode() if self.ascii_only else shown

    def fit(self, text: str, width: int) -> str:
        """At most `width` cells of the text; an ellipsis stands for the rest, and no number is cut in two."""
        if cell_len(text) <= width:
            return text
        room = width - cell_len(self.ellipsis)
        if room <= 0:
            return self.ellipsis[: max(0, width)]
        return _whole_words(text, set_cell_size(text, room)) + self.ellipsis


def _whole_words(text: str, kept: str) -> str:
    """The beginning of a text without a piece of a word at its end, nor of a number where it is all one word."""
    rest = text[len(kept) :]
    if not rest.startswith(" ") and " " in kept[len(kept) // 2 :].rstrip():
        kept = kept[: kept.rstrip().rindex(" ")]
    elif rest[:1].isdigit() or kept[-1:] in ".,":
        kept = kept.rstrip("0123456789.,")
    return kept.rstrip(" ,;")


UNICODE = Glyphs(
    ascii_only=False,
    pointer="▸",
    rule="──",
    dot="·",
    free="·",
    edge="",
    ellipsis="…",
    arrow="→",
    degrees="°C",
    problem="✗",
    done="✓",
    states={
        State.PENDING: "○",
        State.STARTING: "○",
        State.LOADING: "◐",
        State.READY: "●",
        State.STOPPING: "◑",
        State.STOPPED: "■",
        State.EXITED: "■",
        State.FAILED: "✗",
        State.LOST: "?",
    },
)

ASCII = Glyphs(
    ascii_only=True,
    pointer=">",
    rule="--",
    dot="-",
    free=".",
    edge="|",
    ellipsis="..",
    arrow="->",
    degrees="C",
    problem="!",
    done="+",
    states={
        State.PENDING: "o",
        State.STARTING: "o",
        State.LOADING: "~",
        State.READY: "*",
        State.STOPPING: "~",
        State.STOPPED: "-",
        State.EXITED: "-",
        State.FAILED: "!",
        State.LOST: "?",
    },
)


def short_gpu_name(name: str) -> str:
    """A GPU's name without what every GPU's name has: `RTX PRO 6000`, `H200`, `A100-SXM4-80GB`."""
    kept = [word for word in name.split() if word not in _GPU_NOISE]
    return " ".join(kept) or name


def format_indices(indices: Iterable[int]) -> str:
    """GPU indices with runs of three or more joined: `0`, `0,1`, `0-7`, `0-3,6`."""
    runs: list[list[int]] = []
    for index in sorted(set(indices)):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(_run_text(run) for run in runs)


def _run_text(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run))  # noqa: PLR2004 "0-1" saves nothing


def state_words(instance: Instance) -> str:
    """The state in words, with how far it is: `loading 12/29`, `FAILED pool`, `ready`."""
    progress = instance.progress
    if instance.state in (State.FAILED, State.LOST):
        where = STAGE_WORDS[progress.stage] if progress is not None else ""
        return f"{str(instance.state).upper()} {where}".rstrip()
    count = _count(progress) if instance.state is State.LOADING else ""
    return f"{instance.state} {count}".rstrip()


def _count(progress: Progress | None) -> str:
    if progress is None or progress.done is None or progress.total is None:
        return ""
    return f"{progress.done}/{progress.total}"


def last_word(instance: Instance) -> str:
    """The one thing worth saying beside the state: where it is, why it ended, or who looks after it."""
    if not instance.local:
        return f"on {instance.host}: shown, left alone"
    if instance.state not in ALIVE:
        return _end_word(instance)
    stage = STAGE_WORDS[instance.progress.stage] if instance.progress is not None else ""
    return ", ".join(word for word in (stage, "" if instance.attended else "not attended") if word)


def _end_word(instance: Instance) -> str:
    if instance.cause:
        return instance.cause
    if instance.state is State.LOST:
        return "gone, nobody saw how"
    return "see its log" if instance.state is State.FAILED else ""


def farewell(instances: Iterable[Instance], glyphs: Glyphs) -> str:
    """What is said on leaving: which servers go on running, or nothing when none does."""
    names = [glyphs.plain(one.name) for one in instances if one.local and one.state in ALIVE]
    if not names:
        return ""
    verb = "goes" if len(names) == 1 else "go"
    return f"{', '.join(names)} {verb} on running; `sgltui` shows and stops them."
