"""The GPUs of this machine. The one gate to NVML, the driver's library, through nvidia-ml-py.

Facts about NVML are from its reference (nvml.h): memory info v2 tells `reserved` apart from `used`, v1 counts
it into `used`; power is in mW; `nvmlDeviceGetCount` also counts devices that we may not open. A GPU in MIG mode lists
its instances by an index that has holes; the memory and processes of one are asked of its own handle. A GPU that fell
off the bus is lost while the library stays open, and isn't counted any more once that was opened again: those behind
it have other indices then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pynvml
from msgspec import structs

from tui.gpu import GpuMemory, GpuProblem, GpuProcess, GpuReading, GpuSnapshot
from tui.gpu.processes import describe_process

_TRIES = 3
_MW_PER_W = 1000
# The driver, the GPU or our rights don't offer one figure: it is unknown, and nothing is wrong.
_NOT_TOLD = frozenset(
    {
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_NO_DATA,
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    }
)
# What the library remembers about the driver is no longer true.
_STALE = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_GPU_IS_LOST,
        pynvml.NVML_ERROR_RESET_REQUIRED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
_NO_GPU = GpuProblem(
    "the NVIDIA driver finds no GPU", "see `nvidia-smi -L`; a container or a batch job must ask for GPUs"
)
_PROBLEMS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: GpuProblem(
        "no NVIDIA driver found (libnvidia-ml.so.1 is missing)", "install the driver, or try `sgltui demo`"
    ),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: GpuProblem(
        "the NVIDIA driver is not loaded", "load it (`sudo modprobe nvidia`) or reboot, then see `nvidia-smi`"
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: GpuProblem(
        "no permission to talk to the NVIDIA driver",
        "see who may open /dev/nvidiactl; a container or a batch job must ask for GPUs",
    ),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: GpuProblem(
        "the loaded NVIDIA driver and its library have different versions (it was updated while it ran)",
        "reboot, or stop what uses the GPUs and reload the nvidia kernel modules",
    ),
}
_GPU_PROBLEMS = {
    pynvml.NVML_ERROR_GPU_IS_LOST: "this GPU is lost: look for Xid in `dmesg`, then reboot",
    pynvml.NVML_ERROR_RESET_REQUIRED: "this GPU needs a reset: stop what uses it, then run `nvidia-smi -r`",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission to read this GPU: this job or container wasn't given it",
}
_GONE = "this GPU is gone from the bus: look for Xid in `dmesg`, then reboot"


class NvmlReader:
    """Reads the GPUs through NVML; for one thread at a time.

    The library is opened by the first `read` and again after trouble, so a driver may come and go.
    A call may take long where the driver hangs.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._is_stale = False
        self._identities: dict[int, tuple[str, str]] = {}  # uuid and name, still known when a GPU is lost
        self._known: dict[str, tuple[int, str]] = {}  # by uuid the index and name of each GPU that could ever be read
        self._ill_since: dict[str, datetime] = {}

    def read(self) -> GpuReading:
        """Take a reading now; trouble with the driver or a GPU is part of it, never an exception."""
        try:
            self._open()
            driver = _optional(_ask_text, pynvml.nvmlSystemGetDriverVersion)
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            self.close()
            return GpuReading(problem=_explain(error))
        if count == 0:
            self.close()
            return GpuReading(driver=driver, problem=_NO_GPU)
        found = [self._read_gpu(index) for index in range(count)]
        return GpuReading(tuple(self._dated(gpu) for gpu in (*found, *self._gone(found))), driver)

    def close(self) -> None:
        """Let go of the driver; a later `read` opens it again."""
        if not self._is_open:
            return
        self._is_open = self._is_stale = False
        with contextlib.suppress(pynvml.NVMLError):  # a driver that is gone can't be closed, and needn't be
            pynvml.nvmlShutdown()

    def _open(self) -> None:
        if self._is_stale:
            self.close()
        if not self._is_open:
            pynvml.nvmlInit()
            self._is_open = True

    def _read_gpu(self, index: int) -> GpuSnapshot:
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = _ask_text(pynvml.nvmlDeviceGetUUID, handle)
            name = _ask_text(pynvml.nvmlDeviceGetName, handle)
            self._identities[index] = uuid, name
            snapshot = _read_snapshot(index, uuid, name, handle)
            self._known[uuid] = index, name
        except pynvml.NVMLError as error:
            self._is_stale = self._is_stale or error.value in _STALE
            uuid, name = self._identities.get(index, (f"unknown-{index}", "unknown GPU"))
            problem = _GPU_PROBLEMS.get(error.value, f"this GPU can't be read: {error}; see `nvidia-smi`")
            return GpuSnapshot(index, uuid, name, None, problem=problem)
        return snapshot

    def _gone(self, found: Sequence[GpuSnapshot]) -> Iterator[GpuSnapshot]:
        """GPUs that could be read and aren't counted any more; a person looks for them."""
        seen = {gpu.uuid for gpu in found}
        for uuid, (index, name) in self._known.items():
            if uuid not in seen:
                yield GpuSnapshot(index, uuid, name, None, problem=_GONE)

    def _dated(self, gpu: GpuSnapshot) -> GpuSnapshot:
        """Since when it is ill."""
        if gpu.problem is None:
            self._ill_since.pop(gpu.uuid, None)
            return gpu
        since = self._ill_since.setdefault(gpu.uuid, datetime.now(UTC))
        return structs.replace(gpu, problem_since=since)


def _read_snapshot(index: int, uuid: str, name: str, handle: Any) -> GpuSnapshot:
    memory = _read_memory(handle)
    is_shared = memory is None and _has_no_memory(handle)
    parts = tuple(_read_instances(handle))
    rates = _optional(pynvml.nvmlDeviceGetUtilizationRates, handle)
    power_mw = _optional(pynvml.nvmlDeviceGetPowerUsage, handle)
    return GpuSnapshot(
        index,
        uuid,
        name,
        _read_host_memory() if is_shared else memory,
        utilization_percent=None if rates is None else rates.gpu,
        temperature_c=_optional(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        power_w=None if power_mw is None else power_mw / _MW_PER_W,
        capability=_read_capability(handle),
        processes=_all_processes(_read_processes(handle), parts),
        instances=parts,
        shares_host_memory=is_shared,
    )


def _read_instances(handle: Any) -> Iterator[GpuSnapshot]:
    """The parts of a GPU in MIG mode; none where it isn't."""
    mode = _optional(pynvml.nvmlDeviceGetMigMode, handle)
    if mode is None or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return
    for index in range(_optional(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        with contextlib.suppress(pynvml.NVMLError_NotFound, pynvml.NVMLError_InvalidArgument):
            part = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            name = _ask_text(pynvml.nvmlDeviceGetName, part)
            yield GpuSnapshot(
                index,
                _ask_text(pynvml.nvmlDeviceGetUUID, part),
                f"MIG{name.rpartition('MIG')[2]}",  # of `NVIDIA A100-SXM4-40GB MIG 1g.5gb`: the GPU's name is known
                _read_memory(part),
                capability=_read_capability(handle),
                processes=_read_processes(part),
            )


def _all_processes(own: tuple[GpuProcess, ...], parts: Sequence[GpuSnapshot]) -> tuple[GpuProcess, ...]:
    """Without rights over a split GPU only its parts name processes."""
    found = {process.pid: process for part in parts for process in part.processes}
    for process in own:
        if process.used_bytes is not None or process.pid not in found:
            found[process.pid] = process
    return tuple(found[pid] for pid in sorted(found))


def _has_no_memory(handle: Any) -> bool:
    """GPU and CPU share theirs: the driver answers that memory isn't a thing to ask of it."""
    try:
        pynvml.nvmlDeviceGetMemoryInfo(handle)
    except pynvml.NVMLError as error:
        return bool(error.value == pynvml.NVML_ERROR_NOT_SUPPORTED)
    return False


def _read_host_memory() -> GpuMemory:
    """Free is what programs can get, as SGLang counts it there (0.5.11, srt/utils/common.py:523)."""
    import psutil  # noqa: PLC0415 - few machines need it

    host = psutil.virtual_memory()
    return GpuMemory(host.total, host.total - host.available, host.available, None)


def _read_capability(handle: Any) -> tuple[int, int] | None:
    capability = _optional(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    return None if capability is None else (int(capability[0]), int(capability[1]))


def _read_memory(handle: Any) -> GpuMemory | None:
    """Version 2, else 1; neither answers where GPU and CPU share their memory."""
    memory = _optional(pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2)
    reserved = None if memory is None else memory.reserved
    if memory is None:
        memory = _optional(pynvml.nvmlDeviceGetMemoryInfo, handle)
    return None if memory is None else GpuMemory(memory.total, memory.used, memory.free, reserved)


def _read_processes(handle: Any) -> tuple[GpuProcess, ...]:
    """By pid; one that computes and draws is in both lists, with the same memory."""
    used: dict[int, int | None] = {}
    queries = pynvml.nvmlDeviceGetComputeRunningProcesses_v3, pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3
    for query in queries:
        for process in _optional(_list_processes, query, handle) or ():
            known = [size for size in (used.get(process.pid), process.usedGpuMemory) if size is not None]
            used[process.pid] = max(known, default=None)
    return tuple(GpuProcess(pid, used[pid], *describe_process(pid)) for pid in sorted(used))


def _list_processes(query: Callable[[Any], list[Any]], handle: Any) -> list[Any]:
    """One of a GPU's process lists.

    nvidia-ml-py asks for the length, then for the list, which may have outgrown its room meanwhile.
    The whole list of a GPU in MIG mode needs rights over it; without them no process is told.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(pynvml.NVMLError_InsufficientSize):
            try:
                return query(handle)
            except pynvml.NVMLError_NoPermission:
                return []
    return query(handle)


def _optional(query: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None where there is none to be had."""
    try:
        return query(*arguments)
    except pynvml.NVMLError as error:
        if error.value in _NOT_TOLD:
            return None
        raise


def _explain(error: Any) -> GpuProblem:
    return _PROBLEMS.get(error.value) or GpuProblem(
        f"the NVIDIA driver can't be read: {error}",
        "see `nvidia-smi` and `dmesg`; a container may have lost its GPUs: restart it",
    )


def _ask_text(query: Callable[..., bytes | str], *arguments: Any) -> str:
    """A string from the driver; older releases of nvidia-ml-py return bytes."""
    text = query(*arguments)
    return text.decode(errors="replace") if isinstance(text, bytes) else text
