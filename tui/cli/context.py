"""What every command starts from: the folders, the settings, the GPUs, and ways to print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from tui.gpu import GpuReader
from tui.gpu.open import open_reader
from tui.observe import Observer
from tui.paths import Places, find_places
from tui.settings import Settings, load_settings


class Context(Struct, frozen=True):
    """One run of the command line."""

    places: Places
    settings: Settings
    reader: GpuReader

    @property
    def observer(self) -> Observer:
        """A fresh look at this machine."""
        return Observer(self.places, self.reader)


def open_context(options: argparse.Namespace) -> Context:
    """The context of a command.

    Raises:
        UsageError: the settings file is broken.
    """
    places = find_places(project_presets=getattr(options, "presets", None))
    return Context(places, load_settings(places), open_reader(places))


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest cell, two blanks apart; text from outside loses its control codes."""
    table = [list(header), *([_printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
