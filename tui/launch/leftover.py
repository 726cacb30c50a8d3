"""A left-over SGLang server of one's own that no record knows: found by a pid of it, shown, and ended on request."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tui.errors import RefusedError, UsageError
from tui.gpu import GpuReading
from tui.keeper import cgroup, procfs, sglang_marks
from tui.keeper.files import LaunchFiles
from tui.keeper.identity import ProcessIdentity, age_s, identify, read_stat
from tui.keeper.members import Members
from tui.keeper.records import LaunchRecords
from tui.keeper.run import Run, Target
from tui.keeper.stop import Stopper, StopRequest
from tui.launch.config_words import read_words
from tui.launch.records import RecordError, StopRecord, list_names, read_newest
from tui.paths import Places
from tui.text import printable

_DEFAULT_PORT = 30000
_DEFAULT_HOST = "127.0.0.1"
_WORDS_LIMIT = 80
_NO_MARK = "no launch of ours has this mark"


class Leftover(Struct, frozen=True):
    """A tree of processes that SGLang has started.

    Attributes:
        root: its main process, or the uppermost of those that have lost theirs.
        members: all of it, the root among them.
        gpus: uuids of the GPUs on which they hold memory.
        enclosure: the cgroup that a keeper made for it, whose records are gone or elsewhere, and its mark.
    """

    root: ProcessIdentity
    members: tuple[ProcessIdentity, ...]
    gpus: tuple[str, ...]
    host: str
    port: int
    enclosure: Path | None = None
    mark: str = _NO_MARK


class LeftoverProcess(Struct, frozen=True):
    """One process as it is shown to who has to confirm; `held_bytes` is None where the driver doesn't tell."""

    pid: int
    age_s: float
    held_bytes: int | None
    command: str


def find_leftover(places: Places, pid: int, reading: GpuReading) -> Leftover:
    """The tree that `pid` belongs to.

    Raises:
        UsageError: there is no such process.
        RefusedError: it is another user's, isn't SGLang's, or has a record or a keeper.
    """
    identity = identify(pid)
    if identity is None:
        raise UsageError(f"there is no process {pid}", "see `sgltui gpus` for those that hold memory")
    if procfs.owner(pid) != os.geteuid():
        raise RefusedError(f"process {pid} belongs to another user", "ask that user, or stop it as that user")
    _check_unrecorded(places, [identity])
    root = _find_root(pid)
    enclosure, mark = cgroup.find_enclosure(root.pid) or (None, _NO_MARK)
    members = _find_members(root, enclosure)
    _check_unrecorded(places, members)
    words = read_words(procfs.command_line(root.pid), None, procfs.working_folder(root.pid) or os.sep)
    pids = {member.pid for member in members}
    return Leftover(
        root=root,
        members=tuple(sorted(members, key=lambda member: member.pid)),
        gpus=tuple(gpu.uuid for gpu in reading.gpus if any(process.pid in pids for process in gpu.processes)),
        host=words.get("--host") or _DEFAULT_HOST,
        port=words.get_int("--port", _DEFAULT_PORT),
        enclosure=enclosure,
        mark=mark,
    )


def list_processes(leftover: Leftover, reading: GpuReading) -> list[LeftoverProcess]:
    """What a person sees before saying yes."""
    held: dict[int, int] = {}
    for process in (process for gpu in reading.gpus for process in gpu.processes if process.used_bytes is not None):
        held[process.pid] = held.get(process.pid, 0) + (process.used_bytes or 0)
    return [
        LeftoverProcess(
            member.pid,
            age_s(member),
            held.get(member.pid, 0) if reading.gpus else None,
            printable(procfs.shown_command(member.pid)),
        )
        for member in leftover.members
    ]


def stop_leftover(places: Places, leftover: Leftover, request: StopRequest) -> StopRecord:
    """End the tree as a launch of ours is ended, and report."""
    with tempfile.TemporaryDirectory(prefix="sgltui-stop-") as folder:  # what a stop notes on its way
        records = LaunchRecords(LaunchFiles(Path(folder)))
        records.note(
            members=[member.as_json() for member in leftover.members],
            cgroup=leftover.enclosure and str(leftover.enclosure),
        )
        target = Target(leftover.mark, leftover.host, leftover.port, list(leftover.gpus), places.simulated)
        run = Run(records, target, leftover.root, is_parent=False)
        report: dict[str, Any] = Stopper(run, request).stop()
    return msgspec.convert(report, StopRecord)


def _find_root(pid: int) -> ProcessIdentity:
    """The main process above `pid`, else the uppermost of SGLang's above it, itself included."""
    found = None
    for ancestor in _ancestors(pid):
        if "tui.keeper" in procfs.command_line(ancestor):
            raise RefusedError(
                f"process {pid} has a keeper (pid {ancestor}), whose records are in another state folder",
                "stop it with the SGLTUI_STATE_DIR that it was launched with",
            )
        if procfs.owner(ancestor) == os.geteuid() and _is_sglang(ancestor):
            found = ancestor
    root = identify(found) if found is not None else None
    if root is None:
        raise RefusedError(
            f"process {pid} isn't SGLang's: {printable(procfs.shown_command(pid))[:_WORDS_LIMIT]}",
            "sgltui ends nothing but servers of SGLang and what they have started",
        )
    return root


def _ancestors(pid: int) -> Iterator[int]:
    """`pid` itself, its parent, and so on."""
    stat = read_stat(pid)
    while stat is not None and stat.pid > 1:
        yield stat.pid
        stat = read_stat(stat.ppid)


def _is_sglang(pid: int) -> bool:
    return sglang_marks.is_main(pid) or sglang_marks.is_child(pid)


def _find_members(root: ProcessIdentity, enclosure: Path | None) -> list[ProcessIdentity]:
    """The root, what is below it or in its cgroup, and its orphans: of its session and log, and SGLang's."""
    relatives = [relative for pid in procfs.all_pids() if (relative := _relative(pid, root)) is not None]
    members = Members(root, _NO_MARK, None, remembered=relatives, enclosure=enclosure)
    members.refresh()
    return members.alive()


def _relative(pid: int, root: ProcessIdentity) -> ProcessIdentity | None:
    identity = identify(pid)
    if identity is None or identity.session != root.session or procfs.owner(pid) != os.geteuid():
        return None
    log = procfs.outputs(root.pid)
    if not log or procfs.outputs(pid) != log:
        return None
    if any(sglang_marks.is_main(ancestor) and ancestor != root.pid for ancestor in _ancestors(pid)):
        return None  # of another server that writes into the same file
    return identity if sglang_marks.is_child(pid) or sglang_marks.is_helper(pid) else None


def _check_unrecorded(places: Places, members: Sequence[ProcessIdentity]) -> None:
    for name in list_names(places):
        with suppress(RecordError):  # `doctor` shows a broken record
            newest = read_newest(places, name)
            if newest is not None and set(members) & set(newest.living_members()):
                raise RefusedError(f"these processes belong to {newest.address}", f"`sgltui stop {name}` ends them")
