"""Whether a launch fits, by the plan and by who is on its GPUs: said before it starts, refused unless it is forced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tui.errors import ExitCode, RefusedError, SgltuiError
from tui.gpu import GpuProcess, GpuReading, GpuSnapshot
from tui.launch.spec import LaunchSpec
from tui.text import printable
from tui.units import MIB, format_gib

# Desktops and monitors hold a little everywhere; nobody has to be told.
_WORTH_TELLING_BYTES = 512 * MIB

Warn = Callable[[str], None]


class DoesNotFitError(RefusedError):
    """The plan says that SGLang would run out of memory."""

    exit_code = ExitCode.DOES_NOT_FIT


def check_fit(
    spec: LaunchSpec,
    sglang_version: str | None,
    gpus: Sequence[GpuSnapshot],
    reading: GpuReading,
    warn: Warn,
    *,
    force: bool,
    hub: Path | None = None,
) -> None:
    """Tell who else is on the chosen GPUs, and what the plan says.

    Args:
        spec: what is to be launched.
        sglang_version: of the interpreter that runs it.
        gpus: the chosen ones; empty on a machine without.
        reading: the whole machine, which SGLang's defaults follow.
        warn: is told what doesn't stop the launch.
        force: launch all the same.
        hub: the Hugging Face cache to look in, instead of the one that the environment says.

    Raises:
        DoesNotFitError: it doesn't fit and isn't forced.
    """
    if not gpus:
        return
    holders = [words for gpu in gpus for words in _holders(gpu)]
    budget = _plan(spec, sglang_version, gpus, reading, hub)
    if budget is None or not budget.exceeds:
        if budget is not None and budget.is_refused:
            warn(f"SGLang will refuse its arguments: {budget.reason}")
        for words in holders:
            warn(words)
        return
    told = "; ".join([f"it won't fit: {budget.reason}", *holders, *budget.help])
    if not force:
        raise DoesNotFitError(told, "see `sgltui plan`, or launch it all the same with --force")
    warn(f"launched all the same: {told}")


class _Answer(Struct, frozen=True):
    """What the plan says, as far as a launch needs it; `help` is the best change, in words."""

    exceeds: bool
    is_refused: bool
    reason: str
    help: tuple[str, ...]


def _plan(
    spec: LaunchSpec, sglang_version: str | None, gpus: Sequence[GpuSnapshot], reading: GpuReading, hub: Path | None
) -> _Answer | None:
    """None where nobody can tell."""
    # Only now: `launch` on a machine without GPUs doesn't pay for it.
    from tui.budget.types import Stage, Verdict  # noqa: PLC0415 - see above
    from tui.launch.planning import cards_of, make_request, plan_with_changes, smallest_total  # noqa: PLC0415
    from tui.sglang.versions import parse_release  # noqa: PLC0415

    if sglang_version is None:
        return None
    try:
        request = make_request(spec, parse_release(sglang_version), cards_of(gpus), smallest_total(reading), hub=hub)
        budget = plan_with_changes(request)
    except SgltuiError:  # a model that isn't here yet, or that nobody can compute: no plan, and no reason to refuse
        return None
    is_refused = budget.stage_of_failure is Stage.ARGS
    changes = [f"--{name} {value}" for change in budget.changes[:1] for name, value in change.set.items()]
    return _Answer(
        exceeds=budget.verdict is Verdict.EXCEEDS and not is_refused,
        is_refused=is_refused,
        reason=budget.reason,
        help=(f"{' '.join(changes)} would help",) if changes else (),
    )


def _holders(gpu: GpuSnapshot) -> list[str]:
    """Who holds memory of a GPU already."""
    if gpu.memory is None:
        return []
    return [
        f"GPU {gpu.index}: {_words(process)} holds {format_gib(process.used_bytes)} GiB"
        for process in gpu.processes
        if process.used_bytes is not None and process.used_bytes >= _WORTH_TELLING_BYTES
    ]


def _words(process: GpuProcess) -> str:
    return f"pid {process.pid} ({process.user or '?'}, {printable(process.command or '?')[:60]})"
