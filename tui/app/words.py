"""The words of the screen: pure functions from what is known to what is read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui.app.glyphs import Glyphs
from tui.diagnosis.progress import Progress, Stage
from tui.keeper.states import ALIVE, State
from tui.observe import Instance, Snapshot
from tui.units import format_duration

# Marketing and packaging words that don't tell two GPUs apart.
_GPU_NOISE = frozenset({"NVIDIA", "GeForce", "Blackwell", "Server", "Workstation", "Edition", "Generation", "Graphics"})

# Who speaks, in front of what is said: `package.Class: `, `ValueError: `, `[Errno 98] `, `sglang serve: error: `.
_SPEAKERS = re.compile(
    r"(?:(?:(?:[A-Za-z_]\w*\.)+[A-Z]\w*|(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Exit)): +"
    r"|\[Errno -?\d+\] +"
    r"|[\w./-]+(?: [\w-]+)?: (?:fatal )?error: +)+",
    re.ASCII,
)

_FOLDERS = re.compile(r"(?<![^\s'\"(])/(?:[^/\s:]+/)+(?=[^/\s])")

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
    if instance.state is State.STOPPING:
        return _joined(_phase_word(instance), _attendance(instance))
    stage = STAGE_WORDS[instance.progress.stage] if instance.progress is not None else ""
    return _joined(stage, _attendance(instance))


def brief(cause: str) -> str:
    """A cause without who says so: the class of an exception takes the room of the words that help.

    A message of a single word means nothing without its class: `KeyError: 'model_type'` stays whole.
    """
    said = _SPEAKERS.match(cause)
    rest = cause[said.end() :] if said is not None else cause
    return rest if " " in rest.strip() else cause


def without_folders(message: str) -> str:
    """A message with the names of files alone, where it has their whole paths: a row has no room for both."""
    return _FOLDERS.sub("", message)


def _phase_word(instance: Instance) -> str:
    """What its stop waits for, and for how long already."""
    return f"{instance.phase} {format_duration(instance.phase_s)}" if instance.phase is not None else ""


def _attendance(instance: Instance) -> str:
    return "" if instance.attended else "not attended (sgltui adopt)"


def _joined(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _end_word(instance: Instance) -> str:
    if instance.cause:
        return brief(instance.cause)
    if instance.state is State.LOST:
        return "gone, nobody saw how"
    return "see its log" if instance.state is State.FAILED else ""


def farewell(snapshot: Snapshot | None, glyphs: Glyphs) -> str:
    """What is said on leaving: which servers go on running and what shows them, or nothing when none does."""
    if snapshot is None:
        return ""
    running = [one for one in snapshot.instances if one.local and one.state in ALIVE - {State.STOPPING}]
    if not running:
        return ""
    verb, them = ("goes", "it") if len(running) == 1 else ("go", "them")
    command = "sgltui demo" if snapshot.gpus.simulated else "sgltui"
    names = ", ".join(glyphs.plain(one.name) for one in running)
    return f"{names} {verb} on running; `{command}` shows and stops {them}."
