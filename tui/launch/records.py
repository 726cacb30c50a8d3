"""Reading what launches have recorded. Records of any host are read; only this machine's are judged."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from tui.errors import UsageError
from tui.keeper.files import CURRENT, LaunchFiles
from tui.keeper.identity import ProcessIdentity, boot_id, this_machine
from tui.keeper.records import SCHEMA
from tui.keeper.states import ENDED, State
from tui.paths import Places

_T = TypeVar("_T")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]

_HAND_OVER_LIMIT = timedelta(seconds=30)  # the launcher itself gives up after 20

LAUNCH_NAME = re.compile(r"\d{8}T\d{6}Z-\d{4,}")


class Machine(msgspec.Struct, frozen=True):
    """Which machine wrote a record."""

    hostname: str
    machine_id: str
    boot_id: str
    pid_namespace: str
    time_namespace: str | None = None  # not in older records

    @classmethod
    def this(cls) -> Machine:
        """The one we run on."""
        return cls(**this_machine())

    def is_this(self) -> bool:
        """Recorded here, so that its pids and start times mean something to us; also before the last reboot."""
        here = Machine.this()
        if (self.machine_id, self.hostname) != (here.machine_id, here.hostname):
            return False
        if self.boot_id != here.boot_id:
            return True
        same_clock = self.time_namespace in (None, here.time_namespace)
        return same_clock and self.pid_namespace == here.pid_namespace


class GivenGpu(msgspec.Struct, frozen=True):
    """A GPU that a launch was given."""

    index: int
    uuid: str
    name: str


class RestartRecord(msgspec.Struct, frozen=True):
    """A failed server is launched again, `limit` times at most; the pause doubles each time."""

    limit: int
    backoff_s: float


class ReferenceRecord(msgspec.Struct, frozen=True):
    """Where the value of a secret came from: `tui.sglang.references.Reference`."""

    kind: str
    target: str


class LogLimitsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How much of its log is kept: `tui.keeper.rotation.LogLimits`."""

    log_bytes: int
    total_bytes: int
    age_s: float


class LaunchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`launch.json`: what was asked. Secrets stand in it as `***`.

    Attributes:
        port_chosen: nobody asked for this port; it was the first free one.
        flag_references, env_references: where the secrets came from, so that the same can be launched again.
    """

    name: str
    launch: str
    created_at: Moment
    argv: list[str]
    model: str
    host: str
    port: int
    port_chosen: bool = False
    gpus: list[GivenGpu]
    mark: str
    machine: Machine
    cwd: str
    env: dict[str, str] = {}
    flag_references: dict[str, ReferenceRecord] = {}
    env_references: dict[str, ReferenceRecord] = {}
    preset: str | None = None
    python: str | None = None
    sglang_version: str | None = None
    simulated: str | None = None
    restart: RestartRecord | None = None
    log_limits: LogLimitsRecord | None = None
    attempt: int = 1
    group: str | None = None
    order: int = 0
    schema: int = 1


class StateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`state.json`: where it is, as its keeper last wrote."""

    state: State = State.PENDING
    since: Moment | None = None
    started_at: Moment | None = None
    ready_at: Moment | None = None
    keeper: ProcessIdentity | None = None
    server: ProcessIdentity | None = None
    members: list[ProcessIdentity] = []
    gpu_used_at_start: dict[str, int] | None = None  # bytes by uuid
    phase: str | None = None
    phase_since: Moment | None = None
    peak_memory_bytes: int | None = None


class HolderRecord(msgspec.Struct, frozen=True):
    """Who still holds GPU memory of a stopped launch; only the amount is known of memory that has lost its owner."""

    pid: int | None
    user: str | None
    command: str | None
    gib: float


class StopRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a stop, or the clean-up after an end, has achieved; fields of the `stop` contract.

    Attributes:
        killed: those that had to be killed (0.5.11 also kills itself at the end of an orderly stop: not meant here).
        memory_before_gib, memory_after_gib: what the launch held on its GPUs, and what of it isn't back.
        released: None where nobody can tell.
        locks_left: locks of kernel builds that a killed process left; the next start may wait for them for ever.
        holders: who still holds memory, where it didn't come back.
    """

    stopped: tuple[int, ...]
    survivors: tuple[int, ...]
    killed: tuple[int, ...] = ()
    memory_before_gib: float | None
    memory_after_gib: float | None
    released: bool | None
    seconds: float
    port_free: bool
    shm_left: tuple[str, ...]
    locks_left: tuple[str, ...] = ()
    holders: tuple[HolderRecord, ...] = ()


class CrashedRecord(msgspec.Struct, frozen=True):
    """A process of the server that its main process found dead."""

    name: str
    pid: int
    returncode: int


class ExitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`exit.json`: how it ended.

    Attributes:
        cause: why, where the keeper itself knows it.
        unstarted: the server's process never ran.
        killed_by: "itself" after a child's death, "kernel" for want of memory, or "somebody".
        crashed: the child whose death it died of.
        explanation: the same in words; what the log says of the reason comes before it.
        restart: whether it is launched again, in words, where its preset asks for that.
        restart_at: when that is to happen; None when it isn't.
    """

    state: State
    at: Moment
    asked: bool = False
    was_ready: bool = False
    returncode: int | None = None
    signal: str | None = None
    cause: str | None = None
    unstarted: bool = False
    killed_by: Literal["itself", "kernel", "somebody"] | None = None
    crashed: CrashedRecord | None = None
    explanation: str | None = None
    restart: str | None = None
    restart_at: Moment | None = None
    stop: StopRecord | None = None


class Recorded(msgspec.Struct, frozen=True):
    """The records of one launch.

    Attributes:
        exit: present when it is over.
    """

    files: LaunchFiles
    launch: LaunchRecord
    state: StateRecord
    exit: ExitRecord | None

    @property
    def address(self) -> str:
        """`NAME/LAUNCH`."""
        return f"{self.launch.name}/{self.launch.launch}"

    @property
    def is_attended(self) -> bool:
        """A live keeper watches it."""
        return self.state.keeper is not None and self.state.keeper.is_alive()

    @property
    def is_local(self) -> bool:
        """Recorded by this machine and pid namespace."""
        return self.launch.machine.is_this()

    @property
    def is_over(self) -> bool:
        """Its end is recorded."""
        return self.exit is not None or self.state.state in ENDED

    @property
    def is_newest(self) -> bool:
        """The name means this launch."""
        current = self.files.directory.parent / CURRENT
        return current.is_symlink() and str(current.readlink()) == self.files.directory.name

    @property
    def awaits_restart(self) -> bool:
        """It has failed and is to be launched again; a restart of the machine or a launch by hand calls that off."""
        if self.exit is None or self.exit.restart_at is None or not self.is_local:
            return False
        return self.launch.machine.boot_id == boot_id() and self.is_newest

    @property
    def is_in_the_way(self) -> bool:
        """Its name, port and GPUs aren't free: it runs or is about to, or something of it still lives."""
        return bool(self.living_members()) or (not self.is_over and self.is_running_here)

    @property
    def is_running_here(self) -> bool:
        """Something of it lives on this machine, or is about to: its launcher, its keeper, or a member."""
        if not self.is_local:
            return False
        return self.is_attended or bool(self.living_members()) or self.current_state() is State.PENDING

    def current_state(self) -> State:
        """The recorded state, corrected by what is seen now: gone without an end on record is `lost`."""
        if self.exit is not None:
            return self.exit.state
        if self.is_over or not self.is_local or self.is_attended:
            return self.state.state
        server = self.state.server
        if server is None:
            return State.PENDING if self.state.keeper is None and self._is_fresh() else State.LOST
        return self.state.state if server.is_alive() else State.LOST

    def living_members(self) -> tuple[ProcessIdentity, ...]:
        """Recorded members that still run; empty for another machine's launch."""
        if not self.is_local or self.launch.machine.boot_id != boot_id():
            return ()
        return tuple(member for member in self.state.members if member.is_alive())

    def _is_fresh(self) -> bool:
        """Its launcher may still be about to hand it to a keeper."""
        age = datetime.now(UTC) - self.launch.created_at
        return self.launch.machine.boot_id == boot_id() and age < _HAND_OVER_LIMIT


def read_launch(directory: Path) -> Recorded:
    """Read one launch.

    Raises:
        RecordError: a record is missing or isn't what it should be.
    """
    recorded = _read(directory)
    is_left = recorded.exit is None and recorded.state.keeper is not None and not recorded.is_attended
    # A keeper writes the end before it goes: what was read may be of just before that, the second reading isn't.
    return _read(directory) if is_left else recorded


def _read(directory: Path) -> Recorded:
    files = _files(directory)
    launch = _decode(files.launch, LaunchRecord)
    if launch is None:
        raise RecordError(f"{files.launch} is missing", "remove the directory if nothing in it is needed")
    # The end first: a launch that ends between the two reads is then seen as running with an end, not the reverse.
    exit_record = _decode(files.exit, ExitRecord)
    state = _decode(files.state, StateRecord) or StateRecord()
    return Recorded(files, launch, state, exit_record)


@lru_cache(maxsize=1024)
def _files(directory: Path) -> LaunchFiles:
    """Each look reads the same ones again, and a dozen paths take longer to make than to read what is there."""
    return LaunchFiles(directory)


def list_names(places: Places) -> list[str]:
    """Names of all servers ever launched here, sorted."""
    return [path.name for path in _entries(places.instances) if path.is_dir()]


def list_launches(places: Places, name: str) -> list[str]:
    """Launches of one name, oldest first."""
    return [path.name for path in _entries(places.instances / name) if LAUNCH_NAME.fullmatch(path.name)]


def read_newest(places: Places, name: str) -> Recorded | None:
    """The newest launch of a name, or None when there is none.

    Raises:
        RecordError: it can't be read, or is a copy of another server's.
    """
    current = places.instances / name / CURRENT
    try:
        recorded = read_launch(current.resolve()) if current.exists() else None
    except OSError as error:
        raise _unreadable(current, error) from error
    if recorded is not None and recorded.launch.name != name:
        path = places.instances / name
        raise RecordError(f"{path} is a copy of {recorded.launch.name}'s records", "keep copies in another folder")
    return recorded


def find_launch(places: Places, address: str) -> Recorded:
    """The launch that `NAME` (its newest) or `NAME/LAUNCH` means.

    Raises:
        UsageError: there is no such name or launch; the message lists what there is.
    """
    name, _, launch = address.partition("/")
    launches = list_launches(places, name)
    if not launches:
        known = ", ".join(list_names(places)) or "none yet"
        raise UsageError(f"no server named {name!r}", f"known names: {known}")
    if not launch:
        return read_newest(places, name) or read_launch(places.instances / name / launches[-1])
    if launch not in launches:
        raise UsageError(f"{name!r} has no launch {launch!r}", f"its newest are {', '.join(launches[-3:])}")
    return read_launch(places.instances / name / launch)


class RecordError(UsageError):
    """A record that can't be read."""


class _Versioned(msgspec.Struct):
    schema: int = 1


def _entries(directory: Path) -> list[Path]:
    """What is in a folder, sorted; nothing when there is no folder.

    Raises:
        RecordError: it can't be read.
    """
    try:
        return sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(directory, error) from error


def _unreadable(path: Path, error: OSError) -> RecordError:
    return RecordError(f"{path} can't be read: {error.strerror}", "check its owner and permissions")


def _decode(path: Path, kind: type[_T]) -> _T | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        if msgspec.json.decode(data, type=_Versioned).schema > SCHEMA:
            raise RecordError(f"{path} was written by a newer sgltui", "update this one, or leave it alone")
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RecordError(f"{path} isn't a record of ours: {error}", "move its directory aside") from error
