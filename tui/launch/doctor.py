"""What works on this machine and what doesn't, each with its remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from tui.errors import SgltuiError
from tui.gpu import GpuReading
from tui.keeper import cgroup, oom
from tui.keeper.files import LaunchFiles
from tui.keeper.identity import pid_namespace
from tui.launch import guard
from tui.launch.adopt import needs_keeper
from tui.launch.login import find_ending
from tui.launch.mounts import find_mount
from tui.launch.records import RecordError, list_launches, list_names, read_launch, read_newest
from tui.paths import Places
from tui.settings import Settings
from tui.sglang.interpreter import find_interpreter
from tui.units import GIB, MIB, format_gib

_NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre", "beegfs", "gpfs")
_LITTLE_SPACE_BYTES = GIB
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in the kernel's source


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"  # something works less well
    PROBLEM = "problem"  # something doesn't work


class Check(Struct, frozen=True):
    """One thing that was looked at; `remedy` is empty where nothing is to be done."""

    topic: str
    level: Level
    what: str
    remedy: str = ""


def examine(places: Places, settings: Settings, reading: GpuReading) -> list[Check]:
    """Look at everything; nothing is changed but that the state folder is made, and one bad thing hides no other."""
    return [
        *_check_gpus(reading),
        _check_interpreter(places, settings),
        *_check_folder(places),
        *_check_records(places),
        *_check_unattended(places),
        _check_login(),
        _check_oom_counter(),
        _check_own_cgroup(),
        *_check_proc(),
    ]


def _check_gpus(reading: GpuReading) -> Iterator[Check]:
    if reading.problem is not None:
        yield Check("GPUs", Level.PROBLEM, reading.problem.what, reading.problem.hint)
        return
    yield Check("GPUs", Level.OK, f"{len(reading.gpus)} GPUs, driver {reading.driver or 'unknown'}")
    for gpu in reading.gpus:
        if gpu.problem is not None:
            yield Check("GPUs", Level.PROBLEM, f"GPU {gpu.index}: {gpu.problem}", "see `nvidia-smi` and `dmesg`")


def _check_interpreter(places: Places, settings: Settings) -> Check:
    try:
        found = find_interpreter(None, settings.python, places.simulated, places.settings_file)
    except SgltuiError as error:
        return Check("SGLang", Level.PROBLEM, error.what, error.hint)
    return Check("SGLang", Level.OK, f"SGLang {found.sglang_version} in {found.python}")


def _check_folder(places: Places) -> Iterator[Check]:
    folder = places.instances
    try:
        guard.check_space(folder)
    except SgltuiError as error:
        yield Check("state folder", Level.PROBLEM, error.what, error.hint)
        return
    mount = find_mount(folder)
    if mount is not None and mount.kind.startswith(_NETWORK):
        yield Check(
            "state folder",
            Level.WARNING,
            f"{folder} is on {mount.kind}: locks may not hold between machines, and a lost server hangs everything",
            "set SGLTUI_STATE_DIR to a folder on a local disk",
        )
    space = os.statvfs(folder)
    free_bytes = space.f_bavail * space.f_frsize
    if free_bytes < _LITTLE_SPACE_BYTES:
        what = f"{folder} has {free_bytes // MIB} MiB free; logs need some"
        yield Check("state folder", Level.WARNING, what, "free some space")
    else:
        yield Check("state folder", Level.OK, f"{folder}, {format_gib(free_bytes)} GiB free")


def _check_records(places: Places) -> Iterator[Check]:
    try:
        names = list_names(places)
    except SgltuiError as error:
        yield Check("records", Level.PROBLEM, error.what, error.hint)
        return
    broken = [check for name in names for check in _check_name(places, name)]
    yield from broken
    if not broken:
        yield Check("records", Level.OK, f"{len(names)} servers on record")


def _check_name(places: Places, name: str) -> Iterator[Check]:
    try:
        launches = list_launches(places, name)
    except RecordError as error:
        launches = []
        yield Check("records", Level.PROBLEM, error.what, error.hint)
    for launch in launches:
        directory = places.instances / name / launch
        try:
            read_launch(directory)
        except RecordError as error:
            # A directory without its first file was being made or deleted when somebody was killed.
            is_half = not LaunchFiles(directory).launch.exists()
            yield Check("records", Level.WARNING if is_half else Level.PROBLEM, error.what, error.hint)


def _check_unattended(places: Places) -> Iterator[Check]:
    names: list[str] = []
    with suppress(RecordError):  # told already, as below
        names = list_names(places)
    for name in names:
        with suppress(RecordError):
            newest = read_newest(places, name)
            if newest is not None and needs_keeper(newest):
                yield Check("servers", Level.WARNING, f"{name} has no keeper", f"`sgltui adopt {name}`")


def _check_login() -> Check:
    ending = find_ending()
    if ending is None:
        return Check("login manager", Level.OK, "servers go on after a logout")
    return Check("login manager", Level.PROBLEM, ending.why, ending.remedy)


def _check_oom_counter() -> Check:
    counter = oom.find_counter()
    if counter is None:
        what = "no cgroup tells of processes that the kernel killed for want of memory"
        return Check("cgroup", Level.WARNING, what, "mount cgroup 2; until then such an end looks like somebody's kill")
    return Check("cgroup", Level.OK, f"{counter.path} counts what the kernel kills for want of memory")


def _check_own_cgroup() -> Check:
    own = cgroup.find(os.getpid())
    if own is not None and cgroup.can_divide(own):
        return Check("cgroup", Level.OK, f"each server gets a cgroup of its own below {own}")
    why = "there is no cgroup 2 here" if own is None else f"{own} isn't ours to divide"
    what = f"servers get no cgroup of their own ({why}): their processes are told by session, parents, log and mark"
    remedy = "`systemd-run --user --scope sgltui` has one, which goes on after a logout with `loginctl enable-linger`"
    return Check("cgroup", Level.OK, what, remedy if own is not None else "")


def _check_proc() -> Iterator[Check]:
    mount = find_mount(Path("/proc"))
    hidden = [option for option in (mount.options if mount else ()) if option in ("hidepid=2", "hidepid=invisible")]
    if hidden:
        yield Check(
            "/proc",
            Level.WARNING,
            f"/proc is mounted with {hidden[0]}: other users' processes on the GPUs have no names",
            "ask for the group that its `gid=` names",
        )
    if pid_namespace() != _INITIAL_PID_NAMESPACE:
        yield Check(
            "/proc",
            Level.WARNING,
            "this is a container with process ids of its own: the driver may number processes otherwise",
            "start the container with --pid=host to see whose memory is whose",
        )
    if not Path("/proc/self/task").is_dir() or not hasattr(os, "pidfd_open"):
        yield Check("/proc", Level.PROBLEM, "this kernel is too old to watch processes", "use Linux 5.3 or later")
