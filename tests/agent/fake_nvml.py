"""A made-up NVML: as an object in tests, and as the module `pynvml` in a probe's own process (see fakes/)."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

GIB, MIB = 1 << 30, 1 << 20
NOT_SUPPORTED, TIMEOUT, LOST, RESET_REQUIRED, UNKNOWN = 3, 10, 15, 16, 999


class NVMLError(Exception):
    """An error of the library."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class FabricInfo(ctypes.Structure):
    """As the library's, as far as it is read."""

    _fields_ = [("version", ctypes.c_uint), ("status", ctypes.c_uint), ("state", ctypes.c_uint)]


class SramStatus(ctypes.Structure):
    """As the library's, as far as it is read."""

    _fields_ = [("version", ctypes.c_uint), ("bThresholdExceeded", ctypes.c_uint)]


@dataclass
class Slice:
    """A MIG slice."""

    instance: int
    compute: int
    total_mib: int
    used_mib: int = 10
    slices: int = 1
    name: str = "1g.10gb"


@dataclass
class Gpu:
    """One device; `broken` is the error of every question, `errors` that of single ones; one that hangs never ends."""

    number: int
    total: int = 24 * GIB
    used: int = 1 * GIB
    util: int = 55
    temperature: int = 44
    slowdown: int | None = 95
    ecc: int = 0
    action: int = 0
    clocks: int = 0
    fabric: tuple[int, int] | None = None
    sram_exceeded: int = 0
    remap_failed: int = 0
    remap_pending: int = 0
    pages_pending: int = 0
    broken: int | None = None
    handle_error: int | None = None
    errors: dict[str, int] = field(default_factory=dict)
    hangs: bool = False
    mig: list[Slice] | None = None
    processes: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def bus_id(self) -> str:
        return f"00000000:{0x3B + self.number:02X}:00.0"


class FakeNvml:
    """Two GPUs joined by two NVLinks, unless told otherwise."""

    NVMLError = NVMLError
    NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED = LOST, RESET_REQUIRED
    NVML_ERROR_UNKNOWN, NVML_ERROR_IRQ_ISSUE, NVML_ERROR_TIMEOUT = UNKNOWN, 11, TIMEOUT
    nvmlMemory_v2 = 2
    c_nvmlGpuFabricInfoV_t = FabricInfo
    nvmlGpuFabricInfo_v2 = 2
    c_nvmlEccSramErrorStatus_v1_t = SramStatus
    nvmlEccSramErrorStatus_v1 = 1

    def __init__(self, *gpus: Gpu, init: int | None = None) -> None:
        self.gpus = list(gpus) or [Gpu(0), Gpu(1)]
        self.init = init
        self.shut_down = 0

    def nvmlInit(self) -> None:
        if self.init is not None:
            raise NVMLError(self.init)

    def nvmlShutdown(self) -> None:
        self.shut_down += 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"999.1"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:
        gpu = self.gpus[index]
        if gpu.handle_error is not None:
            raise NVMLError(gpu.handle_error)
        return gpu

    def _answer(self, gpu: Gpu, function: str, value: Any) -> Any:
        if gpu.hangs:
            threading.Event().wait()
        error = gpu.errors.get(function, gpu.broken)
        if error is not None:
            raise NVMLError(error)
        if value is None:
            raise NVMLError(NOT_SUPPORTED)
        return value

    def nvmlDeviceGetPciInfo(self, gpu: Gpu) -> Any:
        return SimpleNamespace(busId=gpu.bus_id)

    def nvmlDeviceGetUUID(self, gpu: Gpu | Slice) -> str:
        return f"GPU-{gpu.number}" if isinstance(gpu, Gpu) else f"MIG-{gpu.instance}-{gpu.compute}"

    def nvmlDeviceGetName(self, gpu: Gpu | Slice) -> str:
        return "Imaginary" if isinstance(gpu, Gpu) else f"Imaginary MIG {gpu.name}"

    def nvmlDeviceGetMemoryInfo(self, gpu: Gpu | Slice, version: int | None = None) -> Any:
        if isinstance(gpu, Slice):
            return SimpleNamespace(total=gpu.total_mib * MIB, used=gpu.used_mib * MIB, reserved=0)
        memory = SimpleNamespace(total=gpu.total, used=gpu.used, reserved=400 * MIB)
        return self._answer(gpu, "memory", memory)

    def nvmlDeviceGetUtilizationRates(self, gpu: Gpu) -> Any:
        return self._answer(gpu, "utilization", SimpleNamespace(gpu=gpu.util))

    def nvmlDeviceGetTemperature(self, gpu: Gpu, sensor: int) -> int:
        return int(self._answer(gpu, "temperature", gpu.temperature))

    def nvmlDeviceGetTemperatureThreshold(self, gpu: Gpu, kind: int) -> int:
        return int(self._answer(gpu, "threshold", gpu.slowdown))

    def nvmlDeviceGetPowerUsage(self, gpu: Gpu) -> int:
        return int(self._answer(gpu, "power", 70_500))

    def nvmlDeviceGetTotalEccErrors(self, gpu: Gpu, kind: int, counter: int) -> int:
        return int(self._answer(gpu, "ecc", gpu.ecc))

    def nvmlDeviceGetRemappedRows(self, gpu: Gpu) -> tuple[int, int, int, int]:
        rows: tuple[int, int, int, int] = self._answer(
            gpu, "rows", (0, 0, gpu.remap_pending, gpu.remap_failed)
        )
        return rows

    def nvmlDeviceGetRetiredPagesPendingStatus(self, gpu: Gpu) -> int:
        return int(self._answer(gpu, "pages", gpu.pages_pending))

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: Gpu) -> int:
        return int(self._answer(gpu, "clocks", gpu.clocks))

    def nvmlDeviceGetFieldValues(self, gpu: Gpu, fields: list[int]) -> list[Any]:
        value = SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=gpu.action))
        answer: list[Any] = self._answer(gpu, "field", [value])
        return answer

    def nvmlDeviceGetGpuFabricInfoV(self, gpu: Gpu, info: Any) -> int:
        state, status = self._answer(gpu, "fabric", gpu.fabric)
        info.contents.state, info.contents.status = state, status
        return 0

    def nvmlDeviceGetSramEccErrorStatus(self, gpu: Gpu, told: Any) -> int:
        told.contents.bThresholdExceeded = self._answer(gpu, "sram", gpu.sram_exceeded)
        return 0

    def nvmlDeviceGetMigMode(self, gpu: Gpu) -> tuple[int, int]:
        mode: tuple[int, int] = self._answer(gpu, "mig", None if gpu.mig is None else (1, 1))
        return mode

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: Gpu) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: Gpu, number: int) -> Slice:
        assert gpu.mig is not None
        if number >= len(gpu.mig):
            raise NVMLError(6)
        return gpu.mig[number]

    def nvmlDeviceGetAttributes(self, part: Slice) -> Any:
        return SimpleNamespace(computeInstanceSliceCount=part.slices, memorySizeMB=part.total_mib)

    def nvmlDeviceGetGpuInstanceId(self, part: Slice) -> int:
        return part.instance

    def nvmlDeviceGetComputeInstanceId(self, part: Slice) -> int:
        return part.compute

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: Gpu) -> list[Any]:
        found = [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in gpu.processes]
        answer: list[Any] = self._answer(gpu, "processes", found)
        return answer

    def nvmlDeviceGetNumGpuCores(self, gpu: Gpu) -> int:
        return int(self._answer(gpu, "cores", 10_496))

    def nvmlDeviceGetCudaComputeCapability(self, gpu: Gpu) -> tuple[int, int]:
        capability: tuple[int, int] = self._answer(gpu, "capability", (8, 6))
        return capability

    def nvmlDeviceGetNvLinkState(self, gpu: Gpu, link: int) -> int:
        return int(self._answer(gpu, "nvlink", 1 if link < 2 else None))

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: Gpu, link: int) -> Any:
        return SimpleNamespace(busId=Gpu(1 - gpu.number).bus_id.encode())

    def nvmlDeviceGetTopologyCommonAncestor(self, a: Gpu, b: Gpu) -> int:
        return 50
