"""Who holds a GPU's memory: letters for our servers, signs for everything else; pure functions over a reading."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from tui.app.colors import HOLDER_COLOURS
from tui.app.words import format_indices
from tui.gpu import GpuMemory, GpuProcess, GpuSnapshot
from tui.keeper.states import ALIVE
from tui.observe import Instance, Snapshot
from tui.units import MIB

FOREIGN, UNTOLD, RESERVED = "?", "~", "x"
# Capitals first; small letters only when those are used up, and never the sign of reserved memory.
_LETTERS = tuple(letter for letter in string.ascii_uppercase + string.ascii_lowercase if letter != RESERVED)
_NO_LETTER = "+"  # the fifty-second server and later share a sign; the table still tells them apart
_SIGNS = (*_LETTERS, _NO_LETTER, FOREIGN, UNTOLD, RESERVED)
# Drivers keep a little that no process accounts for; below this it isn't worth a sign.
_UNTOLD_FROM_BYTES = 64 * MIB

Letters = Mapping[str, str]


class Holder(Struct, frozen=True):
    """One party that holds memory.

    Attributes:
        size_bytes: None where the driver doesn't tell it.
        style: a colour variable of the theme.
    """

    sign: str
    label: str
    size_bytes: int | None
    style: str


def assign_letters(previous: Letters, names: Iterable[str]) -> dict[str, str]:
    """A letter a name: whoever had one keeps it as long as it is shown, newcomers get the first free ones."""
    wanted = list(dict.fromkeys(names))
    kept = {name: previous[name] for name in wanted if name in previous}
    free = iter([letter for letter in _LETTERS if letter not in kept.values()])
    return {name: kept[name] if name in kept else next(free, _NO_LETTER) for name in wanted}


def letter_style(letter: str) -> str:
    """The colour that goes with a letter."""
    position = _LETTERS.index(letter) if letter in _LETTERS else 0
    return f"$holder-{position % HOLDER_COLOURS + 1}"


def lettered_names(snapshot: Snapshot) -> list[str]:
    """The servers of this machine that hold GPU memory or may yet: alive, or with members left; oldest first."""
    shown = [
        instance for instance in snapshot.instances if instance.local and (instance.state in ALIVE or instance.members)
    ]
    return [instance.name for instance in sorted(shown, key=lambda one: (one.launch, one.name))]


def owners_by_pid(instances: Iterable[Instance]) -> dict[int, str]:
    """Which of our servers a pid belongs to. Other hosts' records speak of other machines' pids."""
    return {member.pid: instance.name for instance in instances if instance.local for member in instance.members}


def told_by_difference(instances: Iterable[Instance]) -> dict[str, Instance]:
    """By GPU, the server whose processes the driver doesn't name; none where there are two of them."""
    found: dict[str, list[Instance]] = {}
    for instance in instances:
        if instance.local and instance.memory_by_difference:
            for uuid in instance.gpus:
                found.setdefault(uuid, []).append(instance)
    return {uuid: servers[0] for uuid, servers in found.items() if len(servers) == 1}


def holders_of(
    gpu: GpuSnapshot, owners: Mapping[int, str], letters: Letters, by_difference: Mapping[str, Instance] | None = None
) -> tuple[Holder, ...]:
    """Everybody who holds memory of one GPU, in the order of its bar.

    Args:
        gpu: the GPU.
        owners: of pids.
        letters: of servers.
        by_difference: the server that has what nobody else is known to hold, by GPU.
    """
    if gpu.memory is None:
        return ()
    ours = [_ours(process, owners[process.pid], letters) for process in gpu.processes if process.pid in owners]
    others = [process for process in gpu.processes if process.pid not in owners]
    known = (*merge(ours), *map(_foreign, others))
    held = (*known, *_untold(gpu, gpu.memory))
    server = (by_difference or {}).get(gpu.uuid)
    if server is not None:
        nameless = {_foreign(process) for process in others if process.command is None}
        held = (*(one for one in known if one not in nameless), *_differing(server, gpu, held, nameless, letters))
    return in_order((*held, *_reserved(gpu.memory)))


def in_order(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """Servers by their letters, then others, reserved last."""
    return tuple(sorted(holders, key=lambda holder: _order(holder.sign)))


def on_all_gpus(by_gpu: Mapping[int, Sequence[Holder]]) -> tuple[Holder, ...]:
    """Everybody once, with what it holds altogether; who isn't in the table of servers is told with its GPUs.

    Args:
        by_gpu: the holders of each GPU, by its index.
    """
    everybody = in_order(merge(holder for holders in by_gpu.values() for holder in holders))
    return everybody if len(by_gpu) == 1 else tuple(_placed(holder, by_gpu) for holder in everybody)


def merge(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """One entry a party, sizes added up, in the order of first appearance."""
    merged: dict[tuple[str, str], Holder] = {}
    for holder in holders:
        key = holder.sign, holder.label
        merged[key] = _add(merged[key], holder) if key in merged else holder
    return tuple(merged.values())


def share_cells(sizes: Sequence[int], width: int) -> list[int]:
    """Share `width` cells in proportion to sizes >= 0, at least one for each that isn't zero.

    Cells sum to `width` when anything is held. With more parties than cells the largest get one each.
    """
    if width <= 0 or not any(sizes):
        return [0] * len(sizes)
    cells = [1 if size else 0 for size in sizes]
    if sum(cells) >= width:
        largest = sorted(range(len(sizes)), key=lambda i: sizes[i], reverse=True)[:width]
        return [1 if i in largest else 0 for i in range(len(sizes))]
    # Cell by cell to whoever is furthest below its exact share: no party is ever rounded out of sight. Each gets its
    # whole cells that way, but for those that the smallest have beyond theirs: so many needn't be given one by one.
    total = sum(sizes)
    smallest = sum(0 < size * width < total for size in sizes)
    cells = [max(one, size * width // total - smallest) for one, size in zip(cells, sizes, strict=True)]
    for _ in range(width - sum(cells)):
        neediest = max(range(len(sizes)), key=lambda i: sizes[i] * width - cells[i] * total)
        cells[neediest] += 1
    return cells


def _ours(process: GpuProcess, name: str, letters: Letters) -> Holder:
    letter = letters.get(name, _NO_LETTER)
    return Holder(letter, name, process.used_bytes, letter_style(letter))


def _differing(
    server: Instance, gpu: GpuSnapshot, held: Iterable[Holder], nameless: Collection[Holder], letters: Letters
) -> tuple[Holder, ...]:
    """The server's share of what nobody is known to hold, and what is more than that."""
    unknown = sum(one.size_bytes or 0 for one in held if one in nameless or one.sign == UNTOLD)
    share = min(unknown, server.memory_bytes or 0)
    letter = letters.get(server.name, _NO_LETTER)
    rest = _untold_holder(gpu, unknown - share)
    return (Holder(letter, f"{server.name}, by difference", share, letter_style(letter)), *rest)


def _foreign(process: GpuProcess) -> Holder:
    program = PurePath(process.command.split()[0]).name if process.command and process.command.split() else ""
    parts = (program, f"pid {process.pid}", f"user {process.user}" if process.user else "")
    return Holder(FOREIGN, ", ".join(part for part in parts if part), process.used_bytes, "$foreign")


def _untold(gpu: GpuSnapshot, memory: GpuMemory) -> tuple[Holder, ...]:
    told = sum(process.used_bytes or 0 for process in gpu.processes)
    return _untold_holder(gpu, memory.used_bytes - told)


def _untold_holder(gpu: GpuSnapshot, rest: int) -> tuple[Holder, ...]:
    if gpu.memory is None or rest < _UNTOLD_FROM_BYTES:
        return ()
    # Memory info v1 counts what the driver reserves into what is used.
    label = "driver, or not told by it" if gpu.memory.reserved_bytes is None else "not told by the driver"
    if gpu.shares_host_memory:
        label = "the host's own programs"
    return (Holder(UNTOLD, label, rest, "$foreign"),)


def _reserved(memory: GpuMemory) -> tuple[Holder, ...]:
    if not memory.reserved_bytes:
        return ()
    return (Holder(RESERVED, "reserved", memory.reserved_bytes, "$reserved"),)


def _placed(holder: Holder, by_gpu: Mapping[int, Sequence[Holder]]) -> Holder:
    if holder.sign not in (FOREIGN, UNTOLD):
        return holder
    indices = [
        index
        for index, holders in by_gpu.items()
        if any((one.sign, one.label) == (holder.sign, holder.label) for one in holders)
    ]
    return replace(holder, label=f"GPU {format_indices(indices)}: {holder.label}")


def _order(sign: str) -> int:
    return _SIGNS.index(sign)


def _add(one: Holder, other: Holder) -> Holder:
    if one.size_bytes is None or other.size_bytes is None:
        return replace(one, size_bytes=one.size_bytes or other.size_bytes)
    return replace(one, size_bytes=one.size_bytes + other.size_bytes)
