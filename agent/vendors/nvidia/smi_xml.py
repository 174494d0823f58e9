"""`nvidia-smi -q -x` of all driver generations, also cut off in the middle."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agent.notices import notice
from agent.protocol import Notice, Partition, Vendor
from agent.vendors.base import Process, Readout, to_int, to_mib
from agent.vendors.nvidia import states
from agent.vendors.nvidia.look import Look, conclude, identity, known, to_count, told, told_apart
from agent.vendors.nvidia.profiles import make_partition, virtual_partition

POWER_BLOCKS = ("gpu_power_readings", "power_readings")
DRAWS = ("power_draw", "instant_power_draw", "average_power_draw")
LIMITS = ("current_power_limit", "enforced_power_limit", "power_limit")
# Below these tags stand names and numbers of others, in which no trouble of the device shows.
UNJUDGED = frozenset(
    {
        "processes",
        "gpu_recovery_action",
        "accounted_processes",
        "supported_clocks",
        "product_name",
        "serial",
        "uuid",
        "mig_devices",
        "vm_name",
    }
)
_THERMAL = re.compile(r"^clocks_(?:event|throttle)_reason_hw_thermal_slowdown$")
_FEED_CHARS = 1 << 16
_UNXML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def looks_like_xml(captured: str) -> bool:
    """Whether this is the log as XML, or a piece of it."""
    return "<nvidia_smi_log" in captured or "<gpu " in captured or "</gpu>" in captured


def parse_xml(captured: str) -> Readout:
    """All complete `gpu` elements; a device cut off in the middle is unknown, never taken for healthy."""
    found = _Document()
    found.read(captured)
    looks = [look_of(element, index, cut=index in found.cut) for index, element in enumerate(found.gpus)]
    warnings: list[Notice] = [] if found.complete else [notice("output-damaged", tool="nvidia-smi")]
    attached = found.attached
    if attached is not None and attached > len(looks):
        missing = attached - len(looks)
        warnings.append(notice("devices-missing", missing=missing, attached=attached, tool="nvidia-smi"))
    return Readout(
        vendor=Vendor.NVIDIA,
        driver_version=found.driver,
        readings=[conclude(look, found.driver) for look in told_apart(looks, numbered=False)],
        warnings=warnings,
    )


class _Document:
    """What was read of a document until its end or its first fault: devices in the order of their starts, and the
    numbers of those that are not whole.
    """

    def __init__(self) -> None:
        self.gpus: list[Element] = []
        self.cut: set[int] = set()
        self.driver: str | None = None
        self.attached: int | None = None
        self.complete = False
        self._open: list[int] = []
        self._last: int | None = None
        self._tags: set[str] = set()

    def read(self, captured: str) -> None:
        """Bit by bit, since an element's start is only told for what was fed before the fault."""
        start = max(0, _start(captured))
        text = _UNXML.sub("\ufffd", _without_clocks(captured[start:]))
        parser: Any = ElementTree.XMLPullParser(["start", "end"])
        try:
            for at in range(0, len(text), _FEED_CHARS):
                parser.feed(text[at : at + _FEED_CHARS])
                self._take(parser)
        except ElementTree.ParseError:
            self._take(parser)
        self.cut.update(self._open)
        if not self.complete and not self._open and self._last is not None:
            self.cut.add(self._last)  # its end may have stood too early

    def _take(self, parser: Any) -> None:
        try:
            for event, element in parser.read_events():
                self._see(event, element)
        except ElementTree.ParseError:
            return

    def _see(self, event: str, element: Element) -> None:
        if element.tag == "gpu":
            if event == "start":
                self._begin(element)
            elif self._open:
                self._last = self._open.pop()
                self._tags.update(str(child.tag) for child in element)
        elif event == "end" and not self._open:
            self._head(element)

    def _begin(self, element: Element) -> None:
        if self._open:  # a device inside of a device: neither is whole
            self.cut.update((*self._open, len(self.gpus)))
        self._open.append(len(self.gpus))
        self.gpus.append(element)

    def _head(self, element: Element) -> None:
        if element.tag == "driver_version":
            self.driver = known(element.text)
        elif element.tag == "attached_gpus":
            self.attached = to_int(element.text, low=0, high=1024)
        elif element.tag == "nvidia_smi_log":
            self.complete = True
        elif element.tag in self._tags and self._last is not None:
            self.cut.add(self._last)  # a device's own element after its end


def _without_clocks(document: str) -> str:
    """The document without the lists of supported clocks, which say nothing of a device's state; some drivers write
    them with ends that have no beginnings.
    """
    kept: list[str] = []
    position = 0
    while (begin := document.find("<supported_clocks>", position)) >= 0:
        end = document.find("</supported_clocks>", begin)
        inner = document[begin + 1 : end]
        if end < 0 or "<supported_clocks>" in inner or "gpu>" in inner or "<gpu " in inner:
            break
        kept.append(document[position:begin])
        position = end + len("</supported_clocks>")
    return "".join([*kept, document[position:]])


def outside(captured: str) -> str:
    """What stands before and after the document."""
    end = captured.rfind("</nvidia_smi_log>")
    return captured[: _start(captured)] + (captured[end:].partition(">")[2] if end >= 0 else "")


def _start(captured: str) -> int:
    found = [at for mark in ("<?xml", "<nvidia_smi_log", "<gpu ") if (at := captured.find(mark)) >= 0]
    return min(found, default=0)


def look_of(gpu: Element, index: int, *, cut: bool = False, memory_due: bool = True) -> Look:
    """What a `gpu` element prints about its device."""
    model = _text(gpu, "product_name")
    tlimit = _text(gpu, "temperature/gpu_temp_slow_threshold")
    return Look(
        index=index,
        uuid=_text(gpu, "uuid"),
        bus_id=gpu.get("id") or _text(gpu, "pci/pci_bus_id"),
        name=model,
        total=_text(gpu, "fb_memory_usage/total") or _text(gpu, "memory_usage/total"),
        used=_text(gpu, "fb_memory_usage/used") or _text(gpu, "memory_usage/used"),
        reserved=_text(gpu, "fb_memory_usage/reserved"),
        utilization=_text(gpu, "utilization/gpu_util"),
        temperature=_text(gpu, "temperature/gpu_temp"),
        slowdown_at=tlimit,
        draws=_power(gpu, DRAWS),
        limits=_power(gpu, LIMITS),
        ecc=_text(gpu, "ecc_mode/current_ecc"),
        uncorrectable=_uncorrectable(gpu),
        words=(("gpu", gpu.text or ""), *_words(gpu)),
        found=tuple(_found(gpu)),
        memory_due=memory_due,
        cut=cut,
        partitions=(
            *(_partition(part, model) for part in gpu.findall("mig_devices/mig_device")),
            *(_virtual(part) for part in gpu.findall("vgpu_id")),
        ),
        processes=tuple(_processes(gpu)),
    )


def _words(element: Element, path: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """Texts of all leaves in which trouble may show, with their paths."""
    found: list[tuple[str, str]] = []
    for child in element:
        if child.tag in UNJUDGED or depth > 8:
            continue
        name = f"{path}/{child.tag}" if path else str(child.tag)
        text = (child.text or "").strip()
        if text:
            found.append((name, text))
        found += _words(child, name, depth + 1)
        if (child.tail or "").strip():
            found.append((name, (child.tail or "").strip()))
    return found


def _found(gpu: Element) -> list[tuple[str, str]]:
    found = []
    for code, path in (
        ("reset-required", "gpu_reset_status/reset_required"),
        ("drain-recommended", "gpu_reset_status/drain_and_reset_recommended"),
        ("row-remap-failed", "remapped_rows/remapped_row_failure"),
        ("sram-errors-exceeded", "ecc_errors/aggregate/sram_threshold_exceeded"),
        ("row-remap-pending", "remapped_rows/remapped_row_pending"),
        ("page-retirement-pending", "retired_pages/pending_blacklist"),
        ("page-retirement-pending", "retired_pages/pending_retirement"),
    ):
        if (_text(gpu, path) or "").lower() == "yes":
            found.append((code, f"{path}: Yes"))
    for reasons in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for reason in gpu.findall(f"{reasons}//*"):
            if _THERMAL.match(str(reason.tag)) and (reason.text or "").strip() == "Active":
                found.append(("over-temperature", f"{reason.tag}: Active"))
    found += action_findings(_text(gpu, "gpu_recovery_action"))
    found += _fabric_health(gpu)
    return found + fabric_findings(_text(gpu, "fabric/state"), _text(gpu, "fabric/status"))


def action_findings(action: str | None) -> list[tuple[str, str]]:
    """What a recovery action means; drivers write `Reset` as well as `GPU Reset`."""
    code = states.judge_action(action or "")
    return [(code, f"recovery action: {action}")] if code else []


def _fabric_health(gpu: Element) -> list[tuple[str, str]]:
    """What newer drivers tell of a device's links to the fabric."""
    found = []
    for name, bad in (
        ("bandwidth", "degraded"),
        ("route_unhealthy", "true"),
        ("access_timeout_recovery", "true"),
        ("summary", "unhealthy"),
    ):
        word = _text(gpu, f"fabric/health/{name}") or ""
        if word.lower() == bad:
            found.append(("fabric-failed", f"fabric {name}: {word}"))
    return found


def fabric_findings(state: str | None, status: str | None) -> list[tuple[str, str]]:
    """What the state of a switch fabric means; devices without one say N/A or Not Supported."""
    state, status = (state or "").strip(), (status or "").strip()
    if state.lower() in ("in progress", "not started"):
        return [("fabric-not-ready", f"fabric state: {state}")]
    if state.lower() == "completed" and status.lower() not in ("success", "n/a", "[n/a]", ""):
        return [("fabric-failed", f"fabric status: {status}")]
    return []


def _partition(part: Element, model: str | None) -> Partition:
    return make_partition(
        model=known(model),
        uuid=identity(_text(part, "uuid")),
        total_mib=to_mib(_text(part, "fb_memory_usage/total")),
        used_mib=to_mib(_text(part, "fb_memory_usage/used")),
        instance=to_int(_text(part, "gpu_instance_id"), low=0, high=1 << 16),
        compute_instance=to_int(_text(part, "compute_instance_id"), low=0, high=1 << 16),
        multiprocessors=to_int(
            _text(part, "device_attributes/shared/multiprocessor_count"), low=1, high=1 << 12
        ),
    )


def _virtual(part: Element) -> Partition:
    """A share of which only `nvidia-smi vgpu -q` tells."""
    return virtual_partition(
        known(_text(part, "vgpu_name")),
        number=to_int(part.text, low=0, high=1 << 32),
        uuid=identity(_text(part, "vgpu_uuid")),
        total_mib=to_mib(_text(part, "fb_memory_usage/total")),
        used_mib=to_mib(_text(part, "fb_memory_usage/used")),
    )


def _processes(gpu: Element) -> list[Process]:
    found = []
    for process in gpu.findall("processes/process_info"):
        pid = to_int(_text(process, "pid"), low=0, high=1 << 31)
        if pid is not None:
            name = told(_text(process, "process_name"))
            found.append(Process(pid=pid, name=name, memory_used_mib=to_mib(_text(process, "used_memory"))))
    return found


def _power(gpu: Element, names: tuple[str, ...]) -> tuple[str, ...]:
    texts = (_text(gpu, f"{block}/{name}") for block in POWER_BLOCKS for name in names)
    return tuple(text for text in texts if text)


def _uncorrectable(gpu: Element) -> int | None:
    """Since the driver was loaded: new drivers count by memory kind, old ones in totals."""
    block = gpu.find("ecc_errors/volatile")
    if block is None:
        return None
    texts = [element.text for element in block if "uncorrectable" in str(element.tag)]
    texts += [block.findtext("double_bit/total")]
    counts = [count for value in texts if (count := to_count(value)) is not None]
    return sum(counts) if counts else None


def _text(element: Element, path: str) -> str | None:
    value = element.findtext(path)
    return value.strip() if value and value.strip() else None
