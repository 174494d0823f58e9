"""The table of `npu-smi info` in the layouts of 310, 310P, 310B, 910, 910B, A3 and 950: two lines per chip."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.host.files import parse_count
from agent.notices import notice
from agent.protocol import normal_pci
from agent.vendors.ascend.chips import Chip, Findings
from agent.vendors.ascend.states import UNKNOWN, Verdict, judge_health, judge_value, worse
from agent.vendors.base import MOST_MEMORY_MIB, Process, to_int, to_number

TOOL = "npu-smi"
MOST_BOARD_W = 5000
HOTTEST_C = 150
FIRST_LABELS = ("power", "temp", "hugepages-usage")
SECOND_LABELS = ("aicore", "memory-usage", "hbm-usage")
MEMORIES = ("hbm-usage", "memory-usage")
CUT_OFF: Verdict = (UNKNOWN, "no-reading", "the device's second line is missing")
NO_MEMORY: Verdict = (UNKNOWN, "no-reading", "memory is not reported")
NO_USE: Verdict = (UNKNOWN, "no-reading", "memory use is not reported")
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*(?!N/?A\b)(\w[^\s|]*)")
_LABEL = re.compile(r"([A-Za-z][A-Za-z -]{0,40}?)\s{0,20}\([^)]{0,40}\)")
_BUS = re.compile(r"^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.")
_MASKED = re.compile(
    r"^(?:[\w*#?]{1,8}:){1,2}[\w*#?]{1,2}\.[\w*#?]$|^[\[<(]?(?:redacted|masked|hidden|removed|x{2,}|\*{2,}|\.{3})[\])>]?$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^\d{1,5}$")


def looks_like_table(captured: str) -> bool:
    """Whether there are rows of cells that npu-smi prints."""
    return any(line.lstrip().startswith("|") and line.count("|") > 3 for line in captured.splitlines())


def parse_table(captured: str) -> Findings:
    """All devices of the table and their processes. A device cut off in the middle is unknown, never healthy."""
    reader = _Reader()
    for line in captured.splitlines():
        reader.feed(line.strip())
    reader.flush()
    version = _VERSION.search(captured)
    chips: list[Chip] = []
    odd: set[int] = set()
    for look in reader.looks():
        mixed = _mixed_up(look)
        odd |= mixed
        chips += [_judged_together(chip, look) if chip.npu in mixed else chip for chip in look]
    return Findings(
        chips=tuple(replace(chip, processes=reader.processes_of(chip)) for chip in chips),
        driver_version=version.group(1) if version else None,
        warnings=(notice("output-damaged", tool=TOOL),) if reader.damaged or odd else (),
    )


def _mixed_up(chips: Sequence[Chip]) -> set[int]:
    """Boards whose chips are not the first, the second and so on: their lines are not where they were."""
    boards: dict[int, list[int]] = {}
    for chip in chips:
        boards.setdefault(chip.npu, []).append(chip.chip)
    return {npu for npu, places in boards.items() if places != list(range(len(places)))}


def _judged_together(chip: Chip, chips: Sequence[Chip]) -> Chip:
    """One cannot tell which of a mixed-up board's chips is well, so that none is."""
    for other in chips:
        if other.npu == chip.npu:
            chip = replace(chip, verdict=worse(chip.verdict, other.verdict))
    return chip


@dataclass
class _Reader:
    """Where we are in the table."""

    chips: list[Chip] = field(default_factory=list)
    damaged: bool = False
    numbering: str = ""
    labels: list[tuple[str, ...]] = field(default_factory=lambda: [FIRST_LABELS, ()])
    pending: list[str] | None = None
    unpaired: Verdict | None = None
    in_processes: bool = False
    processes: dict[tuple[int, int], dict[int, Process]] = field(default_factory=dict)
    tells_processes: bool = False
    headers: list[int] = field(default_factory=list)

    def feed(self, line: str) -> None:
        """One line, without outer blanks."""
        if not line.startswith("|"):
            if line.startswith("+"):
                self.flush()
                self.unpaired = None
            return
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if self._is_header(cells):
            self.flush()
        elif self.in_processes:
            self._process(cells)
        elif len(cells) == 4:
            self._device([f"{cells[0]} {cells[1]}".strip(), *cells[2:]])
        elif len(cells) == 3:
            self._device(cells)

    def flush(self) -> None:
        """A device whose second line did not come is kept, but not trusted."""
        if self.pending is not None:
            chip = _first_line(self.pending, self.labels[0])
            self._keep(chip and replace(chip, verdict=worse(chip.verdict, CUT_OFF)))
            self.unpaired = worse(chip.verdict if chip else None, CUT_OFF)
            self.damaged = True
        self.pending = None

    def processes_of(self, chip: Chip) -> tuple[Process, ...] | None:
        """None where no process table was there."""
        found = self.processes.get((chip.npu, chip.chip), {})
        return tuple(found.values()) if self.tells_processes else None

    def looks(self) -> list[list[Chip]]:
        """The chips table by table: one begins below a header that comes again, with a chip that was there before."""
        found: list[list[Chip]] = [[]]
        for place, chip in enumerate(self.chips):
            told = {(other.npu, other.chip) for other in found[-1]}
            if place in self.headers and (chip.npu, chip.chip) in told:
                found.append([])
            found[-1].append(chip)
        return found

    def _is_header(self, cells: Sequence[str]) -> bool:
        text = " ".join(cells).lower()
        if "process id" in text:
            self.in_processes = self.tells_processes = True
        elif "health" in text and "power(" in text:
            self.in_processes = False
            self.flush()
            self.headers.append(len(self.chips))
            self.labels[0] = _labels(cells[-1]) or FIRST_LABELS
        elif "bus-id" in text:
            self.labels[1] = _labels(cells[-1]) or SECOND_LABELS
            self.numbering = "phy" if "phy-id" in text else "logic" if "device" in text else ""
        else:
            return text.startswith("npu-smi") or "no running processes" in text
        return True

    def _device(self, cells: list[str]) -> None:
        if self.pending is not None and _is_second(cells):
            first, self.pending = self.pending, None
            chip = _chip(first, cells, self.labels, self.numbering)
            # After a first line without its second one, nobody knows whose this second line is.
            self._keep(chip and replace(chip, verdict=worse(chip.verdict, self.unpaired)))
            self.unpaired = None
        elif _NUMBERED.match(cells[0].split(" ")[0]) and not _is_place(cells[1]):
            self.flush()
            self.pending = cells
        else:
            self.damaged = True

    def _keep(self, chip: Chip | None) -> None:
        if chip is None:
            self.damaged = True
        else:
            self.chips.append(chip)

    def _process(self, cells: list[str]) -> None:
        place = [parse_count(token) for token in cells[0].split()]
        pid = parse_count(cells[1]) if len(cells) == 4 else None
        if pid is None or not place or place[0] is None:
            return
        chip = place[1] if len(place) > 1 and place[1] is not None else 0
        used = to_int(cells[3], low=0, high=MOST_MEMORY_MIB)
        process = Process(pid=pid, name=cells[2] or None, memory_used_mib=used)
        self.processes.setdefault((place[0], chip), {})[pid] = process


def _labels(cell: str) -> tuple[str, ...]:
    return tuple(label.lower() for label in _LABEL.findall(cell))


def _guessed_labels(cell: str) -> tuple[str, ...]:
    """Where the header is lost, or was cut to one memory: two pairs are both memories, one pair is the only one."""
    return SECOND_LABELS if cell.upper().replace("N/A", "NA").count("/") > 1 else SECOND_LABELS[:2]


def _is_second(cells: Sequence[str]) -> bool:
    numbered = all(_NUMBERED.match(token) for token in cells[0].split())
    return numbered and (_is_place(cells[1]) or cells[1].upper() in ("", "NA", "N/A", "-"))


def _is_place(cell: str) -> bool:
    """Whether this is a bus id, also one that somebody masked."""
    return bool(_BUS.match(cell) or _MASKED.match(cell))


def _chip(
    first: Sequence[str], second: Sequence[str], labels: Sequence[tuple[str, ...]], numbering: str
) -> Chip | None:
    chip = _first_line(first, labels[0])
    if chip is None:
        return None
    numbers = [parse_count(token) for token in second[0].split()]
    own = numbers[1] if len(numbers) > 1 else None
    is_cut = set(labels[1]) < set(SECOND_LABELS)
    values = _values(second[-1], _guessed_labels(second[-1]) if is_cut else labels[1])
    total, used = _memory(values)
    busy = values.get("aicore", values.get("npu util"))
    return replace(
        chip,
        chip=numbers[0] if numbers and numbers[0] is not None else 0,
        phy=own if numbering == "phy" else None,
        logic=own if numbering == "logic" else None,
        bus_id=normal_pci(second[1]),
        total_mib=total,
        used_mib=used,
        utilization_pct=to_int(busy, low=0, high=100),
        verdict=worse(
            worse(chip.verdict, judge_value("second line", second[-1])),
            NO_MEMORY if total is None else NO_USE if used is None else None,
        ),
    )


def _first_line(cells: Sequence[str], labels: Sequence[str]) -> Chip | None:
    number, _, name = cells[0].partition(" ")
    npu = parse_count(number)
    if npu is None:
        return None
    values = _values(cells[-1], labels)
    watts = to_number(values.get("power"), low=0, high=MOST_BOARD_W)
    return Chip(
        npu=npu,
        name=name.strip() or None,
        verdict=worse(judge_health(cells[1]), judge_value("first line", cells[-1])),
        # A running chip draws more than nothing and is warmer than ice: 0 is the driver's "cannot read".
        power_w=watts or None,
        temperature_c=to_int(values.get("temp"), low=1, high=HOTTEST_C),
    )


def _values(cell: str, labels: Sequence[str]) -> dict[str, str]:
    """The cell's values by label: single ones and pairs `used / total` each in the order of their labels. Where their
    number is not the labels', nothing is known.
    """
    tokens = re.sub(r"\s*/\s*", "/", cell).split()
    found: dict[str, str] = {}
    for is_pair in (False, True):
        names = [label for label in labels if ("usage" in label) is is_pair]
        values = [token for token in tokens if ("/" in token and token.upper() != "N/A") is is_pair]
        if len(names) == len(values):
            found |= dict(zip(names, values, strict=True))
    return found


def _memory(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    """(total, used): of the HBM where the device has such, else of its DDR memory; "0 / 0" means that it has none."""
    for label in MEMORIES:
        if label not in values:
            continue
        used_text, _, total_text = values[label].rpartition("/")
        total = to_int(total_text, low=0, high=MOST_MEMORY_MIB)
        used = to_int(used_text, low=0, high=MOST_MEMORY_MIB)
        if total != 0:
            return total, used if total is not None and used is not None and used <= total else None
    return None, None
