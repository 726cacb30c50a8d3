"""Refusing a launch before anything is started: one line that says what is wrong and what to do."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from tui.errors import RefusedError
from tui.gpu import GpuReading, GpuSnapshot
from tui.keeper.readiness import reachable
from tui.launch.records import Recorded, RecordError, list_names, read_newest
from tui.paths import Places
from tui.units import MIB

# Less than this can't even hold the log of a start (a good one is 30 kB, a crash dump a few MiB).
_MIN_FREE_BYTES = 64 * MIB
_PORT_LIMIT = 65535


def check_name(places: Places, name: str) -> None:
    """The name isn't taken by a launch that is still alive, here or on another host that shares this home.

    Raises:
        RefusedError: it is.
    """
    newest = read_newest(places, name)
    if newest is None or newest.is_over:
        return
    if not newest.is_local:
        raise RefusedError(
            f"{name!r} is running on {newest.launch.machine.hostname}, which shares this state folder",
            "stop it there, or give this one another --name",
        )
    if newest.is_running_here:
        raise RefusedError(
            f"{name!r} is already {newest.current_state()} ({newest.address})",
            f"`sgltui stop {name}` first, or give this one another --name",
        )


def check_model(model: str) -> None:
    """A model that looks like a path exists and has a `config.json`; anything else is a Hugging Face id.

    Raises:
        RefusedError: it doesn't. SGLang would take it for a hub name and speak of the network.
    """
    looks_like_path = model.startswith(("/", "./", "../", "~")) or model.count("/") > 1
    path = Path(model).expanduser()
    if not looks_like_path and not path.exists():
        return
    if not path.exists():
        raise RefusedError(f"the model path {model} doesn't exist", "check the path; a hub name has the form ORG/NAME")
    if path.is_dir() and not (path / "config.json").exists():
        raise RefusedError(f"{model} has no config.json", "name the folder that holds the model's files")


def choose_gpus(
    reading: GpuReading, wanted: Sequence[int | str] | None, count: int, visible: str | None = None
) -> tuple[GpuSnapshot, ...]:
    """The GPUs for a launch: the ones asked for, else the `count` with the most free memory.

    Args:
        reading: the machine's GPUs; on a machine without any, nothing is chosen.
        wanted: indices or uuids, in the order of the ranks.
        count: how many the flags need.
        visible: the user's own CUDA_VISIBLE_DEVICES, which limits the automatic choice.

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
        allowed = [gpu for gpu in reading.gpus if gpu.memory is not None and _is_visible(gpu, visible)]
        free_first = sorted(allowed, key=lambda gpu: -gpu.memory.free_bytes if gpu.memory else 0)
        chosen = tuple(sorted(free_first[:count], key=lambda gpu: gpu.index))
    if len(chosen) < count:
        raise RefusedError(
            f"these flags need {count} GPUs, and {len(chosen)} can be used",
            "choose more with --on, or lower --tp-size",
        )
    return chosen


def choose_port(places: Places, host: str, wanted: int | None, first: int) -> int:
    """The port asked for, if it is free, else the first free one from `first` on.

    A port is taken when somebody listens on it, or when another server of ours will: SGLang binds its port last,
    minutes after its start.

    Raises:
        RefusedError: it is taken; the message says by whom as far as that can be seen.
    """
    promised = _promised_ports(places)
    if wanted is None:
        for port in range(first, _PORT_LIMIT):
            if port not in promised and _can_bind(host, port):
                return port
        raise RefusedError(f"no free port from {first} on", "give one with --port")
    if wanted in promised:
        raise RefusedError(
            f"port {wanted} belongs to {promised[wanted]}",
            "stop that one first, or give another --port",
        )
    if not _can_bind(host, wanted):
        raise RefusedError(
            f"port {wanted} on {host} is taken by another program",
            f"see who with `ss -ltnp 'sport = :{wanted}'`, or give another --port",
        )
    return wanted


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
        raise RefusedError(
            f"can't write launches to {folder}: {os.strerror(errno.EACCES)}",
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
            return gpu
    there = ", ".join(str(gpu.index) for gpu in reading.gpus) or "none"
    raise RefusedError(f"there is no GPU {wanted}", f"this machine has: {there} (see `sgltui gpus`)")


def _is_visible(gpu: GpuSnapshot, visible: str | None) -> bool:
    if visible is None:
        return True
    words = [word.strip() for word in visible.split(",")]
    return str(gpu.index) in words or any(word and gpu.uuid.startswith(word) for word in words)


def _promised_ports(places: Places) -> dict[int, str]:
    """Ports of our living launches, with who has them."""
    ports = {}
    for name in list_names(places):
        newest = _readable(places, name)
        if newest is not None and not newest.is_over and newest.is_running_here:
            ports[newest.launch.port] = f"{name}, which is {newest.current_state()}"
    return ports


def _readable(places: Places, name: str) -> Recorded | None:
    """A broken record of one server must not forbid the launch of another; `ps` shows it."""
    try:
        return read_newest(places, name)
    except RecordError:
        return None


def _can_bind(host: str, port: int) -> bool:
    """Nobody listens there. SO_REUSEADDR as uvicorn does, so that closed connections don't count."""
    try:
        infos = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)  # noqa: S104 - only tried, then closed
    except socket.gaierror as error:
        raise RefusedError(f"{host!r} is no address of this machine: {error.strerror}", "give another host") from error
    for family, kind, protocol, _, address in infos:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
                raise RefusedError(
                    f"can't listen on {host} port {port}: {error.strerror}", "give another host or port"
                ) from error
    return not _is_answered(host, port)


def _is_answered(host: str, port: int) -> bool:
    """Somebody accepts connections there, on another address of the same port than the one tried."""
    try:
        with socket.create_connection((reachable(host), port), timeout=0.5):
            return True
    except OSError:  # refused: nobody is there
        return False
