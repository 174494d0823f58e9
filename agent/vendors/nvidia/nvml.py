"""NVML: facts, readings, links and checks of the devices that NVIDIA's library sees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pynvml

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Link, Partition, Vendor, normal_pci
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_MEMORY_MIB,
    MOST_POWER_W,
    Reading,
    Readout,
    device_name,
    in_range,
)

T = TypeVar("T")
MOST_NVLINKS = 18
ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
SWITCH = 2  # remote device type of a link that ends in an NVSwitch


class Unavailable(Exception):
    """The library is not here or does not answer at all."""


class Device:
    """One handle; each question may fail for itself, and the first failure that condemns the device is kept."""

    def __init__(self, library: Any, index: int) -> None:
        self._library = library
        self.index = index
        self.errors: list[Exception] = []
        self.handle = self.ask("nvmlDeviceGetHandleByIndex", bare=True)

    def ask(self, function: str, *arguments: Any, bare: bool = False) -> Any:
        """The library's answer, or None where it has none."""
        if not bare and self.handle is None:
            return None
        call = getattr(self._library, function, None)
        if call is None:
            return None
        try:
            return call(self.index) if bare else call(self.handle, *arguments)
        except self._library.NVMLError as error:
            self.errors.append(error)
            return None

    def failed_with(self, *codes: int) -> Exception | None:
        """The first error with one of these codes."""
        return next((error for error in self.errors if getattr(error, "value", None) in codes), None)


def read_all(library: Any = pynvml) -> Readout:
    """All devices; raises Unavailable when the library itself fails."""
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise Unavailable(f"NVML: {error}") from error
    try:
        driver = _as_text(library.nvmlSystemGetDriverVersion())
        devices = [Device(library, index) for index in range(library.nvmlDeviceGetCount())]
        readings = [_reading(library, device, driver) for device in devices]
        links = _links(library, devices, [reading.facts.pci_bus_id for reading in readings])
    except library.NVMLError as error:
        raise Unavailable(f"NVML: {error}") from error
    finally:
        _quietly(library.nvmlShutdown, library)
    warnings = [] if readings else [notice("no-devices", tool="NVML")]
    return Readout(
        vendor=Vendor.NVIDIA, driver_version=driver, readings=readings, links=links, warnings=warnings
    )


def _reading(library: Any, device: Device, driver: str | None) -> Reading:
    memory = device.ask("nvmlDeviceGetMemoryInfo", getattr(library, "nvmlMemory_v2", None)) or device.ask(
        "nvmlDeviceGetMemoryInfo"
    )
    facts = _facts(device, memory, driver)
    check = _check(library, device, facts, memory)
    used = _mib(getattr(memory, "used", None))
    utilization = device.ask("nvmlDeviceGetUtilizationRates")
    sample = DeviceSample(
        device=device_name(facts),
        memory_used_mib=None if used == 0 and check.result is not CheckResult.OK else used,
        utilization_pct=in_range(getattr(utilization, "gpu", None), low=0, high=100),
        temperature_c=in_range(device.ask("nvmlDeviceGetTemperature", 0), low=-40, high=200),
        power_mw=in_range(device.ask("nvmlDeviceGetPowerUsage"), low=0, high=MOST_POWER_W * 1000),
    )
    modes = device.ask("nvmlDeviceGetEccMode")
    return Reading(
        facts=facts,
        sample=sample,
        check=check,
        ecc=None if modes is None else bool(modes[0]),
        uncorrectable=in_range(device.ask("nvmlDeviceGetTotalEccErrors", 1, 0), low=0, high=1 << 50),
        partitions=_partitions(library, device),
    )


def _facts(device: Device, memory: Any, driver: str | None) -> DeviceFacts:
    pci = device.ask("nvmlDeviceGetPciInfo")
    limit = in_range(device.ask("nvmlDeviceGetEnforcedPowerLimit"), low=1, high=MOST_POWER_W * 1000)
    attributes = device.ask("nvmlDeviceGetAttributes")
    return DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=device.index,
        uuid=_as_text(device.ask("nvmlDeviceGetUUID")),
        pci_bus_id=normal_pci(_as_text(getattr(pci, "busId", None))),
        model=_as_text(device.ask("nvmlDeviceGetName")),
        memory_total_mib=_mib(getattr(memory, "total", None)) or None,
        memory_reserved_mib=_mib(getattr(memory, "reserved", None)),
        compute_units=getattr(attributes, "multiprocessorCount", None) or None,
        driver_version=driver,
        power_limit_w=None if limit is None else round(limit / 1000),
    )


def _check(library: Any, device: Device, facts: DeviceFacts, memory: Any) -> Check:
    name = device_name(facts)
    for result, label, codes in (
        (CheckResult.FATAL, "lost", (library.NVML_ERROR_GPU_IS_LOST,)),
        (CheckResult.FATAL, "reset-required", (library.NVML_ERROR_RESET_REQUIRED,)),
        (CheckResult.FAILED, "error-state", (library.NVML_ERROR_UNKNOWN, library.NVML_ERROR_IRQ_ISSUE)),
        (CheckResult.FAILED, "driver-timeout", (library.NVML_ERROR_TIMEOUT,)),
    ):
        error = device.failed_with(*codes)
        if error is not None:
            return Check(device=name, result=result, code=label, evidence=f"NVML: {error}"[:EVIDENCE_CHARS])
    rows = device.ask("nvmlDeviceGetRemappedRows")
    if rows is not None and rows[3]:
        return Check(
            device=name, result=CheckResult.FAILED, code="row-remap-failed", evidence=f"remapped rows {rows}"
        )
    if memory is None:
        evidence = "; ".join(str(error) for error in device.errors[:3]) or "memory use is not reported"
        return Check(
            device=name, result=CheckResult.UNKNOWN, code="no-reading", evidence=evidence[:EVIDENCE_CHARS]
        )
    return Check(device=name, result=CheckResult.OK)


def _partitions(library: Any, device: Device) -> list[Partition]:
    modes = device.ask("nvmlDeviceGetMigMode")
    if not modes or not modes[0]:
        return []
    found = []
    for number in range(device.ask("nvmlDeviceGetMaxMigDeviceCount") or 0):
        handle = device.ask("nvmlDeviceGetMigDeviceHandleByIndex", number)
        if handle is None:
            continue
        memory = _quietly(library.nvmlDeviceGetMemoryInfo, library, handle)
        found.append(
            Partition(
                name=_as_text(_quietly(library.nvmlDeviceGetName, library, handle)),
                uuid=_as_text(_quietly(library.nvmlDeviceGetUUID, library, handle)),
                memory_total_mib=_mib(getattr(memory, "total", None)),
                memory_used_mib=_mib(getattr(memory, "used", None)),
                instance=_quietly(library.nvmlDeviceGetGpuInstanceId, library, handle),
            )
        )
    return found


def _links(library: Any, devices: Sequence[Device], bus_ids: Sequence[str | None]) -> list[Link]:
    lanes, switched = _nvlinks(devices, bus_ids)
    found = []
    for a, b in itertools.combinations(range(len(devices)), 2):
        direct = lanes.get((a, b), 0)
        if direct:
            found.append(Link(a=a, b=b, kind="NV", lanes=direct))
        elif switched.get(a) and switched.get(b):
            found.append(Link(a=a, b=b, kind="NVSWITCH", lanes=min(switched[a], switched[b])))
        elif devices[a].handle is not None and devices[b].handle is not None:
            level = devices[a].ask("nvmlDeviceGetTopologyCommonAncestor", devices[b].handle)
            if level in ANCESTORS:
                found.append(Link(a=a, b=b, kind=ANCESTORS[level]))
    return found


def _nvlinks(
    devices: Sequence[Device], bus_ids: Sequence[str | None]
) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """(active direct links per pair, active links into switches per device)."""
    lanes: dict[tuple[int, int], int] = {}
    switched: dict[int, int] = {}
    place = {bus_id: number for number, bus_id in enumerate(bus_ids) if bus_id}
    for number, device in enumerate(devices):
        for link in range(MOST_NVLINKS):
            if not device.ask("nvmlDeviceGetNvLinkState", link):
                continue
            remote = device.ask("nvmlDeviceGetNvLinkRemotePciInfo", link)
            other = place.get(normal_pci(_as_text(getattr(remote, "busId", None))) or "")
            if other is not None and number < other:
                lanes[number, other] = lanes.get((number, other), 0) + 1
            elif other is None and device.ask("nvmlDeviceGetNvLinkRemoteDeviceType", link) == SWITCH:
                switched[number] = switched.get(number, 0) + 1
    return lanes, switched


def _mib(size_bytes: int | None) -> int | None:
    return in_range(None if size_bytes is None else size_bytes >> 20, low=0, high=MOST_MEMORY_MIB)


def _as_text(value: str | bytes | None) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text.strip("\0 ") or None if text else None


def _quietly(call: Callable[..., T], library: Any, *arguments: Any) -> T | None:
    try:
        return call(*arguments)
    except library.NVMLError:
        return None
