"""Whether the dashboard's memory grows: as many snapshots as 24 hours have, one after the other, without a terminal.

    python bench/screen_hours.py [--snapshots 86400]

Each snapshot has other figures of 8 GPUs and 4 servers, and two lines more in the log that is shown. Resident memory is
compared after a tenth of them and at the end. Goals: no growth that a longer run would carry on (4 MiB), under 120 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tui.app.app import SgltuiApp
from tui.app.messages import SnapshotTaken
from tui.app.widgets.log_panel import LogPanel
from tui.cli.context import Context
from tui.cli.core import LocalCore
from tui.gpu import GpuMemory, GpuReading, GpuSnapshot
from tui.gpu.simulated import SimulatedReader
from tui.keeper.states import State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Instance, Snapshot
from tui.paths import Places
from tui.settings import Settings
from tui.simulator.machine import create_machine

_GROWTH_MIB, _RESIDENT_MB = 4.0, 120.0
_LINE = b"[2026-11-29 08:06:39 TP0] Decode batch, #running-req: 31, gen throughput (token/s): 1312.77, #queue-req: 9\n"
_TOTAL, _RESERVED = 97887 * 2**20, 614 * 2**20


def snapshot(number: int, log: Path) -> Snapshot:
    """What is seen at one second; the memory of an hour ago says nothing of now."""
    source = random.Random(number)  # noqa: S311 - the same figures for the same second
    gpus = tuple(_gpu(index, source) for index in range(8))
    return Snapshot(GpuReading(gpus, "580.159"), tuple(_instance(index, number, log, source) for index in range(4)))


def _gpu(index: int, source: random.Random) -> GpuSnapshot:
    used = source.randrange(_TOTAL - _RESERVED)
    memory = GpuMemory(_TOTAL, used, _TOTAL - used - _RESERVED, _RESERVED)
    percent, celsius, watts = source.randrange(101), source.randrange(40, 80), source.uniform(80, 600)
    return GpuSnapshot(index, f"GPU-{index}", "NVIDIA RTX PRO 6000", memory, percent, celsius, watts)


def _instance(index: int, number: int, log: Path, source: random.Random) -> Instance:
    live = LiveMetrics(
        at=datetime.now(UTC),
        source=Source.LOADS,
        running=source.randrange(9),
        queued=source.randrange(3),
        tokens_per_s=source.uniform(100, 900),
        kv_usage=source.random(),
    )
    return Instance(
        name=f"server-{index}",
        launch=f"20261129T171001Z-{index:04d}",
        state=State.READY,
        attended=True,
        local=True,
        progress=None,
        pid=4000 + index,
        gpus=(f"GPU-{2 * index}", f"GPU-{2 * index + 1}"),
        host="127.0.0.1",
        port=30000 + index,
        started_at=datetime.now(UTC),
        uptime_s=float(number),
        ended_at=None,
        preset=None,
        sglang_version="0.5.23",
        log_path=log,
        members=(),
        memory_bytes=source.randrange(_TOTAL),
        cause=None,
        live=live,
    )


async def live_through(core: LocalCore, log: Path, count: int) -> list[float]:
    """Resident MiB after each hundredth of the snapshots."""
    process, resident = psutil.Process(), []
    app = SgltuiApp(core, where="bench")
    async with app.run_test(size=(160, 48)) as pilot:
        panel = app.screen.query_one(LogPanel)
        with log.open("ab", buffering=0) as file:
            for number in range(count):
                file.write(_LINE * 2)
                app.post_message(SnapshotTaken(snapshot(number, log)))
                panel.refresh_lines()
                await pilot.pause(0)
                if number % max(1, count // 100) == 0:
                    resident.append(process.memory_info().rss / 2**20)
    return resident


class StillCore(LocalCore):
    """Its sampler sees nothing new, so that only our snapshots are shown."""

    still: Snapshot

    def snapshot(self) -> Snapshot:
        """The first one, ever again."""
        return self.still


def main() -> int:
    """Print the memory; status 1 when a goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--snapshots", type=int, default=86_400)
    count = parser.parse_args().snapshots
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        create_machine(folder / "machine")
        places = Places(folder / "state", folder / "config", folder / "machine")
        log = folder / "server.log"
        log.write_bytes(_LINE * 1000)
        core = StillCore(Context(places, Settings(), SimulatedReader(folder / "machine")))
        core.still = snapshot(0, log)
        begun = time.monotonic()
        resident = asyncio.run(live_through(core, log, count))
    growth = resident[-1] - resident[len(resident) // 10]
    most_mb = max(resident) * 2**20 / 1e6
    print(f"{count} snapshots in {time.monotonic() - begun:.0f} s: {resident[0]:.1f} MiB at first,", end=" ")
    print(f"{resident[len(resident) // 10]:.1f} after a tenth, {resident[-1]:.1f} at the end")
    print(f"growth after the first tenth: {growth:.1f} MiB (goal: {_GROWTH_MIB:g})")
    print(f"most: {most_mb:.0f} MB (goal: {_RESIDENT_MB:g})")
    return 0 if growth <= _GROWTH_MIB and most_mb <= _RESIDENT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
