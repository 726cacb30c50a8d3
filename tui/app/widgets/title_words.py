"""What the first line says."""

from __future__ import annotations

from textual.content import Content

from tui.app.glyphs import Glyphs
from tui.gpu import GpuReading


def title_content(where: str, reading: GpuReading | None, width: int, glyphs: Glyphs, *, read_only: bool) -> Content:
    """`sgltui · HOST  SIMULATED  read-only … driver · GPUs`; the right part gives way first."""
    marks = []
    if reading is not None and reading.simulated:
        marks.append(Content.assemble("  ", (" SIMULATED ", "$ink on $warning bold")))
    if read_only:
        marks.append(Content.assemble("  ", (" read-only ", "$ink on $quiet")))
    taken = sum(mark.cell_length for mark in marks)
    host = glyphs.fit(f" {glyphs.dot} {glyphs.plain(where)}", max(0, width - taken - len(" sgltui ")))
    left = Content.assemble((" sgltui", "bold $primary"), host, *marks)
    right = _facts(reading, glyphs)
    gap = width - left.cell_length - len(right) - 1
    return left if gap < 1 else Content.assemble(left, " " * gap, (right, "$quiet"))


def _facts(reading: GpuReading | None, glyphs: Glyphs) -> str:
    if reading is None or reading.problem is not None:
        return ""
    count = len(reading.gpus)
    parts = [f"driver {glyphs.plain(reading.driver)}"] if reading.driver else []
    return f" {glyphs.dot} ".join([*parts, f"{count} GPU" if count == 1 else f"{count} GPUs"])
