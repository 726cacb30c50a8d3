"""The keeper's GPU memory readings, from each of their three sources."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.nvml import FakeNvml, GpuChild
from tests.support.waiting import wait_until
from tui.keeper import gpu_memory
from tui.keeper.gpu_memory import GpuMemoryReading, read_gpu_memory, read_simulated, read_within
from tui.keeper.identity import read_stat

MIB = 1 << 20
A, B = "GPU-aaaaaaaa-0000-4000-8000-000000000000", "GPU-bbbbbbbb-0000-4000-8000-000000000000"
FOREIGN = {"gpu": B, "pid": 3321, "user": "bob", "command": "python train.py", "mib": 819}
IDLE = GpuMemoryReading({A: 0, B: 819 * MIB}, {3321: {B: 819 * MIB}})


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A simulated machine of two GPUs, where bob holds memory of the second."""
    gpus = [
        {"index": index, "uuid": uuid, "name": "RTX PRO 6000", "total_mib": 97887, "reserved_mib": 614}
        for index, uuid in enumerate((A, B))
    ]
    content = {"schema": 1, "release": "0.5.11", "driver": "580.159.03", "gpus": gpus, "foreign": [FOREIGN]}
    (tmp_path / "machine.json").write_text(json.dumps(content))
    (tmp_path / "held").mkdir()
    return tmp_path


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def start_ticks(process: subprocess.Popen[bytes]) -> int:
    stat = read_stat(process.pid)
    assert stat
    return stat.start_ticks


def hold(machine: Path, name: str, **held: int) -> None:
    (machine / "held" / name).write_text(json.dumps({{"a": A, "b": B}[gpu]: size for gpu, size in held.items()}))


def test_what_a_living_process_holds(machine: Path, process: subprocess.Popen[bytes]) -> None:
    hold(machine, f"{process.pid}-{start_ticks(process)}.json", a=7 * MIB, b=5)
    assert read_simulated(machine) == GpuMemoryReading(
        {A: 7 * MIB, B: 819 * MIB + 5}, {3321: {B: 819 * MIB}, process.pid: {A: 7 * MIB, B: 5}}
    )
    assert read_gpu_memory(machine) == read_simulated(machine)


def test_a_dead_process_holds_nothing(machine: Path, process: subprocess.Popen[bytes]) -> None:
    hold(machine, f"{process.pid}-{start_ticks(process)}.json", a=7 * MIB)
    process.kill()
    wait_until(lambda: (stat := read_stat(process.pid)) and stat.is_dead, what="a zombie")
    assert read_simulated(machine) == IDLE
    process.wait()
    assert read_simulated(machine) == IDLE


def test_another_process_with_a_recycled_pid_holds_nothing(machine: Path, process: subprocess.Popen[bytes]) -> None:
    hold(machine, f"{process.pid}-{start_ticks(process) - 1}.json", a=7 * MIB)
    assert read_simulated(machine) == IDLE


def test_a_ghost_holds_memory_without_a_process(machine: Path) -> None:
    hold(machine, "ghost-4711.json", a=3 * MIB)
    hold(machine, "ghost-driver-leak.json", a=MIB, b=MIB)
    assert read_simulated(machine) == GpuMemoryReading({A: 4 * MIB, B: 820 * MIB}, {3321: {B: 819 * MIB}})


@pytest.mark.parametrize("content", ["", '{"GPU-aa'])
def test_a_file_that_is_not_whole_is_skipped(machine: Path, content: str) -> None:
    (machine / "held" / "ghost-1.json").write_text(content)
    (machine / "held" / "ghost-2.json").symlink_to(machine / "gone.json")  # listed, but not there to be read
    (machine / "held" / "notes.json").write_text(json.dumps({A: 1}))
    assert read_simulated(machine) == IDLE


def test_nobody_holds_anything_yet(machine: Path) -> None:
    (machine / "held").rmdir()
    assert read_simulated(machine) == IDLE


@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_a_broken_simulated_machine_cannot_be_read(machine: Path, content: str | None) -> None:
    (machine / "machine.json").unlink()
    if content is not None:
        (machine / "machine.json").write_text(content)
    assert read_gpu_memory(machine) is None
    with pytest.raises((OSError, ValueError, KeyError)):
        read_simulated(machine)


@pytest.mark.needs_gcc
def test_nvml_is_opened_and_closed_for_each_reading(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(
        "gpus 2", f"uuid 0 {A}", f"uuid 1 {B}", f"memory 0 {900 * MIB} {500 * MIB} {60 * MIB}",
        "compute 0 4242 1000", "graphics 0 4242 1000", "graphics 0 4243 20", "compute 0 4244 unknown",
        "compute 1 4242 7",
    )  # fmt: skip
    expected = {
        "used_bytes": {A: 500 * MIB, B: 0},
        "by_process": {"4242": {A: 1000, B: 7}, "4243": {A: 20}},
    }
    assert [gpu_child.ask("memory"), gpu_child.ask("memory")] == [expected, expected]
    assert (fake_nvml.count_calls("nvmlInitWithFlags"), fake_nvml.count_calls("nvmlShutdown")) == (2, 2)


@pytest.mark.needs_gcc
def test_nvml_with_an_old_driver_and_a_lost_gpu(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(
        "gpus 2", f"uuid 0 {A}", f"memory 0 {900 * MIB} {500 * MIB} {60 * MIB}", "compute 0 4242 1000",
        "error 0 nvmlDeviceGetMemoryInfo_v2 13", "error 0 nvmlDeviceGetGraphicsRunningProcesses_v3 3", "error 1 * 15",
    )  # fmt: skip
    assert gpu_child.ask("memory") == {"used_bytes": {A: 560 * MIB}, "by_process": {"4242": {A: 1000}}}


@pytest.mark.needs_gcc
def test_nvml_lists_only_the_processes_that_draw(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(f"uuid 0 {A}", "graphics 0 4242 9", "error nvmlDeviceGetComputeRunningProcesses_v3 4")
    assert gpu_child.ask("memory") == {"used_bytes": {A: 0}, "by_process": {"4242": {A: 9}}}


@pytest.mark.needs_gcc
@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2"])
def test_nvml_fails_and_there_is_no_nvidia_smi(fake_nvml: FakeNvml, function: str, tmp_path: Path) -> None:
    fake_nvml.tell(f"error {function} 9")
    with GpuChild({**fake_nvml.environment, "PATH": str(tmp_path)}) as child:
        assert child.ask("memory") is None
        fake_nvml.tell(f"uuid 0 {A}")
        assert child.ask("memory") == {"used_bytes": {A: 0}, "by_process": {}}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, for a keeper whose Python has no nvidia-ml-py."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_nvidia_smi(programs: Path, gpus: str, processes: str, status: int = 0) -> None:
    """A program that answers the two queries; anything else it is asked is an error."""
    script = f"""#!{shutil.which("sh", path="/bin:/usr/bin")}
[ "$2" = --format=csv,noheader,nounits ] && [ $# = 2 ] || exit 2
case "$1" in
  --query-gpu=uuid,memory.used) printf '%b' '{gpus}';;
  --query-compute-apps=gpu_uuid,pid,used_memory) printf '%b' '{processes}'; exit {status};;
  *) exit 2;;
esac
"""
    (programs / "nvidia-smi").write_text(script)
    (programs / "nvidia-smi").chmod(0o755)


def test_nvidia_smi_where_nvidia_ml_py_is_missing(programs: Path) -> None:
    write_nvidia_smi(
        programs,
        f"{A}, 71123\\n{B}, [N/A]\\n",
        f"{A}, 4242, 70000\\n{B}, 4242, 30\\n{A}, 4243, [N/A]\\n{B}, [N/A], 5\\n",
    )
    assert read_gpu_memory(None) == GpuMemoryReading({A: 71123 * MIB}, {4242: {A: 70000 * MIB, B: 30 * MIB}})


def test_nvidia_smi_without_processes(programs: Path) -> None:
    write_nvidia_smi(programs, f"{A}, 0\\n", "")
    assert read_gpu_memory(None) == GpuMemoryReading({A: 0}, {})


def test_nvidia_smi_that_cannot_list_processes(programs: Path) -> None:
    write_nvidia_smi(programs, f"{A}, 3\\n", f"{A}, 4242, 3\\n", status=3)
    assert read_gpu_memory(None) == GpuMemoryReading({A: 3 * MIB}, {})


def test_nvidia_smi_fails(programs: Path) -> None:
    (programs / "nvidia-smi").write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    (programs / "nvidia-smi").chmod(0o755)
    assert read_gpu_memory(None) is None


@pytest.mark.usefixtures("programs")
def test_nothing_to_read_with() -> None:
    assert read_gpu_memory(None) is None


def test_a_keeper_whose_own_python_is_gone_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "removed by an update"))
    assert read_within(5.0, None) is None


def test_while_one_reader_hangs_in_the_driver_no_other_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE))
        return started[-1]

    monkeypatch.setattr(gpu_memory, "_start_reader", start)
    kill = subprocess.Popen.kill
    monkeypatch.setattr(subprocess.Popen, "kill", lambda _: None)  # as of a process that waits for the driver
    assert [read_within(0.01, None) for _ in range(3)] == [None] * 3
    assert len(started) == 1
    started[0].returncode = None
    kill(started[0])
    started[0].wait()
    monkeypatch.undo()
    monkeypatch.setattr(gpu_memory, "_start_reader", start)
    read_within(0.01, None)
    assert len(started) == 2, "the driver has let go of it"
    started[1].returncode = None
    started[1].wait()
