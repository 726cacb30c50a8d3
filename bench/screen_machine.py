"""The machine of `bench/screen.py`: 8 GPUs behind a fake NVML, servers that are real processes, earlier launches."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tui.keeper.identity import ProcessIdentity, identify
from tui.keeper.records import LaunchRecords, format_utc
from tui.keeper.states import State
from tui.launch.directory import create_launch
from tui.launch.records import GivenGpu, LaunchRecord, Machine
from tui.paths import Places

GPUS = 8
_EARLIER = 40
_UP = timedelta(days=3)  # whose uptime changes once an hour
_MODEL = "Qwen/Qwen3.6-27B"
_FLAGS = (
    "--mem-fraction-static 0.8 --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4 --mamba-scheduler-strategy extra_buffer --max-running-requests 8"
)
_GIB = 2**30
_TOTAL, _RESERVED = 97887 * 2**20, 614 * 2**20
_SOURCE = Path(__file__).parents[1] / "tests" / "fake_nvml" / "fake_nvml.c"
_SERVER = Path(__file__).with_name("screen_server.py")
_FAILURE = (
    "[2026-11-29 17:10:40] Scheduler hit an exception: Traceback (most recent call last):\n"
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
)


@dataclass(frozen=True)
class Running:
    """A stand-in server; `gpu` and the next one are its."""

    name: str
    gpu: int
    process: subprocess.Popen[bytes]


class BenchMachine:
    """A machine in a folder.

    Attributes:
        environment: for programs that shall see it.
        log: of the server that is selected first.
    """

    def __init__(self, folder: Path, servers: int) -> None:
        self.folder = folder
        self.places = Places(folder / "state", folder / "config", None)
        self.places.instances.mkdir(parents=True)
        self._control = folder / "nvml-control"
        self.environment = {
            "LD_LIBRARY_PATH": str(_build_nvml(folder)),
            "FAKE_NVML_CONTROL": str(self._control),
            "SGLTUI_STATE_DIR": str(self.places.state),
            "SGLTUI_CONFIG_DIR": str(self.places.config),
        }
        self.servers: list[Running] = []
        self.tell_rate(0)
        for number in range(_EARLIER):
            records = self._launch(f"server-{number % (servers + 2)}", number, gpu=0, port=30000)
            records.end(State.STOPPED, asked=True)
        for number in range(servers):
            self._run(number)
        self._fail(f"server-{servers}")
        self.move_gpus(0)

    @property
    def log(self) -> Path:
        """Of the newest server, which the list begins with."""
        return next((self.places.instances / self.servers[-1].name / "current").glob("server.log"))

    def tell_rate(self, lines_per_s: float) -> None:
        """How many lines each server logs; 0: nothing is asked of any."""
        whole = self.folder / "rate.new"
        whole.write_text(str(lines_per_s))
        whole.replace(self.folder / "rate")

    def move_gpus(self, moment: int) -> None:
        """Other figures of all GPUs; the same ones for the same moment."""
        lines = ["driver 580.159", f"gpus {GPUS}"]
        for gpu in range(GPUS):
            wave = (moment * 7 + gpu * 13) % 20
            used = 60 * _GIB + wave * _GIB // 2
            lines += [
                f"name {gpu} NVIDIA RTX PRO 6000 Blackwell Server Edition",
                f"uuid {gpu} {_uuid(gpu)}",
                f"memory {gpu} {_TOTAL} {used} {_RESERVED}",
                f"utilization {gpu} {80 + wave}",
                f"temperature {gpu} {60 + wave // 2}",
                f"power {gpu} {400_000 + wave * 5_000}",
                f"compute {gpu} {os.getpid()} {_GIB}",
                *(
                    f"compute {gpu} {one.process.pid} {used - _GIB}"
                    for one in self.servers
                    if one.gpu in (gpu, gpu - 1)
                ),
            ]
        whole = self._control.with_suffix(".new")
        whole.write_text("\n".join(lines) + "\n")
        whole.replace(self._control)

    @contextmanager
    def moving(self, period_s: float = 0.5) -> Iterator[None]:
        """While the figures change."""
        ended = threading.Event()

        def move() -> None:
            moment = 0
            while not ended.wait(period_s):
                moment += 1
                self.move_gpus(moment)

        thread = threading.Thread(target=move, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def close(self) -> None:
        """End the servers."""
        for one in self.servers:
            one.process.kill()
            one.process.wait()

    def _launch(self, name: str, number: int, *, gpu: int, port: int) -> LaunchRecords:
        created = datetime.now(UTC) - _UP - timedelta(minutes=_EARLIER - number)
        record = LaunchRecord(
            name=name,
            launch=f"{created:%Y%m%dT%H%M%SZ}-{number:04d}",
            created_at=created,
            argv=["python", "-m", "sglang.launch_server", "--model-path", _MODEL, *_FLAGS.split(), "--tp-size", "2"],
            model=_MODEL,
            host="127.0.0.1",
            port=port,
            gpus=[GivenGpu(index % GPUS, _uuid(index % GPUS), "NVIDIA RTX PRO 6000") for index in (gpu, gpu + 1)],
            mark="no such mark",
            machine=Machine.this(),
            cwd=os.sep,
            sglang_version="0.5.11",
        )
        files = create_launch(self.places, record)
        files.log.write_text("[2026-11-29 17:10:01] server_args=ServerArgs(model_path='m')\n" * 20)
        return LaunchRecords(files)

    def _run(self, number: int) -> None:
        port, gpu = _free_port(), number * 2 % GPUS
        records = self._launch(f"server-{number}", _EARLIER + number, gpu=gpu, port=port)
        with records.files.log.open("ab") as log:
            words = [sys.executable, str(_SERVER), str(self.folder), str(port)]
            process = subprocess.Popen(words, stdout=log, stderr=log)
        keeper, server = _identity(os.getpid()), _identity(process.pid)
        started = {"keeper": keeper.as_json(), "server": server.as_json(), "members": [server.as_json()]}
        records.move(State.STARTING, started_at=format_utc(datetime.now(UTC) - _UP), **started)
        records.move(State.READY, ready_at=format_utc(datetime.now(UTC) - _UP))
        self.servers.append(Running(f"server-{number}", gpu, process))

    def _fail(self, name: str) -> None:
        records = self._launch(name, _EARLIER + 90, gpu=0, port=30000)
        records.files.log.write_text(_FAILURE)
        records.end(State.FAILED, returncode=1)


@contextmanager
def machine(folder: Path, servers: int) -> Iterator[BenchMachine]:
    """A machine whose servers are ended afterwards."""
    one = BenchMachine(folder, servers)
    try:
        time.sleep(0.5)  # until the servers listen
        yield one
    finally:
        one.close()


def can_fake_nvml() -> bool:
    """Whether there is a compiler for it."""
    return shutil.which("gcc") is not None


def _build_nvml(folder: Path) -> Path:
    library = folder / "nvml"
    library.mkdir()
    soname = "libnvidia-ml.so.1"
    options = ["-std=gnu11", "-O2", "-shared", "-fPIC", f"-Wl,-soname,{soname}"]
    subprocess.run(["gcc", *options, "-o", str(library / soname), str(_SOURCE)], check=True)
    return library


def _uuid(gpu: int) -> str:
    return f"GPU-{gpu:08d}-0000-4000-8000-000000000000"


def _identity(pid: int) -> ProcessIdentity:
    found = identify(pid)
    assert found is not None
    return found


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
