"""NvmlReader on the real nvidia-ml-py, over a fake driver library that changes while the reader is open."""

from __future__ import annotations

import os
import pwd
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.nvml import FakeNvml, GpuChild

pytestmark = pytest.mark.needs_gcc

MIB = 1 << 20
NO_SUCH_PID = 4294967295  # above the kernel's limit
FIRST_UUID, SECOND_UUID = "GPU-1b2f6c0a-0000-4000-8000-000000000000", "GPU-00000001-0000-4000-8000-000000000000"
TWO_GPUS = (
    "driver 580.95.05",
    "gpus 2",
    f"uuid 0 {FIRST_UUID}",
    "name 0 NVIDIA H200",
    f"memory 0 {143771 * MIB} {1000 * MIB} {600 * MIB}",
    "utilization 0 87",
    "temperature 0 64",
    "power 0 351250",
    "capability 0 9 0",
    f"compute 0 {NO_SUCH_PID} {900 * MIB}",
    f"memory 1 {97887 * MIB} 0 {614 * MIB}",
)


def read_gpus(child: GpuChild) -> list[dict[str, Any]]:
    reading = child.ask("read")
    assert reading["problem"] is None
    gpus: list[dict[str, Any]] = reading["gpus"]
    return gpus


def read_problem(child: GpuChild) -> str:
    reading = child.ask("read")
    assert reading["gpus"] == []
    return f"{reading['problem']['what']}; {reading['problem']['hint']}"


def test_all_figures_of_two_gpus(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(*TWO_GPUS)
    reading = gpu_child.ask("read")
    assert reading == {
        "driver": "580.95.05",
        "problem": None,
        "simulated": False,
        "gpus": [
            {
                "index": 0,
                "uuid": FIRST_UUID,
                "name": "NVIDIA H200",
                "memory": {
                    "total_bytes": 150754820096,
                    "used_bytes": 1048576000,
                    "free_bytes": 149077098496,
                    "reserved_bytes": 629145600,
                },
                "utilization_percent": 87,
                "temperature_c": 64,
                "power_w": 351.25,
                "capability": [9, 0],
                "processes": [{"pid": NO_SUCH_PID, "used_bytes": 943718400, "user": None, "command": None}],
                "problem": None,
                "problem_since": None,
                "instances": [],
                "shares_host_memory": False,
            },
            {
                "index": 1,
                "uuid": SECOND_UUID,
                "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                "memory": {
                    "total_bytes": 102641958912,
                    "used_bytes": 0,
                    "free_bytes": 101998133248,
                    "reserved_bytes": 643825664,
                },
                "utilization_percent": 0,
                "temperature_c": 30,
                "power_w": 50.0,
                "capability": [12, 0],
                "processes": [],
                "problem": None,
                "problem_since": None,
                "instances": [],
                "shares_host_memory": False,
            },
        ],
    }


@pytest.mark.parametrize("code", [3, 13, 25], ids=["not supported", "function not found", "version mismatch"])
def test_memory_info_version_1_counts_the_reserve_as_used(fake_nvml: FakeNvml, gpu_child: GpuChild, code: int) -> None:
    fake_nvml.tell(f"memory 0 {1000 * MIB} {300 * MIB} {50 * MIB}", f"error nvmlDeviceGetMemoryInfo_v2 {code}")
    assert read_gpus(gpu_child)[0]["memory"] == {
        "total_bytes": 1000 * MIB,
        "used_bytes": 350 * MIB,
        "free_bytes": 650 * MIB,
        "reserved_bytes": None,
    }


def test_a_gpu_that_shares_the_cpus_memory_tells_the_hosts(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell("error nvmlDeviceGetMemoryInfo_v2 3", "error nvmlDeviceGetMemoryInfo 3", "utilization 0 12")
    [gpu] = read_gpus(gpu_child)
    assert (gpu["shares_host_memory"], gpu["utilization_percent"], gpu["problem"]) == (True, 12, None)
    memory, host = gpu["memory"], host_memory()
    assert memory["total_bytes"] == host["MemTotal"]
    assert memory["free_bytes"] == pytest.approx(host["MemAvailable"], rel=0.5)  # others run here, too
    assert memory["used_bytes"] == memory["total_bytes"] - memory["free_bytes"]
    assert memory["reserved_bytes"] is None


def test_memory_that_is_only_not_told_is_not_the_hosts(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell("error nvmlDeviceGetMemoryInfo_v2 21", "error nvmlDeviceGetMemoryInfo 21")
    [gpu] = read_gpus(gpu_child)
    assert (gpu["shares_host_memory"], gpu["memory"], gpu["problem"]) == (False, None, None)


def host_memory() -> dict[str, int]:
    """Bytes, as the kernel tells them."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, *_ in lines}


SPLIT = (
    "name 0 NVIDIA A100-SXM4-40GB",
    f"memory 0 {40960 * MIB} {6000 * MIB} {500 * MIB}",
    "mig 0 0 NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    f"mig_memory 0 0 {20096 * MIB} {6000 * MIB} {20 * MIB}",
    f"mig_compute 0 0 {NO_SUCH_PID} {5900 * MIB}",
    "mig 0 4 NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    f"mig_memory 0 4 {4864 * MIB} 0 {13 * MIB}",
    "mig_uuid 0 4 MIG-5f2e9a33-0000-4000-8000-000000000000",
)


def test_a_split_gpu_tells_its_instances(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(*SPLIT, "gpus 2", "error 0 nvmlDeviceGetComputeRunningProcesses_v3 4")
    split, whole = read_gpus(gpu_child)
    assert (whole["instances"], split["problem"]) == ([], None)
    first, second = split["instances"]
    assert [part["index"] for part in (first, second)] == [0, 4]
    assert [part["name"] for part in (first, second)] == ["MIG 3g.20gb", "MIG 1g.5gb"]
    assert second["uuid"] == "MIG-5f2e9a33-0000-4000-8000-000000000000"
    assert second["memory"] == {
        "total_bytes": 4864 * MIB,
        "used_bytes": 0,
        "free_bytes": 4851 * MIB,
        "reserved_bytes": 13 * MIB,
    }
    holder = {"pid": NO_SUCH_PID, "used_bytes": 5900 * MIB, "user": None, "command": None}
    assert (first["processes"], second["processes"]) == ([holder], [])
    assert split["processes"] == [holder]  # though its own list is refused: that needs rights over the whole of it


def test_an_instance_that_goes_while_it_is_read_is_left_out(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(*SPLIT, "error nvmlDeviceGetMigDeviceHandleByIndex 6")
    [gpu] = read_gpus(gpu_child)
    assert (gpu["instances"], gpu["problem"]) == ([], None)


@pytest.mark.parametrize("function", ["nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount"])
def test_a_driver_without_mig(fake_nvml: FakeNvml, gpu_child: GpuChild, function: str) -> None:
    fake_nvml.tell(*SPLIT, f"error {function} 3")
    [gpu] = read_gpus(gpu_child)
    assert (gpu["instances"], gpu["problem"]) == ([], None)


@pytest.mark.parametrize("code", [3, 13, 21], ids=["not supported", "function not found", "no data"])
@pytest.mark.parametrize(
    ("function", "key"),
    [
        ("nvmlDeviceGetUtilizationRates", "utilization_percent"),
        ("nvmlDeviceGetTemperature", "temperature_c"),
        ("nvmlDeviceGetPowerUsage", "power_w"),
        ("nvmlDeviceGetCudaComputeCapability", "capability"),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "processes"),
    ],
)
def test_a_figure_that_is_not_told_is_unknown(
    fake_nvml: FakeNvml, gpu_child: GpuChild, function: str, key: str, code: int
) -> None:
    fake_nvml.tell(*TWO_GPUS)
    before = read_gpus(gpu_child)[0]
    fake_nvml.tell(*TWO_GPUS, f"error 0 {function} {code}")
    assert before[key]
    assert read_gpus(gpu_child)[0] == {**before, key: [] if key == "processes" else None}


def test_an_unknown_driver_version_is_no_problem(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell("error nvmlSystemGetDriverVersion 3")
    reading = gpu_child.ask("read")
    assert (reading["driver"], reading["problem"], len(reading["gpus"])) == (None, None, 1)


def test_a_process_in_both_lists_is_counted_once(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(
        "compute 0 4294967294 700", "compute 0 4294967293 200", "compute 0 4294967292 unknown",
        "graphics 0 4294967294 700", "graphics 0 4294967292 5", "graphics 0 4294967291 unknown",
        "graphics 0 4294967293 unknown",
    )  # fmt: skip
    processes = read_gpus(gpu_child)[0]["processes"]
    assert [(process["pid"], process["used_bytes"]) for process in processes] == [
        (4294967291, None),
        (4294967292, 5),
        (4294967293, 200),
        (4294967294, 700),
    ]


def test_a_process_list_that_grows_while_it_is_read(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    pids = range(4294967200, 4294967240)  # nvidia-ml-py makes room for 2 * 1 + 5 when it is told of one
    fake_nvml.tell("surge 0 1", *(f"compute 0 {pid} 1" for pid in pids))
    assert [process["pid"] for process in read_gpus(gpu_child)[0]["processes"]] == list(pids)
    assert fake_nvml.count_calls("nvmlDeviceGetComputeRunningProcesses_v3") == 4


def test_a_list_of_processes_that_we_may_not_see_leaves_the_rest(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(*TWO_GPUS, "error 0 nvmlDeviceGetComputeRunningProcesses_v3 4")
    gpu = read_gpus(gpu_child)[0]
    assert (gpu["processes"], gpu["memory"]["used_bytes"], gpu["problem"]) == ([], 1000 * MIB, None)


def test_user_and_command_of_a_process(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(f"compute 0 {gpu_child.pid} {MIB}")
    user = pwd.getpwuid(os.getuid()).pw_name
    assert read_gpus(gpu_child)[0]["processes"] == [
        {"pid": gpu_child.pid, "used_bytes": MIB, "user": user, "command": gpu_child.command}
    ]


def test_figures_change_while_the_reader_is_open(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    for used_mib in (0, 71_000, 12):
        fake_nvml.tell(f"memory 0 {97887 * MIB} {used_mib * MIB} 0")
        assert read_gpus(gpu_child)[0]["memory"]["used_bytes"] == used_mib * MIB
    assert fake_nvml.count_calls("nvmlInitWithFlags") == 1


@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        ("*", 15, "this GPU is lost"),
        ("nvmlDeviceGetUtilizationRates", 15, "this GPU is lost"),
        ("*", 16, "this GPU needs a reset"),
        ("nvmlDeviceGetHandleByIndex_v2", 4, "no permission to read this GPU"),
        ("nvmlDeviceGetMemoryInfo_v2", 999, "can't be read: Unknown Error"),
        ("nvmlDeviceGetComputeRunningProcesses_v3", 999, "can't be read: Unknown Error"),
        ("nvmlDeviceGetMemoryInfo_v2", 77, "can't be read: a fake error"),
        ("nvmlDeviceGetComputeRunningProcesses_v3", 7, "can't be read: Insufficient Size"),
    ],
)
def test_the_problem_of_one_gpu_leaves_the_other(
    fake_nvml: FakeNvml, gpu_child: GpuChild, function: str, code: int, words: str
) -> None:
    fake_nvml.tell(*TWO_GPUS)
    before = read_gpus(gpu_child)
    fake_nvml.tell(*TWO_GPUS, f"error 0 {function} {code}")
    ill, well = read_gpus(gpu_child)
    assert words in ill.pop("problem")
    since = datetime.fromisoformat(ill.pop("problem_since"))
    assert abs((datetime.now(UTC) - since).total_seconds()) < 3600
    assert read_gpus(gpu_child)[0]["problem_since"] == since.isoformat().replace("+00:00", "Z")  # the first time counts
    assert (ill["index"], ill["uuid"], ill["name"]) == (0, FIRST_UUID, "NVIDIA H200")
    assert not any(ill[key] for key in ill.keys() - {"index", "uuid", "name"})
    assert well == before[1]
    fake_nvml.tell(*TWO_GPUS)
    assert read_gpus(gpu_child) == before


def test_a_gpu_that_fell_off_the_bus_keeps_its_row(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell(*TWO_GPUS)
    first, second = read_gpus(gpu_child)
    # Opened again, the driver counts what is left: the second one is the first now.
    fake_nvml.tell("gpus 1", f"uuid 0 {SECOND_UUID}", f"memory 0 {97887 * MIB} 0 {614 * MIB}")
    left, gone = read_gpus(gpu_child)
    assert (left["uuid"], left["problem"]) == (SECOND_UUID, None)
    assert (gone["index"], gone["uuid"], gone["name"], gone["memory"]) == (0, FIRST_UUID, "NVIDIA H200", None)
    assert gone["problem"].startswith("this GPU is gone from the bus: look for Xid")
    assert gone["problem_since"] is not None
    fake_nvml.tell(*TWO_GPUS)
    assert read_gpus(gpu_child) == [first, second]


def test_a_gpu_that_was_never_read_has_a_name_of_its_own(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    fake_nvml.tell("gpus 3", "error 1 * 4", "error 2 * 4")
    assert [gpu["uuid"] for gpu in read_gpus(gpu_child)] == [
        "GPU-00000000-0000-4000-8000-000000000000",
        "unknown-1",
        "unknown-2",
    ]


@pytest.mark.parametrize("code", [1, 15, 16], ids=["uninitialized", "lost", "reset required"])
def test_the_library_is_opened_again_after_a_gpu_was_lost(fake_nvml: FakeNvml, gpu_child: GpuChild, code: int) -> None:
    fake_nvml.tell(*TWO_GPUS, f"error 1 nvmlDeviceGetMemoryInfo_v2 {code}")
    gpu_child.ask("read")
    assert (fake_nvml.count_calls("nvmlInitWithFlags"), fake_nvml.count_calls("nvmlShutdown")) == (1, 0)
    fake_nvml.tell(*TWO_GPUS)
    gpu_child.ask("read")
    assert (fake_nvml.count_calls("nvmlInitWithFlags"), fake_nvml.count_calls("nvmlShutdown")) == (2, 1)
    gpu_child.ask("read")
    assert (fake_nvml.count_calls("nvmlInitWithFlags"), fake_nvml.count_calls("nvmlShutdown")) == (2, 1)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("error nvmlInitWithFlags 9", "the NVIDIA driver is not loaded; load it (`sudo modprobe nvidia`)"),
        ("error nvmlInitWithFlags 18", "the loaded NVIDIA driver and its library have different versions"),
        ("error nvmlInitWithFlags 4", "no permission to talk to the NVIDIA driver; see who may open /dev/nvidiactl"),
        ("error nvmlInitWithFlags 12", "no NVIDIA driver found (libnvidia-ml.so.1 is missing); install the driver"),
        ("error nvmlInitWithFlags 999", "the NVIDIA driver can't be read: Unknown Error; see `nvidia-smi`"),
        ("error nvmlInitWithFlags 77", "the NVIDIA driver can't be read: a fake error; see `nvidia-smi`"),
        ("error nvmlDeviceGetCount_v2 1", "the NVIDIA driver can't be read: Uninitialized"),
        ("error nvmlDeviceGetCount_v2 999", "the NVIDIA driver can't be read: Unknown Error"),
        ("error * 9", "the NVIDIA driver is not loaded"),
        ("gpus 0", "the NVIDIA driver finds no GPU; see `nvidia-smi -L`"),
    ],
)
def test_trouble_is_told_and_the_next_reading_tries_again(
    fake_nvml: FakeNvml, gpu_child: GpuChild, error: str, words: str
) -> None:
    fake_nvml.tell(*TWO_GPUS, error)
    assert words in read_problem(gpu_child)
    assert words in read_problem(gpu_child)
    fake_nvml.tell(*TWO_GPUS)
    assert len(read_gpus(gpu_child)) == 2


GONE = [f"error nvmlDeviceGetCount_v2 {code}" for code in (1, 9, 18, 999)] + ["gpus 0"]


@pytest.mark.parametrize("gone", GONE)
def test_a_driver_that_goes_away_while_the_reader_is_open(fake_nvml: FakeNvml, gpu_child: GpuChild, gone: str) -> None:
    assert len(read_gpus(gpu_child)) == 1
    fake_nvml.tell(gone)
    assert "NVIDIA driver" in read_problem(gpu_child)
    assert fake_nvml.count_calls("nvmlShutdown") == 1  # a library that stays open would go on with what it knew
    fake_nvml.tell("gpus 2")
    assert len(read_gpus(gpu_child)) == 2
    assert fake_nvml.count_calls("nvmlInitWithFlags") == 2


def test_no_library_at_all(fake_nvml: FakeNvml) -> None:
    with GpuChild({**fake_nvml.environment, "LD_LIBRARY_PATH": ""}) as child:
        if child.ask("read")["problem"] is None:
            pytest.skip("this machine has an NVIDIA driver")
        assert read_problem(child) == (
            "no NVIDIA driver found (libnvidia-ml.so.1 is missing); install the driver, or try `sgltui demo`"
        )
        assert child.ask("close") is None


def test_closing_lets_go_and_reading_opens_again(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    gpu_child.ask("close")
    assert fake_nvml.count_calls("nvmlInitWithFlags") == 0
    gpu_child.ask("read")
    gpu_child.ask("close")
    gpu_child.ask("close")
    assert fake_nvml.count_calls("nvmlShutdown") == 1
    assert len(read_gpus(gpu_child)) == 1
    assert fake_nvml.count_calls("nvmlInitWithFlags") == 2


def test_closing_survives_a_driver_that_is_gone(fake_nvml: FakeNvml, gpu_child: GpuChild) -> None:
    gpu_child.ask("read")
    fake_nvml.tell("error * 1")
    gpu_child.ask("close")
    fake_nvml.tell()
    assert len(read_gpus(gpu_child)) == 1
