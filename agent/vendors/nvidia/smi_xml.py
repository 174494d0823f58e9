"""`nvidia-smi -q -x` of all driver generations, also cut off in the middle."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Partition, Vendor, normal_pci
from agent.vendors.base import (
    EVIDENCE_CHARS,
    MOST_MEMORY_MIB,
    MOST_POWER_W,
    Reading,
    Readout,
    device_name,
    to_int,
    to_number,
)
from agent.vendors.nvidia import states, text

POWER_BLOCKS = ("gpu_power_readings", "power_readings")
DRAWS = ("power_draw", "instant_power_draw", "average_power_draw")
LIMITS = ("current_power_limit", "enforced_power_limit", "power_limit")
JUDGED = (
    "product_name",
    "fan_speed",
    "performance_state",
    "fb_memory_usage/total",
    "fb_memory_usage/used",
    "utilization/gpu_util",
    "temperature/gpu_temp",
    *(f"{block}/{draw}" for block in POWER_BLOCKS for draw in DRAWS),
)


def parse_xml(captured: str) -> Readout:
    """All complete `gpu` elements; a device cut off in the middle is left to the warnings, never taken for
    healthy.
    """
    elements, driver, attached, complete = _elements(captured)
    readings = [_reading(element, index, driver) for index, element in enumerate(elements)]
    warnings = [] if complete else [notice("output-damaged", tool="nvidia-smi")]
    if attached is not None and attached > len(readings):
        missing = attached - len(readings)
        warnings.append(notice("devices-missing", missing=missing, attached=attached, tool="nvidia-smi"))
    lost = text.parse_lines(captured, known=[reading.facts for reading in readings])
    return Readout(
        vendor=Vendor.NVIDIA,
        driver_version=driver,
        readings=readings + lost.readings,
        warnings=warnings + lost.warnings if lost.readings else warnings,
    )


def _elements(captured: str) -> tuple[list[Element], str | None, int | None, bool]:
    """(gpu elements, driver version, attached count, whether the document was whole)."""
    parser: Any = ElementTree.XMLPullParser(["end"])
    found: list[Element] = []
    driver: str | None = None
    attached: int | None = None
    complete = False
    start = captured.find("<?xml")
    try:
        parser.feed(captured[max(0, start) :].strip())
        parser.close()
    except ElementTree.ParseError:
        pass
    try:
        for event in parser.read_events():
            element: Element = event[1]
            if element.tag == "gpu":
                found.append(element)
            elif element.tag == "driver_version":
                driver = _known(element.text)
            elif element.tag == "attached_gpus":
                attached = to_int(element.text, low=0, high=1024)
            complete = complete or element.tag == "nvidia_smi_log"
    except ElementTree.ParseError:
        complete = False
    return found, driver, attached, complete


def _reading(gpu: Element, index: int, driver: str | None) -> Reading:
    name = _text(gpu, "product_name")
    facts = DeviceFacts(
        vendor=Vendor.NVIDIA,
        index=index,
        uuid=_known(_text(gpu, "uuid")),
        pci_bus_id=normal_pci(gpu.get("id")) or normal_pci(_text(gpu, "pci/pci_bus_id")),
        model=None if name is None or states.judge_text(name) else name,
        memory_total_mib=_mib(gpu, "fb_memory_usage/total"),
        memory_reserved_mib=_mib(gpu, "fb_memory_usage/reserved"),
        driver_version=driver,
        power_limit_w=_power_limit_w(gpu),
    )
    check = _check(gpu, facts)
    used = _mib(gpu, "fb_memory_usage/used")
    sample = DeviceSample(
        device=device_name(facts),
        memory_used_mib=None if used == 0 and check.result is not CheckResult.OK else used,
        utilization_pct=to_int(_text(gpu, "utilization/gpu_util"), low=0, high=100),
        temperature_c=to_int(_text(gpu, "temperature/gpu_temp"), low=-40, high=200),
        power_mw=_power_mw(gpu),
    )
    return Reading(
        facts=facts,
        sample=sample,
        check=check,
        ecc={"Enabled": True, "Disabled": False}.get(_text(gpu, "ecc_mode/current_ecc") or ""),
        uncorrectable=_uncorrectable(gpu),
        partitions=[_partition(part) for part in gpu.findall("mig_devices/mig_device")],
    )


def _check(gpu: Element, facts: DeviceFacts) -> Check:
    name = device_name(facts)
    for path in JUDGED:
        value = _text(gpu, path) or ""
        judged = states.judge_text(value)
        if judged:
            return Check(
                device=name, result=judged[0], code=judged[1], evidence=f"{path}: {value}"[:EVIDENCE_CHARS]
            )
    if (_text(gpu, "gpu_reset_status/reset_required") or "").lower() == "yes":
        return Check(
            device=name, result=CheckResult.FATAL, code="reset-required", evidence="reset_required: Yes"
        )
    action = _text(gpu, "gpu_recovery_action") or ""
    judged = states.judge_text(action)
    if judged:
        return Check(device=name, result=judged[0], code=judged[1], evidence=f"gpu_recovery_action: {action}")
    if _mib(gpu, "fb_memory_usage/used") is None or facts.memory_total_mib is None:
        return Check(
            device=name, result=CheckResult.UNKNOWN, code="no-reading", evidence="memory use is not reported"
        )
    return Check(device=name, result=CheckResult.OK)


def _partition(part: Element) -> Partition:
    return Partition(
        uuid=_known(_text(part, "uuid")),
        memory_total_mib=_mib(part, "fb_memory_usage/total"),
        memory_used_mib=_mib(part, "fb_memory_usage/used"),
        instance=to_int(_text(part, "gpu_instance_id"), low=0, high=1 << 16),
    )


def _power_mw(gpu: Element) -> int | None:
    for block in POWER_BLOCKS:
        for draw in DRAWS:
            watts = to_number(_text(gpu, f"{block}/{draw}"), low=0, high=MOST_POWER_W)
            if watts is not None:
                return round(watts * 1000)
    return None


def _power_limit_w(gpu: Element) -> int | None:
    for block in POWER_BLOCKS:
        for limit in LIMITS:
            watts = to_int(_text(gpu, f"{block}/{limit}"), low=1, high=MOST_POWER_W)
            if watts is not None:
                return watts
    return None


def _uncorrectable(gpu: Element) -> int | None:
    """Since the driver was loaded: new drivers count by memory kind, old ones in totals."""
    block = gpu.find("ecc_errors/volatile")
    if block is None:
        return None
    texts = [element.text for element in block if "uncorrectable" in element.tag]
    texts += [block.findtext("double_bit/total")]
    counts = [count for value in texts if (count := to_int(value, low=0, high=1 << 50)) is not None]
    return sum(counts) if counts else None


def _mib(element: Element, path: str) -> int | None:
    return to_int(_text(element, path), low=0, high=MOST_MEMORY_MIB)


def _text(element: Element, path: str) -> str | None:
    value = element.findtext(path)
    return value.strip() if value and value.strip() else None


def _known(value: str | None) -> str | None:
    clean = (value or "").strip()
    return clean if clean and not clean.startswith(("N/A", "[")) and not states.judge_text(clean) else None
