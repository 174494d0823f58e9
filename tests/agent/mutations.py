"""Damages captured outputs at random, the same way every time, and says what may never come out of them."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agent.captures import UnreadableCapture, decode
from agent.vendors import PARSERS
from agent.vendors.base import document

SAMPLES = Path(__file__).parent / "samples"
KINDS_OF_FILES = frozenset({".txt", ".xml", ".csv", ".json", ".log"})
LIVE = ("memory_used_mib", "utilization_pct", "temperature_c", "power_w")
RANGES = {
    "memory_total_mib": (1, 1 << 25),
    "memory_used_mib": (0, 1 << 25),
    "utilization_pct": (0, 100),
    "temperature_c": (-273, 1000),
    "power_w": (0, 100_000),
    "power_limit_w": (0, 100_000),
    "numa_node": (0, 1 << 20),
}
HUGE = (
    "99999999999999999999",
    "1e309",
    "4294967295",
    "18446744073709551615",
    "-1",
    "-9999",
    "0x7fffffff",
    "٣٤",
    "1" * 400,
)
ERROR_WORDS = ("ERR!", "Unknown Error", "[Unknown Error]", "GPU is lost", "[GPU requires reset]", "ERROR")
ERROR_LINE = re.compile(
    r"err|lost|reset|fallen|fail|fault|abnormal|alarm|unhealth|critical|offline|\bxid\b|uncorrect|fatal|drop|reboot",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"(?<![\w.:-])\d+(?:\.\d+)?(?:\s*(?:MiB|MB|GiB|GB|W|C|%)(?![A-Za-z]))?(?=\s*(?:/|\||,|<|\"|\)|$))"
)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Sample:
    """One file, with what its parser says of it undamaged."""

    path: Path
    vendor: str
    text: str
    devices: tuple[dict[str, Any], ...]

    def broken(self) -> set[str]:
        """Names of the devices that words of the undamaged text call broken; figures may be damaged to good ones."""
        bad = (device for device in self.devices if device["health"] == "unhealthy" and _by_words(device))
        return {name for device in bad for name in names_of(device)}


@dataclass(frozen=True)
class Mutant:
    """A damaged text. `spared`: every line that names trouble stands in it as it was, and no lines were exchanged, so
    that the trouble is still its device's; `replaced`: an error word stands
    in the place of a value, and nothing else changed.
    """

    text: str
    spared: bool
    replaced: bool


@lru_cache(maxsize=4096)
def names_trouble(line: str) -> bool:
    """Whether a line has a word of trouble."""
    return bool(ERROR_LINE.search(line))


def sample_paths() -> list[Path]:
    """All samples of vendors that have a parser."""
    paths = sorted(path for path in SAMPLES.glob("*/*") if path.suffix in KINDS_OF_FILES)
    return [path for path in paths if path.parent.name in PARSERS]


def read_sample(path: Path) -> Sample:
    """A sample and what its parser says."""
    text = decode(path.read_bytes()).text
    return Sample(path, path.parent.name, text, devices_of(path.parent.name, text))


def devices_of(vendor: str, text: str) -> tuple[dict[str, Any], ...]:
    """The devices of the document that the command line would print."""
    found = document(PARSERS[vendor](text))
    json.dumps(found, ensure_ascii=False).encode()  # no message can hold half a character
    devices = found["devices"]
    assert isinstance(devices, list)
    return tuple(devices)


def names_of(device: dict[str, Any]) -> set[str]:
    """All names of a device that are unique on its node; its number only where it has no other, since tools count."""
    names = {f"{key}={device[key]}" for key in ("uuid", "pci_bus_id") if device[key] is not None}
    return names or {f"index={device['index']}"}


def mutants(sample: Sample, count: int) -> Iterator[Mutant]:
    """The first `count` damaged forms of a sample."""
    start = zlib.crc32(f"{sample.vendor}/{sample.path.name}".encode())
    for number in range(count):
        rng = random.Random(start + (number << 32))
        if number % 4 == 0:
            text = put_error_word(sample.text, rng)
            yield Mutant(text, spared=True, replaced=text != sample.text)
            continue
        spared = number % 2 == 1
        text = sample.text
        for _ in range(rng.randint(1, 3)):
            damage = rng.choice(BY_LINE if spared else EVERYWHERE)
            text = damage(text, rng)
        yield Mutant(text, spared, replaced=False)


def faults(sample: Sample, mutant: Mutant) -> list[str]:
    """What the parser made of a damaged text that it may not; exceptions are the caller's."""
    now = devices_of(sample.vendor, mutant.text)
    found = [
        f"{key} of {device[key]} is out of range"
        for device in now
        for key in RANGES
        if _is_absurd(device, key)
    ]
    healthy = {name: device for device in now if device["health"] == "healthy" for name in names_of(device)}
    others = {name for device in now if device["health"] != "healthy" for name in names_of(device)}
    if mutant.spared:
        found += [f"{name} was broken and is healthy" for name in (sample.broken() & set(healthy)) - others]
    if mutant.replaced:
        for device in sample.devices:
            for name in names_of(device) & set(healthy):
                gone = [key for key in LIVE if device[key] is not None and healthy[name][key] is None]
                found += [f"{name} is healthy with an error word for its {key}" for key in gone]
    return found


def _by_words(device: dict[str, Any]) -> bool:
    return any(names_trouble(reason.partition(":")[2]) for reason in device["reasons"])


def _is_absurd(device: dict[str, Any], key: str) -> bool:
    value, (low, high) = device[key], RANGES[key]
    return value is not None and not low <= value <= high


def put_error_word(text: str, rng: random.Random) -> str:
    """One value replaced by a word of trouble."""
    values = list(_VALUE.finditer(text))
    if not values:
        return text
    match = rng.choice(values)
    return text[: match.start()] + rng.choice(ERROR_WORDS) + text[match.end() :]


def _lines(
    change: Callable[[list[str], list[int], random.Random], None],
) -> Callable[[str, random.Random], str]:
    """A damage to lines that name no trouble."""

    def damage(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        free = [number for number, line in enumerate(lines) if not names_trouble(line)]
        if free:
            change(lines, free, rng)
        return "\n".join(lines)

    return damage


def _delete(lines: list[str], free: list[int], rng: random.Random) -> None:
    del lines[rng.choice(free)]


def _double(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    lines.insert(at, lines[at])


def _copy_away(lines: list[str], free: list[int], rng: random.Random) -> None:
    lines.insert(rng.randrange(len(lines) + 1), lines[rng.choice(free)])


def _swap(lines: list[str], free: list[int], rng: random.Random) -> None:
    a, b = rng.choice(free), rng.choice(free)
    lines[a], lines[b] = lines[b], lines[a]


def _cut(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    lines[at] = lines[at][: rng.randint(0, len(lines[at]))]


def _swap_columns(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    mark = next((mark for mark in ("|", ",", "\t", ":") if mark in lines[at]), None)
    cells = lines[at].split(mark) if mark else lines[at].split(" ")
    a, b = rng.randrange(len(cells)), rng.randrange(len(cells))
    cells[a], cells[b] = cells[b], cells[a]
    lines[at] = (mark or " ").join(cells)


def _huge_number(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    numbers = list(_NUMBER.finditer(lines[at]))
    if numbers:
        match = rng.choice(numbers)
        lines[at] = lines[at][: match.start()] + rng.choice(HUGE) + lines[at][match.end() :]


def _other_digit(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    numbers = list(_NUMBER.finditer(lines[at]))
    if numbers:
        match = rng.choice(numbers)
        lines[at] = lines[at][: match.start()] + str(rng.randrange(10)) + lines[at][match.end() :]


def _junk(lines: list[str], free: list[int], rng: random.Random) -> None:
    at = rng.choice(free)
    junk = rng.choice(
        (
            "\x00",
            "\x1b[31m",
            "\x1b[0m",
            "\ufeff",
            "\r",
            "N/A",
            "[N/A]",
            "-",
            "é",
            "\ud7ff",
            "\\ud800",
            "<gpu>",
            "{",
            "|",
        )
    )
    place = rng.randint(0, len(lines[at]))
    lines[at] = lines[at][:place] + junk + lines[at][place:]


def _foreign_line(lines: list[str], free: list[int], rng: random.Random) -> None:
    foreign = (
        "",
        "Killed",
        "WARNING: infoROM is corrupted at gpu 0000:85:00.0",
        "+-----+",
        "|     |",
        "0",
        "}",
    )
    lines.insert(rng.choice(free), rng.choice(foreign))


def _truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randint(0, len(text))]


def _behead(text: str, rng: random.Random) -> str:
    return text[rng.randint(0, len(text)) :]


def _wrong_encoding(text: str, rng: random.Random) -> str:
    wrong = rng.choice(("utf-16-le", "utf-16-be", "utf-16", "utf-8-sig", "utf-32-le"))
    data = text.encode(wrong, errors="replace")
    if rng.random() < 0.5:
        return data.decode(rng.choice(("latin-1", "utf-8", "gb18030")), errors="replace")
    try:
        return decode(data[: rng.randint(0, len(data))]).text
    except UnreadableCapture:
        return ""


def _scramble(text: str, rng: random.Random) -> str:
    letters = list(text)
    for _ in range(rng.randint(1, 20)):
        if letters:
            letters[rng.randrange(len(letters))] = chr(rng.randrange(1, 0x500))
    return "".join(letters)


def _other_line_ends(text: str, rng: random.Random) -> str:
    return text.replace("\n", rng.choice(("\r\n", "\r", "\n\n", "\x0b", "\u2028")))


def _other_blanks(text: str, rng: random.Random) -> str:
    return rng.choice(
        (
            text.expandtabs(8),
            re.sub(r"[ \t]+", " ", text),
            text.replace(" ", "\u00a0"),
            text.replace("\t", " "),
        )
    )


def _error_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(ERROR_WORDS))
    return "\n".join(lines)


Damage = Callable[[str, random.Random], str]
BY_LINE: tuple[Damage, ...] = tuple(
    _lines(change)
    for change in (
        *(_delete, _double, _cut, _swap_columns),
        *(_huge_number, _other_digit, _junk, _foreign_line),
    )
)
EVERYWHERE: tuple[Damage, ...] = (
    *BY_LINE,
    *(_lines(_swap), _lines(_copy_away)),
    *(_truncate, _behead, _wrong_encoding, _scramble, _other_line_ends, _other_blanks, _error_line),
)
