"""What NVML says of one device: facts, figures, slices, processes and the check that follows."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Partition, Vendor, normal_pci
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_MEMORY_MIB,
    MOST_POWER_W,
    Process,
    Reading,
    device_name,
    from_library,
    in_range,
)
from agent.vendors.nvidia import states
from agent.vendors.nvidia.profiles import find_profile, make_partition

UNCORRECTED, VOLATILE, SLOWDOWN, GPU_SENSOR = 1, 0, 1, 0
HW_THERMAL = 0x40
RECOVERY_FIELD = 230
# nvmlDeviceGpuRecoveryAction_t; every other action than none means that no new work may start.
ACTIONS = {
    1: ("reset-required", "GPU Reset"),
    2: ("reset-required", "Node Reboot"),
    3: ("drain-recommended", "Drain P2P"),
    4: ("drain-recommended", "Drain and Reset"),
    6: ("reset-required", "Bus Reset"),
    7: ("reset-required", "System Reboot"),
}
FABRIC_STATES = {1: "Not Started", 2: "In Progress", 3: "Completed"}
# CUDA cores of a multiprocessor by compute capability. Source: CUDA C++ Programming Guide, arithmetic throughput.
CORES = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}
CORES_OF_OTHERS = 128
CORES_OF_KEPLER = 192


class Asked(Protocol):
    """A device that can be asked; see nvml.Device."""

    library: Any
    index: int
    errors: list[Exception]

    def ask(self, function: str, *arguments: Any) -> Any: ...

    def maybe(self, function: str, *arguments: Any, of: Any = None) -> Any: ...

    def failed_with(self, *codes: int) -> Exception | None: ...


def take_reading(device: Asked, driver: str | None) -> Reading:
    """All about one device; what it does not say is unknown."""
    memory = _memory(device)
    facts = _facts(device, memory, driver)
    name = device_name(facts)
    utilization = device.ask("nvmlDeviceGetUtilizationRates")
    used = mib(getattr(memory, "used", None))
    sample = DeviceSample(
        device=name,
        memory_used_mib=used,
        utilization_pct=in_range(getattr(utilization, "gpu", None), low=0, high=100),
        temperature_c=in_range(device.ask("nvmlDeviceGetTemperature", GPU_SENSOR), low=-40, high=200),
        power_mw=in_range(device.ask("nvmlDeviceGetPowerUsage"), low=0, high=MOST_POWER_W * 1000),
    )
    modes = device.maybe("nvmlDeviceGetEccMode")
    count = device.maybe("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE)
    partitions = _partitions(device, facts.model)
    processes = _processes(device)
    check, *others = _checks(device, name, sample, memory)
    if used == 0 and states.is_broken(check):
        sample = DeviceSample(device=name, temperature_c=sample.temperature_c, power_mw=sample.power_mw)
    return Reading(
        facts=facts,
        sample=sample,
        check=check,
        ecc=None if modes is None else bool(modes[0]),
        uncorrectable=in_range(count, low=0, high=1 << 50),
        partitions=partitions,
        processes=processes,
        findings=others,
    )


def mib(size_bytes: int | None) -> int | None:
    """Bytes in MiB; sentinels are unknown."""
    return in_range(None if size_bytes is None else size_bytes >> 20, low=0, high=MOST_MEMORY_MIB)


def _memory(device: Asked, of: Any = None) -> Any:
    version = getattr(device.library, "nvmlMemory_v2", None)
    new = device.maybe("nvmlDeviceGetMemoryInfo", version, of=of) if version is not None else None
    if new is not None:
        return new
    return (
        device.ask("nvmlDeviceGetMemoryInfo")
        if of is None
        else device.maybe("nvmlDeviceGetMemoryInfo", of=of)
    )


def _facts(device: Asked, memory: Any, driver: str | None) -> DeviceFacts:
    pci = device.ask("nvmlDeviceGetPciInfo")
    limit = in_range(device.maybe("nvmlDeviceGetEnforcedPowerLimit"), low=1, high=MOST_POWER_W * 1000)
    return DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=device.index,
        uuid=from_library(device.ask("nvmlDeviceGetUUID")),
        pci_bus_id=normal_pci(from_library(getattr(pci, "busId", None))),
        model=from_library(device.ask("nvmlDeviceGetName")),
        memory_total_mib=mib(getattr(memory, "total", None)) or None,
        memory_reserved_mib=mib(getattr(memory, "reserved", None)),
        compute_units=_multiprocessors(device),
        driver_version=driver,
        power_limit_w=None if limit is None else round(limit / 1000),
    )


def _multiprocessors(device: Asked) -> int | None:
    cores = in_range(device.maybe("nvmlDeviceGetNumGpuCores"), low=1, high=1 << 20)
    capability = device.maybe("nvmlDeviceGetCudaComputeCapability")
    if cores is None or not capability:
        return None
    major, minor = capability
    each = CORES_OF_KEPLER if major == 3 else CORES.get((major, minor), CORES_OF_OTHERS)
    return cores // each or None


def _checks(device: Asked, name: str, sample: DeviceSample, memory: Any) -> list[Check]:
    """All findings, the worst first; never empty."""
    found = [*_conditions(device, sample), *_errors(device)]  # conditions ask, and may add errors
    checks = [
        Check(device=name, result=result, code=code, evidence=evidence[:EVIDENCE_CHARS])
        for result, code, evidence in found
    ]
    if memory is None and not any(states.is_broken(check) for check in checks):
        evidence = "; ".join(str(error) for error in device.errors[:3]) or "memory use is not reported"
        unknown = (CheckResult.UNKNOWN, "no-reading", evidence[:EVIDENCE_CHARS])
        checks.append(Check(name, *unknown))
    ranked = sorted(checks, key=states.severity, reverse=True)
    return ranked or [Check(device=name, result=CheckResult.OK)]


def _errors(device: Asked) -> list[tuple[CheckResult, str, str]]:
    library, found = device.library, []
    for result, code, errors in (
        (CheckResult.FATAL, "lost", (library.NVML_ERROR_GPU_IS_LOST,)),
        (CheckResult.FATAL, "reset-required", (library.NVML_ERROR_RESET_REQUIRED,)),
        (CheckResult.FAILED, "error-state", (library.NVML_ERROR_UNKNOWN, library.NVML_ERROR_IRQ_ISSUE)),
        (CheckResult.FAILED, "driver-timeout", (library.NVML_ERROR_TIMEOUT,)),
    ):
        error = device.failed_with(*errors)
        if error is not None:
            found.append((result, code, f"NVML: {error}"))
    return found


def _conditions(device: Asked, sample: DeviceSample) -> list[tuple[CheckResult, str, str]]:
    """What a device that answers says of its own state."""
    found: list[tuple[str, str]] = []
    rows = device.maybe("nvmlDeviceGetRemappedRows")
    if rows is not None and len(rows) > 3 and rows[3]:
        found.append(("row-remap-failed", f"remapped rows {tuple(rows)}"))
    if rows is not None and len(rows) > 3 and rows[2]:
        found.append(("row-remap-pending", f"remapped rows {tuple(rows)}"))
    if device.maybe("nvmlDeviceGetRetiredPagesPendingStatus") == 1:
        found.append(("page-retirement-pending", "pages wait for a reset to be retired"))
    action = _field(device, RECOVERY_FIELD)
    if action in ACTIONS:
        code, words = ACTIONS[action]
        found.append((code, f"recovery action: {words}"))
    reasons = device.maybe("nvmlDeviceGetCurrentClocksThrottleReasons")
    if isinstance(reasons, int) and reasons & HW_THERMAL:
        found.append(("over-temperature", f"the hardware slows down for heat (clock reasons {reasons:#x})"))
    limit = in_range(device.maybe("nvmlDeviceGetTemperatureThreshold", SLOWDOWN), low=40, high=200)
    if limit is not None and sample.temperature_c is not None and sample.temperature_c >= limit:
        found.append(("over-temperature", f"{sample.temperature_c} C, slows down at {limit} C"))
    found += [*_fabric(device), *_sram(device)]
    return [(states.CODES[code], code, evidence) for code, evidence in dict(reversed(found)).items()]


def _field(device: Asked, number: int) -> int | None:
    values = device.maybe("nvmlDeviceGetFieldValues", [number])
    if not values or getattr(values[0], "nvmlReturn", 1) != 0:
        return None
    return int(values[0].value.uiVal)


def _fabric(device: Asked) -> list[tuple[str, str]]:
    kind = getattr(device.library, "c_nvmlGpuFabricInfoV_t", None)
    version = getattr(device.library, "nvmlGpuFabricInfo_v2", None)
    if kind is None or version is None:
        return []
    info = kind()
    info.version = version
    if device.maybe("nvmlDeviceGetGpuFabricInfoV", ctypes.pointer(info)) is None:
        return []
    state = FABRIC_STATES.get(info.state, "")
    if state == "Completed" and info.status != 0:
        return [("fabric-failed", f"fabric status: NVML error {info.status}")]
    return [("fabric-not-ready", f"fabric state: {state}")] if state in ("Not Started", "In Progress") else []


def _sram(device: Asked) -> list[tuple[str, str]]:
    kind = getattr(device.library, "c_nvmlEccSramErrorStatus_v1_t", None)
    version = getattr(device.library, "nvmlEccSramErrorStatus_v1", None)
    if kind is None or version is None:
        return []
    told = kind()
    told.version = version
    if device.maybe("nvmlDeviceGetSramEccErrorStatus", ctypes.pointer(told)) is None:
        return []
    words = "the driver counted more uncorrectable errors of the SRAM than it bears"
    return [("sram-errors-exceeded", words)] if told.bThresholdExceeded else []


def _partitions(device: Asked, model: str | None) -> list[Partition]:
    modes = device.maybe("nvmlDeviceGetMigMode")
    if not modes or not modes[0]:
        return []
    most = in_range(device.maybe("nvmlDeviceGetMaxMigDeviceCount"), low=0, high=64) or 0
    handles = (device.maybe("nvmlDeviceGetMigDeviceHandleByIndex", number) for number in range(most))
    return [_partition(device, model, handle, most) for handle in handles if handle is not None]


def _partition(device: Asked, model: str | None, handle: Any, most: int) -> Partition:
    memory = _memory(device, of=handle)
    attributes = device.maybe("nvmlDeviceGetAttributes", of=handle)
    taken = in_range(getattr(attributes, "computeInstanceSliceCount", None), low=1, high=most)
    total = mib(getattr(memory, "total", None))
    if total is None and getattr(attributes, "memorySizeMB", None):
        total = in_range(attributes.memorySizeMB, low=1, high=MOST_MEMORY_MIB)
    return make_partition(
        model=model,
        name=find_profile(from_library(device.maybe("nvmlDeviceGetName", of=handle))),
        uuid=from_library(device.maybe("nvmlDeviceGetUUID", of=handle)),
        total_mib=total,
        used_mib=mib(getattr(memory, "used", None)),
        instance=in_range(device.maybe("nvmlDeviceGetGpuInstanceId", of=handle), low=0, high=1 << 16),
        compute_instance=in_range(
            device.maybe("nvmlDeviceGetComputeInstanceId", of=handle), low=0, high=1 << 16
        ),
        compute_milli=taken * 1000 // most if taken and most else None,
    )


def _processes(device: Asked) -> list[Process]:
    found = device.maybe("nvmlDeviceGetComputeRunningProcesses") or []
    return [
        Process(pid=int(process.pid), memory_used_mib=mib(getattr(process, "usedGpuMemory", None)))
        for process in found
    ]
