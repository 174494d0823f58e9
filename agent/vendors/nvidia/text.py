"""Free text of NVIDIA's tools: what it says of devices that no longer answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.notices import notice
from agent.protocol import Check, CheckResult, DeviceFacts, DeviceSample, Notice, Vendor, normal_pci
from agent.vendors.base import EVIDENCE_CHARS, Reading, Readout, device_name
from agent.vendors.nvidia import states

_BUS = re.compile(r"(?<![0-9A-Fa-f])([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?![0-9A-Fa-f])")
_NONE = "No devices were found"
_COMPLAINTS = ("unable to determine the device handle", "gpu is lost", "fallen off the bus", "requires reset")


def parse_lines(captured: str, *, known: Sequence[DeviceFacts] = ()) -> Readout:
    """Devices that a complaint names by bus id; they are broken, not forgotten. `known` ones are left out."""
    seen = {facts.pci_bus_id for facts in known}
    index = len(known)
    readings: list[Reading] = []
    warnings: list[Notice] = []
    for line in captured.splitlines():
        if not any(word in line.lower() for word in _COMPLAINTS):
            continue
        match = _BUS.search(line)
        bus_id = normal_pci(match.group(1)) if match else None
        if bus_id is None or bus_id in seen:
            continue
        seen.add(bus_id)
        readings.append(_broken(bus_id, index + len(readings), line.strip()))
    if _NONE in captured:
        warnings.append(notice("no-devices", tool="nvidia-smi"))
    elif not readings and not known:
        warnings.append(notice("not-recognised"))
    return Readout(vendor=Vendor.NVIDIA, readings=readings, warnings=warnings)


def _broken(bus_id: str, index: int, line: str) -> Reading:
    facts = DeviceFacts(vendor=Vendor.NVIDIA, index=index, pci_bus_id=bus_id)
    result, code = states.judge_text(line) or (CheckResult.FATAL, "lost")
    check = Check(device=device_name(facts), result=result, code=code, evidence=line[:EVIDENCE_CHARS])
    return Reading(facts=facts, sample=DeviceSample(device=device_name(facts)), check=check)
