"""The flags of a server that runs here and that nobody recorded, as a preset; nothing is done to the server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from tui.errors import RefusedError
from tui.gpu import GpuReading
from tui.keeper import procfs
from tui.keeper.identity import PROC
from tui.launch.leftover import find_leftover
from tui.paths import Places
from tui.presets.importing import Imported, Remark, import_words

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_MAX_BYTES = 1 << 20


def import_running(places: Places, pid: int, reading: GpuReading, name: str | None) -> Imported:
    """The preset of the server that `pid` belongs to.

    Raises:
        UsageError: there is no such process.
        RefusedError: it is another user's, isn't SGLang's, or has a record.
    """
    server = find_leftover(places, pid, reading).root
    words, visible, folder = procfs.command_line(server.pid), _visible(server.pid), procfs.working_folder(server.pid)
    if not server.is_alive():  # what was read may be another process's
        raise RefusedError(f"process {server.pid} has just ended", "look again with `sgltui gpus`")
    imported = import_words(words, {} if visible is None else {_VISIBLE: visible}, name)
    preset, remarks = imported.preset, list(imported.remarks)
    beside = Path(folder, preset.model) if folder is not None and not preset.model.startswith(("/", "~")) else None
    if beside is not None and beside.is_dir():
        remarks.append(Remark("changed", f"{preset.model} is {beside} from where it was started"))
        preset = replace(preset, model=str(beside))
    return structs.replace(imported, preset=preset, remarks=tuple(remarks))


def _visible(pid: int) -> str | None:
    """The one variable that is read; None where it isn't set, or nobody may look."""
    try:
        with (PROC / str(pid) / "environ").open("rb") as file:
            block = file.read(_MAX_BYTES)
    except OSError:
        return None
    found = (entry for entry in block.split(b"\0") if entry.startswith(f"{_VISIBLE}=".encode()))
    return next(found, b"=").partition(b"=")[2].decode(errors="replace") or None
