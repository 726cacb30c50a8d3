"""Which reader is opened for which machine."""

from __future__ import annotations

from pathlib import Path

from tui.gpu.nvml import NvmlReader
from tui.gpu.open import open_reader
from tui.gpu.simulated import SimulatedReader
from tui.paths import Places


def test_a_simulated_machine_replaces_this_one(tmp_path: Path) -> None:
    reader = open_reader(Places(state=tmp_path, config=tmp_path, simulated=tmp_path))
    assert isinstance(reader, SimulatedReader)
    reader.close()


def test_this_machine(tmp_path: Path) -> None:
    reader = open_reader(Places(state=tmp_path, config=tmp_path))
    assert isinstance(reader, NvmlReader)
    reader.close()
