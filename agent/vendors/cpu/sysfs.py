"""Captured listings of /sys and /proc: `path:value`, `path=value`, a path above its text, and lines of `key=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent.host.files import parse_count, parse_cpu_list
from agent.protocol import normal_pci
from agent.vendors.base import to_int
from agent.vendors.cpu.host import MOST_CPUS, MOST_MHZ, Host, Slot, Thread

MOST_KIB = 1 << 44
MODEL_KEYS = ("model name", "cpu model", "cpu", "machine", "hardware", "uarch")
# x86 has the longer words; LoongArch and MIPS the shorter ones.
NUMBER_KEYS = ("processor", "cpu number")  # s390 has the latter
CORE_KEYS, SOCKET_KEYS = frozenset({"core id", "core"}), frozenset({"physical id", "package"})
_PAIR = re.compile(r"(\w+)=('[^']*'|\"[^\"]*\"|.*?)(?=\s+\w+=|\s+Node \d|\s*$)")
_HEADED = re.compile(r"^\s*==> (\S+) <==\s*$")
_CPU = re.compile(r"(?:^|/)cpu(\d{1,5})(?:/|\b)")
_NODE = re.compile(r"(?:^|/)node(\d{1,4})(?:/|\b)")
_BUS = re.compile(r"(?:^|/)((?:[0-9a-fA-F]{4,8}:)[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])(?=/|\b)")
_MEMORY = re.compile(r"\bNode\s+(\d{1,4})\s+MemTotal:\s*(\d{1,15})\s*kB")
_ACCELERATOR_NODE = re.compile(r"^\s*Node:\s*(\d{1,4})\s*$")
_LISTED = re.compile(r"^processor (\d{1,5})$")  # s390, which calls its kind of machine a number
_TOTAL = re.compile(r"^\s*MemTotal:\s*(\d{1,15})\s*kB")


def parse_sysfs(captured: str) -> Host:
    """Everything of CPUs, NUMA nodes and PCI devices in the listing."""
    reader = _Reader()
    for line in captured.splitlines():
        reader.feed(line)
    return reader.done()


def parse_cpuinfo(captured: str) -> Host:
    """/proc/cpuinfo: a block per CPU. The frequency there is the present one, not the maximum."""
    host, first = Host(), dict[str, str]()
    number: int | None = None
    for line in captured.splitlines():
        key, mark, value = line.partition(":")
        key, value = key.strip().lower(), value.strip()
        if not mark:
            continue
        first.setdefault(key, value)
        if key in NUMBER_KEYS:
            number = parse_count(value)
            host.thread(MOST_CPUS if number is None else number, Thread(online=True))
        elif (listed := _LISTED.match(key)) and "=" in value:
            host.thread(int(listed.group(1)), Thread(online=True))
        elif number is not None and key in CORE_KEYS | SOCKET_KEYS:
            told = to_int(value, low=0, high=1 << 16)
            host.thread(number, Thread(core=told) if key in CORE_KEYS else Thread(socket=told))
    if host.threads:
        host.model = next((first[key] for key in MODEL_KEYS if first.get(key)), None)
        sockets = {thread.socket for thread in host.threads.values()} - {None}
        host.sockets = len(sockets) or None
    return host


class _Reader:
    """Where we are in a listing."""

    def __init__(self) -> None:
        self.host = Host()
        self.siblings: dict[int, tuple[int, ...]] = {}
        self.slots: dict[str, dict[str, str]] = {}
        self.in_accelerator = False
        self.above: tuple[str, str] | None = None

    def feed(self, line: str) -> None:
        """One line."""
        for number, kib in _MEMORY.findall(line):
            self.host.node(int(number)).memory_mib = _mib(kib)
        total = _TOTAL.match(line)
        if total:
            self.host.memory_mib = self.host.memory_mib or _mib(total.group(1))
        accelerator = _ACCELERATOR_NODE.match(line)
        if accelerator and self.in_accelerator:
            self.host.node(int(accelerator.group(1))).accelerator = True
        headed = _HEADED.match(line)
        subject, pairs = _subject(headed.group(1) if headed else line)
        if subject is None and self.above and line.strip():
            self._value(*self.above, line.strip())
            self.above = None
        if subject is not None:
            empty = [name for name, value in pairs.items() if not value]
            self.above = (subject, empty[0]) if len(pairs) == len(empty) == 1 else None
            self.in_accelerator = "numa_status" in subject or "numa_status" in pairs
            for name, value in pairs.items():
                self._value(subject, name, value)

    def _value(self, subject: str, name: str, value: str) -> None:
        cpu, node, buses = _CPU.search(subject), _NODE.search(subject), _BUS.findall(subject)
        if buses:
            self.slots.setdefault(buses[-1], {})[name] = value
            if name == "numa_status" and (told := _ACCELERATOR_NODE.match(value)):
                self.host.node(int(told.group(1))).accelerator = True
        elif cpu:
            self._of_cpu(int(cpu.group(1)), name, value)
        elif node:
            self._of_node(int(node.group(1)), name, value)
        elif name in ("online", "present") and "cpu" in subject:
            numbers = parse_cpu_list(value)
            if name == "online":
                self.host.online = set(numbers)
            for number in numbers:
                self.host.thread(number, Thread())

    def _of_cpu(self, number: int, name: str, value: str) -> None:
        count = to_int(value, low=0, high=1 << 16)
        if name in ("cpuinfo_max_freq", "max_khz", "cpufreq_max"):
            khz = to_int(value, low=1000, high=MOST_MHZ * 1000)
            self.host.thread(number, Thread(max_mhz=khz // 1000 if khz else None))
        elif name in ("core_id", "core"):
            self.host.thread(number, Thread(core=count))
        elif name in ("physical_package_id", "package", "socket"):
            self.host.thread(number, Thread(socket=count))
        elif name in ("thread_siblings_list", "core_cpus_list", "siblings"):
            self.siblings[number] = tuple(parse_cpu_list(value))
        elif name == "online":
            self.host.thread(number, Thread(online=value.strip() == "1"))

    def _of_node(self, number: int, name: str, value: str) -> None:
        node = self.host.node(number)
        if name == "cpulist":
            node.cpus = parse_cpu_list(value)
        elif name == "distance":
            counts = [parse_count(token) for token in value.split()]
            node.distances = [count for count in counts if count is not None and count < 1 << 16]

    def done(self) -> Host:
        """Cores told by their siblings, and PCI devices in the order of the listing."""
        cores = {
            threads: core
            for core, threads in enumerate(dict.fromkeys(map(self.siblings.get, sorted(self.siblings))))
        }
        for number, threads in self.siblings.items():
            if self.host.threads.get(number, Thread()).core is None:
                self.host.thread(number, Thread(core=cores[threads]))
        sockets = {thread.socket for thread in self.host.threads.values()} - {None}
        self.host.sockets = len(sockets) or None
        for bus, told in self.slots.items():
            if "numa_node" in told or "local_cpulist" in told:
                self.host.slots.append(_slot(bus, told))
        return self.host


def _slot(bus: str, told: Mapping[str, str]) -> Slot:
    """-1 is no preference, and the CPUs listed then are all there are."""
    node = to_int(told.get("numa_node"), low=0, high=1 << 12)
    cpus = tuple(parse_cpu_list(told.get("local_cpulist"))) if node is not None else ()
    return Slot(normal_pci(bus) or bus, node, cpus or None)


def _subject(line: str) -> tuple[str | None, dict[str, str]]:
    """(what a line is about, its values by name)."""
    stripped = line.strip()
    words = stripped.split(maxsplit=1)
    named = words and any(pattern.match(words[0]) for pattern in (_CPU, _NODE, _BUS))
    if named and len(words) == 2 and "=" in words[1] and "=" not in words[0]:
        return words[0], {name: value.strip("'\" ") for name, value in _PAIR.findall(words[1])}
    return _path_value(stripped)


def _path_value(line: str) -> tuple[str | None, dict[str, str]]:
    """`…/node0/cpulist:0-5`, with a colon, an equals sign or a blank after the path."""
    if "/" not in line.split(" ", 1)[0]:
        return None, {}
    for end in _ends(line):
        path, value = line[:end], line[end + 1 :].strip()
        folder, _, name = path.rpartition("/")
        if folder and re.fullmatch(r"(?!pci[0-9a-f]{4})[a-z_]\w*", name):
            return folder, {name: value}
    folder, _, name = line.strip().rpartition("/")
    return (folder, {name: ""}) if folder and " " not in line else (None, {})


def _ends(line: str) -> Iterator[int]:
    """Where the path may end; a bus id has colons of its own."""
    return (match.start() for match in re.finditer(r"[:=\s]", line))


def _mib(kib: str) -> int | None:
    number = to_int(kib, low=0, high=MOST_KIB)
    return None if number is None else number // 1024
