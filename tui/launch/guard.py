"""Refusing a launch before anything is started: one line that says what is wrong and what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tui.errors import RefusedError, UsageError
from tui.gpu import GpuReading, GpuSnapshot
from tui.launch.records import Recorded, RecordError, list_names, read_newest
from tui.paths import Places
from tui.units import MIB

# Less than this can't even hold the log of a start (a good one is 30 kB, a crash dump a few MiB).
_MIN_FREE_BYTES = 64 * MIB
# What SGLang fetches from object stores and other servers (srt/connector, 0.5.6.post2 to 0.5.23).
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def check_name(places: Places, name: str) -> None:
    """The name isn't taken by a launch that is still alive, here or on another host that shares this home.

    Asked under the lock of `launching`.

    Raises:
        RefusedError: it is.
    """
    newest = read_newest(places, name)
    if newest is None or _was_given_up(newest):
        return
    if not newest.is_local and not newest.is_over:
        raise RefusedError(
            f"{name!r} is on record as running on {newest.launch.machine.hostname}, in another namespace or host",
            f"stop it there, or, if that is gone, remove {newest.files.directory}; or give another --name",
        )
    if newest.is_in_the_way:
        raise RefusedError(
            f"{name!r} is already {newest.current_state()} ({newest.address})"
            if not newest.is_over
            else f"processes of {newest.address} still run",
            f"`sgltui stop {name}` first, or give this one another --name",
        )


def _was_given_up(recorded: Recorded) -> bool:
    """Its launcher died before a keeper had it: who asks holds the lock that a launch in progress would hold."""
    return recorded.is_local and recorded.state.keeper is None and not recorded.is_over


def check_model(model: str, folder: str | None = None) -> None:
    """A model that looks like a path exists and has a `config.json`; anything else is a Hugging Face id, or a URL.

    Args:
        model: as typed.
        folder: where the server will run, which relative paths start from; None: here.

    Raises:
        RefusedError: it doesn't. SGLang would take it for a hub name and speak of the network.
    """
    if _URL.match(model):
        return
    looks_like_path = model.startswith(("/", "./", "../", "~")) or model.count("/") > 1
    try:
        path = Path(folder or "") / Path(model).expanduser()
        exists = path.exists()
        is_bare_folder = exists and path.is_dir() and not (path / "config.json").exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such home, a NUL
        raise RefusedError(f"{model!r} can't be a model: {error}", "give a folder or a hub name, ORG/NAME") from error
    if looks_like_path and not exists:
        raise RefusedError(f"the model path {model} doesn't exist", "check the path; a hub name has the form ORG/NAME")
    if is_bare_folder:
        raise RefusedError(f"{model} has no config.json", "name the folder that holds the model's files")


def choose_gpus(
    reading: GpuReading,
    wanted: Sequence[int | str] | None,
    count: int,
    *,
    visible: str | None = None,
    promised: Collection[str] = (),
) -> tuple[GpuSnapshot, ...]:
    """The GPUs for a launch: the ones asked for, else the `count` with the most free memory.

    Args:
        reading: the machine's GPUs; on a machine without any, nothing is chosen.
        wanted: indices or uuids, in the order of the ranks.
        count: how many the flags need.
        visible: the user's own CUDA_VISIBLE_DEVICES, which limits the automatic choice.
        promised: uuids of GPUs that servers of ours have or will fill; the automatic choice takes them last.

    Raises:
        RefusedError: a GPU that isn't there, or too few.
    """
    if wanted is not None:
        chosen = tuple(_find_gpu(reading, gpu) for gpu in wanted)
        if len({gpu.index for gpu in chosen}) < len(chosen):
            raise RefusedError("the same GPU is given twice", "name each GPU once")
    elif not reading.gpus:
        return ()
    else:
        allowed = [gpu for gpu in reading.gpus if _is_usable(gpu) and _is_visible(gpu, visible)]
        best_first = sorted(allowed, key=lambda gpu: (gpu.uuid in promised, -_free_bytes(gpu)))
        chosen = tuple(sorted(best_first[:count], key=lambda gpu: gpu.index))
    if len(chosen) < count:
        raise RefusedError(
            f"these flags need {count} GPUs, and {len(chosen)} can be used",
            "choose more with --on, or lower --tp-size",
        )
    return chosen


def running(places: Places) -> list[Recorded]:
    """Our launches whose port and GPUs aren't free. A broken record must not forbid others; `ps` shows it."""
    found = []
    for name in list_names(places):
        with suppress(RecordError):
            newest = read_newest(places, name)
            if newest is not None and newest.is_in_the_way and not _was_given_up(newest):
                found.append(newest)
    return found


def promised_gpus(running: Iterable[Recorded]) -> frozenset[str]:
    """Uuids of GPUs that servers of ours have filled, or will."""
    return frozenset(gpu.uuid for launch in running for gpu in launch.launch.gpus)


def group_members(places: Places, group: str) -> list[str]:
    """Names of the running servers of a group, in the order in which they are stopped: the last one first.

    Raises:
        UsageError: there is none.
    """
    members = [launch.launch for launch in running(places) if launch.launch.group == group]
    if not members:
        raise UsageError(f"no server of a group {group!r} is running", "see `sgltui ps`")
    return [launch.name for launch in sorted(members, key=lambda one: (one.order, one.created_at), reverse=True)]


def check_space(folder: Path) -> None:
    """Records and a log can be written under `folder`, which is made if need be.

    Raises:
        RefusedError: no permission, a read-only file system, or a full disk.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        free_bytes = os.statvfs(folder)
    except OSError as error:
        raise RefusedError(
            f"can't write launches to {folder}: {error.strerror}",
            "make it writable, or set SGLTUI_STATE_DIR to another folder",
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        why = errno.EROFS if free_bytes.f_flag & os.ST_RDONLY else errno.EACCES
        raise RefusedError(
            f"can't write launches to {folder}: {os.strerror(why)}",
            "make it writable, or set SGLTUI_STATE_DIR to another folder",
        )
    if free_bytes.f_bavail * free_bytes.f_frsize < _MIN_FREE_BYTES:
        raise RefusedError(
            f"the disk of {folder} is full",
            "free some space, or set SGLTUI_STATE_DIR to a folder on another disk",
        )


def _find_gpu(reading: GpuReading, wanted: int | str) -> GpuSnapshot:
    if reading.problem is not None:
        raise RefusedError(f"GPU {wanted} can't be used: {reading.problem.what}", reading.problem.hint)
    for gpu in reading.gpus:
        if wanted in (gpu.index, gpu.uuid):
            _check_gpu(gpu, wanted)
            return gpu
    there = ", ".join(str(gpu.index) for gpu in reading.gpus) or "none"
    raise RefusedError(f"there is no GPU {wanted}", f"this machine has: {there} (see `sgltui gpus`)")


def _is_usable(gpu: GpuSnapshot) -> bool:
    return gpu.memory is not None and not gpu.instances


def _check_gpu(gpu: GpuSnapshot, wanted: int | str) -> None:
    if gpu.problem is not None:
        raise RefusedError(f"GPU {wanted} can't be used", gpu.problem)
    if gpu.instances:
        parts = ", ".join(f"{part.name} {part.uuid}" for part in gpu.instances)
        raise RefusedError(
            f"GPU {wanted} is split into MIG instances ({parts}): nothing can run on the whole of it",
            "run SGLang on an instance by hand, with CUDA_VISIBLE_DEVICES=MIG-uuid; sgltui doesn't launch on them",
        )


def _is_visible(gpu: GpuSnapshot, visible: str | None) -> bool:
    if visible is None:
        return True
    words = [word.strip() for word in visible.split(",")]
    return str(gpu.index) in words or any(word and gpu.uuid.startswith(word) for word in words)


def _free_bytes(gpu: GpuSnapshot) -> int:
    return gpu.memory.free_bytes if gpu.memory is not None else 0
