"""How much GPU memory is used, and by which processes: for the proof that a launch has given it back.

Each reading opens NVML and closes it again: a keeper lives for weeks, and must neither hold the driver open (it
couldn't be reloaded) nor meet one that was replaced. Where nvidia-ml-py isn't installed, `nvidia-smi` is asked.
A driver may hang for ever, and only a process can be abandoned: `python -m tui.keeper.gpu_memory` prints a reading.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tui.keeper.identity import ProcessIdentity, identify, read_stat

_MIB = 1 << 20
_SMI_TIMEOUT_S = 10
_HOLDER = re.compile(r"(\d+)-(\d+)")  # PID-START_TICKS
_GHOST_PREFIX = "ghost-"
_hung: list[ProcessIdentity] = []  # readers that were abandoned, and that no signal has ended yet


@dataclass(frozen=True)
class GpuMemoryReading:
    """Memory in use at one moment.

    Attributes:
        used_bytes: by GPU uuid, without what the driver reserves where it tells; a GPU that can't be read is missing.
        by_process: pid -> uuid -> bytes, only where the driver tells.
    """

    used_bytes: dict[str, int]
    by_process: dict[int, dict[str, int]]


def read_within(limit_s: float, simulated: Path | None) -> GpuMemoryReading | None:
    """A reading by a child process that is abandoned at the limit; None when it cannot be read in time.

    As long as an abandoned one hangs in the driver there is no other: a keeper that asked once a minute would have
    hundreds of them by morning. A simulated machine is read here and now.
    """
    if simulated is not None:
        return read_gpu_memory(simulated)
    _hung[:] = [reader for reader in _hung if reader.is_alive()]
    try:
        child = None if _hung else _start_reader()
    except OSError:  # no memory, no process; or our own Python is gone, as after an update
        return None
    if child is None:
        return None
    try:
        output, _ = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        return None
    return _decode(output)


def _start_reader() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tui.keeper.gpu_memory"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )


def _abandon(child: subprocess.Popen[bytes]) -> None:
    """Waiting for it could take as long as the driver hangs. It ends when that lets go of it."""
    reader = identify(child.pid)
    if reader is not None:
        _hung.append(reader)
    child.kill()
    child.returncode = -signal.SIGKILL
    if child.stdout is not None:
        child.stdout.close()


def _decode(output: bytes) -> GpuMemoryReading | None:
    try:
        value = json.loads(output)
        by_process = {int(pid): held for pid, held in value["by_process"].items()}
        return GpuMemoryReading(value["used_bytes"], by_process)
    except (ValueError, KeyError, TypeError):  # it printed nothing, or `null`
        return None


def main() -> None:
    """Print a reading of this machine as JSON, `null` when there is none."""
    reading = read_gpu_memory(None)
    json.dump(None if reading is None else asdict(reading), sys.stdout)


def read_gpu_memory(simulated: Path | None) -> GpuMemoryReading | None:
    """A reading of the simulated machine if one is given, else of this one; None when it cannot be read.

    It may take long where the driver hangs.
    """
    if simulated is None:
        return _read_nvml() or _read_nvidia_smi()
    try:
        return read_simulated(simulated)
    except (OSError, ValueError, KeyError):
        return None


def read_simulated(directory: Path) -> GpuMemoryReading:
    """What the processes of a simulated machine hold, as long as they live, and what is held by nobody.

    Raises:
        OSError, ValueError, KeyError: its `machine.json` is missing or broken.
    """
    machine = json.loads((directory / "machine.json").read_bytes())
    used_bytes = {gpu["uuid"]: 0 for gpu in machine["gpus"]}
    by_process: dict[int, dict[str, int]] = {}
    for pid, uuid, size_bytes in _simulated_holdings(directory, machine):
        used_bytes[uuid] = used_bytes.get(uuid, 0) + size_bytes
        if pid is not None:
            held = by_process.setdefault(pid, {})
            held[uuid] = held.get(uuid, 0) + size_bytes
    return GpuMemoryReading(used_bytes, by_process)


def _simulated_holdings(directory: Path, machine: dict[str, Any]) -> Iterator[tuple[int | None, str, int]]:
    """Process (None: a ghost), GPU, bytes. A record stands for its very process, not for a later one of that pid."""
    for process in machine.get("foreign", []):
        yield process["pid"], process["gpu"], process["mib"] * _MIB
    for path in (directory / "held").glob("*.json"):
        match = _HOLDER.fullmatch(path.stem)
        if match and _is_alive(int(match[1]), int(match[2])):
            yield from ((int(match[1]), *entry) for entry in _read_holdings(path))
        elif path.stem.startswith(_GHOST_PREFIX):
            yield from ((None, *entry) for entry in _read_holdings(path))


def _read_holdings(path: Path) -> list[tuple[str, int]]:
    """GPU and bytes; nothing when the file just went or isn't whole."""
    try:
        return list(json.loads(path.read_bytes()).items())
    except (FileNotFoundError, ValueError):
        return []


def _is_alive(pid: int, start_ticks: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and not stat.is_dead


def _read_nvml() -> GpuMemoryReading | None:
    try:
        import pynvml  # noqa: PLC0415 - optional: the keeper also runs where only Python is installed
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return _read_devices(pynvml)
    except (pynvml.NVMLError, AttributeError):  # the latter from nvidia-ml-py before 11.510
        return None
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _read_devices(nvml: Any) -> GpuMemoryReading:
    reading = GpuMemoryReading({}, {})
    for index in range(nvml.nvmlDeviceGetCount()):
        with contextlib.suppress(nvml.NVMLError):  # a lost GPU, or one that isn't ours, is left out
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            uuid = _text(nvml.nvmlDeviceGetUUID(handle))
            reading.used_bytes[uuid] = _used_bytes(nvml, handle)
            for pid, size_bytes in _held_bytes(nvml, handle):
                held = reading.by_process.setdefault(pid, {})
                held[uuid] = max(size_bytes, held.get(uuid, 0))  # both lists tell the same memory
    return reading


def _used_bytes(nvml: Any, handle: Any) -> int:
    """Memory info v2 leaves out what the driver reserves; version 1 doesn't."""
    try:
        return int(nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2).used)
    except nvml.NVMLError:
        return int(nvml.nvmlDeviceGetMemoryInfo(handle).used)


def _held_bytes(nvml: Any, handle: Any) -> Iterator[tuple[int, int]]:
    queries = nvml.nvmlDeviceGetComputeRunningProcesses_v3, nvml.nvmlDeviceGetGraphicsRunningProcesses_v3
    for query in queries:
        with contextlib.suppress(nvml.NVMLError):  # the driver doesn't tell
            yield from ((p.pid, p.usedGpuMemory) for p in query(handle) if p.usedGpuMemory is not None)


def _text(value: Any) -> str:
    """Older releases of nvidia-ml-py return bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _read_nvidia_smi() -> GpuMemoryReading | None:
    """Both tables are in MiB; the second lists processes that compute. A figure it can't tell is in brackets."""
    gpus = _ask_nvidia_smi("--query-gpu=uuid,memory.used")
    if gpus is None:
        return None
    reading = GpuMemoryReading({uuid: int(mib) * _MIB for uuid, mib in gpus if mib.isdecimal()}, {})
    for uuid, pid, mib in _ask_nvidia_smi("--query-compute-apps=gpu_uuid,pid,used_memory") or ():
        if pid.isdecimal() and mib.isdecimal():
            reading.by_process.setdefault(int(pid), {})[uuid] = int(mib) * _MIB
    return reading


def _ask_nvidia_smi(query: str) -> list[list[str]] | None:
    """Rows of fields, or None when there is no such program or it fails."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    columns = query.count(",") + 1
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SMI_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    rows = ([field.strip() for field in line.split(",")] for line in lines)
    return [row for row in rows if len(row) == columns]


if __name__ == "__main__":
    main()
