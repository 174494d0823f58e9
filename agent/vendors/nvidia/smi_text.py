"""`nvidia-smi -q` as text, whole or in parts (`-d`): the same report as the XML, told by indentation."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement

from agent.notices import notice
from agent.protocol import Notice, Vendor
from agent.vendors.base import Readout, to_int
from agent.vendors.nvidia.look import conclude, known, told_apart
from agent.vendors.nvidia.smi_xml import look_of

_GPU = re.compile(
    r"^\s{0,3}GPU ((?:[\dA-FXa-fx*?#]{4,8}:)?[\dA-FXa-fx*?#]{2}:[\dA-FXa-fx*?#]{2}\.[\dXx*?#])\s*$"
)
_HEAD = re.compile(r"^\s{0,3}(Driver Version|Attached GPUs)\s*:\s*(.*?)\s*$", re.MULTILINE)
_PAIR = re.compile(r"^(\s+)(\S[^:]*?)\s*(?::\s*(.*?))?\s*$")
# Labels whose tags in the XML are not the same words, by the block they stand in.
TAGS = {
    ("gpu", "gpu_uuid"): "uuid",
    ("utilization", "gpu"): "gpu_util",
    ("temperature", "gpu_current_temp"): "gpu_temp",
    ("temperature", "gpu"): "gpu_temp",
    ("temperature", "gpu_slowdown_temp"): "gpu_temp_slow_threshold",
    ("ecc_mode", "current"): "current_ecc",
    ("remapped_rows", "remapping_failure_occurred"): "remapped_row_failure",
    ("remapped_rows", "pending"): "remapped_row_pending",
    ("retired_pages", "pending_page_blacklist"): "pending_blacklist",
    ("retired_pages", "pending"): "pending_blacklist",
    ("gpu_power_readings", "instantaneous_power_draw"): "instant_power_draw",
    ("clocks_event_reasons", "hw_thermal_slowdown"): "clocks_event_reason_hw_thermal_slowdown",
    ("clocks_throttle_reasons", "hw_thermal_slowdown"): "clocks_throttle_reason_hw_thermal_slowdown",
    ("process_info", "process_id"): "pid",
    ("process_info", "name"): "process_name",
    ("process_info", "used_gpu_memory"): "used_memory",
}


MEMORY = ("fb_memory_usage", "memory_usage")


def looks_like_report(captured: str) -> bool:
    """Whether some line is a device's heading."""
    return any(_GPU.match(line) for line in captured.splitlines() if "GPU " in line)


def parse_report(captured: str) -> Readout:
    """One device per heading."""
    gpus = _elements(captured)
    heads = dict(_HEAD.findall(captured))
    driver = known(heads.get("Driver Version"))
    attached = to_int(heads.get("Attached GPUs"), low=0, high=1024)
    looks = [
        look_of(gpu, index, memory_due=any(gpu.find(tag) is not None for tag in MEMORY))
        for index, gpu in enumerate(gpus)
    ]
    warnings: list[Notice] = []
    if attached is not None and attached > len(looks):
        missing = attached - len(looks)
        warnings.append(notice("devices-missing", missing=missing, attached=attached, tool="nvidia-smi"))
    readings = [conclude(look, driver) for look in told_apart(looks, numbered=False)]
    return Readout(vendor=Vendor.NVIDIA, driver_version=driver, readings=readings, warnings=warnings)


def _elements(captured: str) -> list[Element]:
    gpus: list[Element] = []
    above: list[tuple[int, Element]] = []
    for line in captured.splitlines():
        start = _GPU.match(line)
        if start:
            gpus.append(Element("gpu", id=start.group(1)))
            above = [(-1, gpus[-1])]
            continue
        pair = _PAIR.match(line.expandtabs(8))
        if not pair:
            if line.strip() and not line[:1].isspace():
                above = []  # another tool's output begins
            continue
        if above:
            _put(above, len(pair.group(1)), pair.group(2), pair.group(3))
    return gpus


def _put(above: list[tuple[int, Element]], indent: int, label: str, value: str | None) -> None:
    while len(above) > 1 and above[-1][0] >= indent:
        above.pop()
    parent = above[-1][1]
    tag = re.sub(r"\W+", "_", label.strip().lower()).strip("_") or "line"
    if parent.tag == "processes" and tag in ("gpu_instance_id", "process_id"):
        parent = _process(parent, tag)
    elif parent.tag == "processes" and len(parent):
        parent = parent[-1]
    elif parent.tag == "pid":  # old reports put a process's lines below its number
        parent = above[-2][1][-1]
    elif tag == "mig_device":
        found = parent.find("mig_devices")
        parent = SubElement(parent, "mig_devices") if found is None else found
    if tag == "hw_thermal_slowdown" and len(above) > 2:
        parent = above[2][1] if parent.tag != "hw_slowdown" else above[-2][1]
    element = SubElement(parent, TAGS.get((str(parent.tag), tag), tag))
    element.text = value
    above.append((indent, element))


def _process(processes: Element, tag: str) -> Element:
    """The entry that a line belongs to: its instance's number comes before the process's, where it is told."""
    if len(processes) and tag == "process_id" and processes[-1].find("pid") is None:
        return processes[-1]
    return SubElement(processes, "process_info")
