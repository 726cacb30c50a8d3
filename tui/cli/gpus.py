"""`sgltui gpus`."""

from __future__ import annotations

import argparse
from typing import Any

from tui.cli.context import open_context, print_json, print_table
from tui.cli.say import say
from tui.errors import ExitCode
from tui.gpu import GpuProcess, GpuReading, GpuSnapshot
from tui.observe import Instance
from tui.units import MIB, format_gib

_HEADER = ("GPU", "NAME", "USED", "RESERVED", "FREE", "TOTAL", "UTIL", "TEMP", "POWER")
# Drivers round, and keep a little for themselves; less than this is nobody's loss.
_UNEXPLAINED_BYTES = 256 * MIB


def gpus(options: argparse.Namespace) -> ExitCode:
    """List the GPUs and who holds their memory; status 1 when none can be read."""
    snapshot = open_context(options).observer.observe()
    reading, owners = snapshot.gpus, _owners(snapshot.instances)
    if options.json:
        print_json([as_contract(gpu, owners) for gpu in reading.gpus])
    else:
        _print(reading, owners)
    if reading.problem is not None:
        say(f"{reading.problem.what}; {reading.problem.hint}")
        return ExitCode.FAILED
    return ExitCode.DONE


def as_contract(gpu: GpuSnapshot, owners: dict[int, str]) -> dict[str, Any]:
    """The fields of the `gpus` contract, in MiB."""
    memory = gpu.memory
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "name": gpu.name,
        "total_mib": memory and _mib(memory.total_bytes),
        "used_mib": memory and _mib(memory.used_bytes),
        "free_mib": memory and _mib(memory.free_bytes),
        "reserved_mib": memory and _mib(memory.reserved_bytes),
        "utilization_percent": gpu.utilization_percent,
        "temperature_c": gpu.temperature_c,
        "power_w": gpu.power_w,
        "problem": gpu.problem,
        "problem_since": None if gpu.problem_since is None else gpu.problem_since.isoformat(timespec="seconds"),
        "shares_host_memory": gpu.shares_host_memory,
        "mig_instances": [_part(part, owners) for part in gpu.instances],
        "processes": [_process(process, owners) for process in gpu.processes],
    }


def _part(part: GpuSnapshot, owners: dict[int, str]) -> dict[str, Any]:
    """A MIG instance; the driver tells nothing else of one."""
    memory = part.memory
    return {
        "index": part.index,
        "uuid": part.uuid,
        "name": part.name,
        "total_mib": memory and _mib(memory.total_bytes),
        "used_mib": memory and _mib(memory.used_bytes),
        "free_mib": memory and _mib(memory.free_bytes),
        "processes": [_process(process, owners) for process in part.processes],
    }


def _process(process: GpuProcess, owners: dict[int, str]) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "user": process.user,
        "mib": _mib(process.used_bytes),
        "command": process.command,
        "instance": owners.get(process.pid),
    }


def _owners(instances: tuple[Instance, ...]) -> dict[int, str]:
    return {member.pid: instance.name for instance in instances for member in instance.members}


def _mib(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else size_bytes // MIB


def _print(reading: GpuReading, owners: dict[int, str]) -> None:
    if not reading.gpus:
        return
    print_table(_HEADER, (row for gpu in reading.gpus for row in (_row(gpu), *map(_part_row, gpu.instances))))
    holders = [holder for gpu in reading.gpus for holder in _holders(gpu, owners)]
    if holders:
        print()
        print_table(("GPU", "PID", "USER", "GIB", "WHO"), holders)


def _holders(gpu: GpuSnapshot, owners: dict[int, str]) -> list[tuple[str, ...]]:
    """Who holds memory of it, and what the driver doesn't explain: a process that is gone may have left it behind."""
    index = str(gpu.index)
    rows: list[tuple[str, ...]] = [
        (index, str(process.pid), process.user or "?", format_gib(process.used_bytes), _who(process, owners))
        for process in gpu.processes
    ]
    sizes = [process.used_bytes for process in gpu.processes]
    if gpu.memory is not None and None not in sizes:
        unexplained = gpu.memory.used_bytes - sum(size for size in sizes if size is not None)
        if unexplained > _UNEXPLAINED_BYTES:
            who = "the host's own programs" if gpu.shares_host_memory else "no process that the driver tells of"
            rows.append((index, "-", "-", format_gib(unexplained), who))
    return rows


def _row(gpu: GpuSnapshot) -> tuple[str, ...]:
    memory = gpu.memory
    if memory is None:
        return (str(gpu.index), gpu.name, gpu.problem or "-", *"------")
    return (
        str(gpu.index),
        f"{gpu.name} (host memory)" if gpu.shares_host_memory else gpu.name,
        format_gib(memory.used_bytes),
        format_gib(memory.reserved_bytes),
        format_gib(memory.free_bytes),
        format_gib(memory.total_bytes),
        _with_unit(gpu.utilization_percent, "%"),
        _with_unit(gpu.temperature_c, "°C"),
        _with_unit(None if gpu.power_w is None else round(gpu.power_w), "W"),
    )


def _part_row(part: GpuSnapshot) -> tuple[str, ...]:
    """A MIG instance, below its GPU."""
    index, *others = _row(part)
    return f"  {index}", *others


def _with_unit(value: int | None, unit: str) -> str:
    return "-" if value is None else f"{value} {unit}"


def _who(process: GpuProcess, owners: dict[int, str]) -> str:
    return owners.get(process.pid) or process.command or "unknown"
