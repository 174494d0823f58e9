"""The table that `nvidia-smi` prints for people: layouts of all drivers, slices and processes below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent.protocol import Partition, Vendor
from agent.vendors.base import Process, Readout, to_mib
from agent.vendors.nvidia.look import Look, conclude, silent, to_count, told, told_apart
from agent.vendors.nvidia.profiles import make_partition, virtual_partition
from agent.vendors.nvidia.smi_mig import TITLES

_DRIVER = re.compile(r"(?:Driver|KMD)\s+Version\s*:\s*([\d.]+)")
_TITLE = re.compile(r"^[\s|+]*NVIDIA-SMI\s+(?:\d+\.)?\d+\.\d+")
_SLICES = re.compile(r"^\s*\|\s*MIG devices\s*:")
_FIRST = re.compile(r"^\s*(\d{1,4})\s+(\S.*?)\s*$")
_MODE = re.compile(r"\s+(?:On|Off|WDDM|TCC|MCDM|N/A|ERR!)$", re.IGNORECASE)
_BUS = re.compile(
    r"((?:[\dA-FXa-fx*?#]{4,8}:)?[\dA-FXa-fx*?#]{2}:[\dA-FXa-fx*?#]{2}\.[\dXx*?#])"
)  # masked, too
_NO_BUS = re.compile(r"^\s*(?:N/A|[^\s/]*)\s+(?:On|Off|N/A)\s*$")
_HEAT = re.compile(r"(?<![\w.%-])(-?\d{1,10})\s*C(?![a-z0-9])")
_POWER = re.compile(r"(\S{1,16})\s{0,8}/\s{0,8}(\S{1,16})\s*$")
_PAIR = re.compile(r"(\d+\s*[KMG]i?B)\s*/\s*(\d+\s*[KMG]i?B)")
_LOAD = re.compile(r"(\d+)\s*%")
_SLICE = re.compile(r"^\s*(\d{1,4})\s+(\d{1,5})\s+(\d{1,5})\s+(\d{1,5})\s*$")
_SHARE = re.compile(r"^\s*(\d{1,10})\s+(\S.*?)\s*$")
_PROCESS = re.compile(
    r"^\s*(\d{1,4})\s+(?:(?:N/A|\d{1,5})\s+(?:N/A|\d{1,5})\s+)?(\d{1,10})\s+(?:(?:C\+G|M\+C|C|G|M)\s+)?(\S.*?)"
    r"(?:\s+(\d+\s*[KMG]i?B|N/A|-))?\s*$"
)


@dataclass
class Device:
    """The lines of one device, cell by cell, until the table's next rule."""

    index: int
    name: str
    lines: list[list[str]]
    partitions: list[Partition] = field(default_factory=list)
    slice_words: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    whole: bool = True


def looks_like_table(captured: str) -> bool:
    """Whether some line is a table's title, a device's first row, or the title of the slices."""
    lines = (line for line in captured.splitlines() if "|" in line)
    return any(_TITLE.match(line) or _SLICES.match(line) or _first_row(_cells(line)) for line in lines)


def parse_table(captured: str) -> Readout:
    """All devices that have a row, with their slices and processes."""
    reader = _Reader()
    for line in captured.splitlines():
        reader.see(line)
    driver = _DRIVER.search(captured)
    version = driver.group(1).strip(".") if driver else None
    looks = [_look(device) for device in reader.devices.values()]
    return Readout(
        vendor=Vendor.NVIDIA,
        driver_version=version or None,
        readings=[
            conclude(look, version) if look.name else silent(look)  # of slices alone
            for look in told_apart(looks)
        ],
    )


class _Reader:
    """Where in the table we are."""

    def __init__(self) -> None:
        self.devices: dict[int, Device] = {}
        self._device: Device | None = None
        self._section = "devices"
        self._shared: dict[tuple[int, int], tuple[str, str]] = {}

    def see(self, line: str) -> None:
        stripped = line.strip()
        if not stripped.startswith("|"):
            if stripped.startswith("+") or not stripped:
                self._device = None
            elif self._device is not None:
                self._device.lines.append([stripped])  # what broke into the row belongs to it
            return
        cells = _cells(line)
        first = cells[0].strip()
        if first.startswith("MIG devices"):
            self._section = "slices"
        elif first.startswith(("Processes", "Compute processes")):
            self._section = "processes"
        elif first.startswith(TITLES):
            self._section = "instances"
        elif _is_rule(stripped):
            self._device = None
        elif _first_row(cells):
            self._section = "devices"
            self._begin(cells)
        elif self._section == "devices" and self._device is not None:
            self._device.lines.append(cells)
        elif self._section == "slices":
            self._slice(cells)
        elif self._section == "processes":
            self._process(stripped.strip("| "))

    def _begin(self, cells: list[str]) -> None:
        match = _FIRST.match(cells[0])
        assert match is not None
        index = int(match.group(1))
        name = _MODE.sub("", match.group(2)).strip()
        older = self.devices.get(index)
        older = older if older and older.name else None
        self._device = Device(index, name, [cells], whole=older is None or _bus(older) == _bus_in(cells))
        if older is not None:  # a table printed again and again: what was broken once is told
            self._device.earlier = [*older.earlier, *(word for line in older.lines for word in line)]
        self.devices[index] = self._device

    def _slice(self, cells: list[str]) -> None:
        match = _SLICE.match(cells[0])
        if match is None or len(cells) < 2:
            return
        gpu, instance, compute, _ = (int(number) for number in match.groups())
        # Where the table above the slices was left out, all but the slices is unknown.
        device = self.devices.setdefault(gpu, Device(gpu, "", [[""]]))
        pair = _PAIR.search(cells[1])
        used, total = pair.groups() if pair else self._shared.get((gpu, instance), ("", ""))
        self._shared[gpu, instance] = used, total
        device.slice_words += [cell.strip() for cell in cells[1:] if cell.strip()]
        device.partitions.append(
            make_partition(
                model=device.name,
                total_mib=to_mib(total),
                used_mib=to_mib(used),
                instance=instance,
                compute_instance=compute,
                multiprocessors=to_count(cells[2].split()[0])
                if len(cells) > 2 and cells[2].split()
                else None,
            )
        )

    def _process(self, text: str) -> None:
        match = _PROCESS.match(text)
        device = self.devices.get(int(match.group(1))) if match else None
        if match and device is not None:
            used = to_mib(match.group(4))
            process = Process(pid=int(match.group(2)), name=told(match.group(3)), memory_used_mib=used)
            device.processes.append(process)


def _look(device: Device) -> Look:
    first, *rest = device.lines
    if not device.name:
        words = tuple(("table", word) for word in device.slice_words)
        return Look(index=device.index, words=words, partitions=tuple(device.partitions))
    if len(first) == 3 and "%" in first[2]:
        return _host_of_virtual(device)
    second = next((cells for cells in rest if len(cells) >= 2 and _is_second(cells)), [])
    memory = _PAIR.search(second[1]) if len(second) > 1 else None
    power = _POWER.search(second[0]) if second else None
    load = _LOAD.search(second[2]) if len(second) > 2 else None
    heat = _HEAT.search(second[0]) if second else None
    counter = first[2].strip() if len(first) > 2 and "%" not in first[2] else ""
    cells_said = [cell.strip() for cells in device.lines for cell in cells]
    return Look(
        index=device.index,
        bus_id=_bus(device),
        name=device.name,
        total=memory.group(2) if memory else None,
        used=memory.group(1) if memory else None,
        utilization=load.group(0) if load else None,
        temperature=heat.group(1) if heat else None,
        draws=(power.group(1),) if power else (),
        limits=(power.group(2),) if power else (),
        ecc="On" if to_count(counter) is not None else counter,
        uncorrectable=to_count(counter),
        words=tuple(
            ("table", word) for word in [*cells_said, *device.slice_words, *device.earlier] if word.strip()
        ),
        cut=not second or len(second) < 3 or len(first) < 3 or not device.whole,
        partitions=tuple(device.partitions),
        processes=tuple(device.processes),
    )


def _host_of_virtual(device: Device) -> Look:
    """A row of `nvidia-smi vgpu`: it tells the load only, and below it stand the virtual machines' shares."""
    first, *shares = device.lines
    load = _LOAD.search(first[2])
    matches = [_SHARE.match(cells[0]) for cells in shares]
    return Look(
        index=device.index,
        bus_id=_bus(device),
        name=device.name,
        utilization=load.group(0) if load else None,
        words=tuple(("table", cell.strip()) for cell in [*first, *device.earlier] if cell.strip()),
        cut=not device.whole,
        partitions=tuple(
            virtual_partition(match.group(2), number=int(match.group(1))) for match in matches if match
        ),
    )


def _is_second(cells: list[str]) -> bool:
    return "/" in cells[0] or "/" in cells[1] or "%" in "".join(cells[2:3])


def _first_row(cells: list[str]) -> bool:
    if len(cells) < 2 or not _FIRST.match(cells[0]):
        return False
    return _bus_in(cells) is not None or (len(cells) > 2 and bool(_NO_BUS.match(cells[1])))


def _bus_in(cells: list[str]) -> str | None:
    match = _BUS.search(cells[1]) if len(cells) > 1 else None
    return match.group(1) if match else None


def _bus(device: Device) -> str | None:
    return _bus_in(device.lines[0])


def _cells(line: str) -> list[str]:
    text = line.strip()
    return text.strip("|").split("|") if text.startswith("|") else [""]


def _is_rule(stripped: str) -> bool:
    return not stripped.strip("|+-= ")
