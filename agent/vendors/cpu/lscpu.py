"""`lscpu` for people, in text and JSON, in many languages: keys that come again tell of several kinds of cores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from agent.host.files import parse_count, parse_cpu_list
from agent.vendors.base import to_int, to_number
from agent.vendors.cpu.columns import host_of, parse_columns, rows_of_json
from agent.vendors.cpu.host import MOST_CPUS, MOST_MHZ, Host, Thread, join
from agent.vendors.cpu.words import FIELDS, english, node_of

Fields = list[tuple[str, str]]
MOST_INDENT = 12  # of a field's name below its heading
_FIELD = re.compile(r"^\s*(?:([^:：]{1,60}?)\s*[:：]\s*|(«[^»:]+»)\s{2,})(.*?)\s*$")


def parse_lscpu(captured: str) -> Host:
    """Fields and, where it follows, the table of CPUs."""
    documents = list(_documents(captured))
    if documents:
        return join(_of_json(document) for document in documents)
    fields = list(_fields(captured))
    table = parse_columns(captured)
    return _completed(_of_fields(fields), table, fields)


def _of_json(document: Mapping[str, Any]) -> Host:
    cpus = document.get("cpus")
    table = host_of(rows_of_json(cpus)) if isinstance(cpus, list) else Host()
    entries = document.get("lscpu")
    fields = list(_flat(entries)) if isinstance(entries, list) else []
    return _completed(_of_fields(fields), table, fields)


def _documents(captured: str) -> Iterator[Mapping[str, Any]]:
    start = captured.find("{")
    while start >= 0:
        try:
            document, end = json.JSONDecoder().raw_decode(captured, start)
        except (ValueError, RecursionError):
            return
        if isinstance(document, dict):
            yield document
        start = captured.find("{", end)


def _flat(entries: Iterable[Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        if isinstance(entry.get("field"), str) and isinstance(entry.get("data"), str | None):
            yield english(entry["field"].rstrip(":：")), (entry.get("data") or "").strip()
        children = entry.get("children")
        if isinstance(children, list) and depth < 8:
            yield from _flat(children, depth + 1)


def _fields(captured: str) -> Iterator[tuple[str, str]]:
    """Fields with their values, also where a value goes on below itself."""
    key, value, column = "", "", 0
    for line in captured.splitlines():
        match = None if line.lstrip().startswith("#") else _FIELD.match(line)
        indent = len(line) - len(line.lstrip())
        if match:
            if key:
                yield key, value
            key, value = english(match.group(1) or match.group(2)), match.group(3)
            column = match.start(3)
        elif column > MOST_INDENT and indent == column:
            value += line.strip()
        else:
            column = 0
    if key:
        yield key, value


def _of_fields(fields: Fields) -> Host:
    first: dict[str, str] = {}
    for key, value in fields:
        first.setdefault(key, value)
    if not FIELDS & set(first) and all(node_of(key) is None for key in first):
        return Host()
    host = Host(model=_model(fields), sockets=to_int(first.get("socket(s)"), low=1, high=1 << 12))
    online = first.get("on-line cpu(s) list", first.get("on-line cpu(s) mask"))
    offline = _cpus(first.get("off-line cpu(s) list", first.get("off-line cpu(s) mask")))
    for key, value in fields:
        node = node_of(key)
        if node is not None:
            host.node(node).cpus = _cpus(value)
    if online is not None:
        host.online = set(_cpus(online))
    told = {*(host.online or ()), *offline}
    for number in sorted(told):
        host.thread(number, Thread(online=number in (host.online or ())))
    if told and len(told) == parse_count(first.get("cpu(s)", "")):
        _without_places(host, told)
    named = [number for node in host.nodes.values() for number in node.cpus or ()]
    if not host.threads and not named:
        for number in range(min(parse_count(first.get("cpu(s)", "")) or 0, MOST_CPUS)):
            host.thread(number, Thread())
    return host


def _without_places(host: Host, told: set[int]) -> None:
    """Nodes may list places where CPUs could be, beyond those that there are."""
    for node in host.nodes.values():
        node.cpus = None if node.cpus is None else [number for number in node.cpus if number in told]


def _cpus(text: str | None) -> list[int]:
    """A list, or a mask in hexadecimal (`lscpu -x`)."""
    clean = (text or "").strip().lower()
    if not re.fullmatch(r"0x[0-9a-f]{1,2048}", clean):
        return parse_cpu_list(clean)
    mask = int(clean, 16)
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _model(fields: Fields) -> str | None:
    names = [value for key, value in fields if key == "model name" and value not in ("", "-")]
    return " + ".join(dict.fromkeys(names)) or None


def _completed(host: Host, table: Host, fields: Fields) -> Host:
    """Cores and frequencies; the table of CPUs knows better than the fields."""
    joined = join([table, host])
    joined.sockets = host.sockets or table.sockets
    if host.online is not None:
        joined.online = host.online
    if not table.threads:
        _pair_by_blocks(joined, fields)
    if joined.sockets == 1:
        for number, thread in joined.threads.items():
            joined.threads[number] = replace(thread, socket=0)
    _give_frequencies(joined, fields)
    return joined


def _pair_by_blocks(host: Host, fields: Fields) -> None:
    """Without a table: a node's list in as many equal runs as a core has threads names the first threads of all its
    cores, then the second ones. Where a core has one thread, every CPU is a core.
    """
    told = {value for key, value in fields if key == "thread(s) per core"}
    threads = to_int(told.pop(), low=1, high=16) if len(told) == 1 else None
    if threads == 1:
        for core, number in enumerate(sorted(host.threads)):
            host.thread(number, Thread(core=core))
        return
    lists = {number: _runs(value) for number, value in _node_lists(fields)}
    if threads is None or not lists or any(len(runs) != threads for runs in lists.values()):
        return
    if any(len({len(run) for run in runs}) != 1 for runs in lists.values()):
        return
    core = 0
    for _, runs in sorted(lists.items()):
        for siblings in zip(*runs, strict=True):
            for number in siblings:
                host.thread(number, Thread(core=core))
            core += 1


def _node_lists(fields: Fields) -> Iterator[tuple[int, str]]:
    for key, value in fields:
        node = node_of(key)
        if node is not None and value:
            yield node, value


def _runs(text: str) -> list[list[int]]:
    return [parse_cpu_list(part) for part in text.split(",")]


def _only(fields: Fields, key: str) -> str | None:
    """The value of a key that comes once."""
    values = [value for each, value in fields if each == key]
    return values[0] if len(values) == 1 else None


def _give_frequencies(host: Host, fields: Fields) -> None:
    """One kind of core: its maximum. Several kinds: each theirs, in the order of CPUs. Where cores differ by their
    threads, the one maximum told is that of the fastest.
    """
    maxima = [_mhz(value) for key, value in fields if key == "cpu max mhz"]
    numbers = sorted(host.threads)
    if len(maxima) == 1 and _alike(host) and _add_up(host, fields):
        for number in numbers:
            host.thread(
                number, replace(host.threads[number], max_mhz=host.threads[number].max_mhz or maxima[0])
            )
        return
    counts = [to_int(value, low=1, high=MOST_CPUS) for key, value in fields if key == "core(s) per socket"]
    threads = [to_int(value, low=1, high=16) for key, value in fields if key == "thread(s) per core"]
    if not len(maxima) == len(counts) == len(threads) or len(maxima) < 2:
        return
    sizes = [(count or 0) * (each or 0) for count, each in zip(counts, threads, strict=True)]
    if sum(sizes) != len(numbers):
        return
    for size, maximum in zip(sizes, maxima, strict=True):
        for number in numbers[:size]:
            host.thread(number, replace(host.threads[number], max_mhz=maximum))
        numbers = numbers[size:]


def _alike(host: Host) -> bool:
    sizes: dict[tuple[int | None, int], int] = {}
    for number, thread in host.threads.items():
        if thread.core is not None and (host.online is None or number in host.online):
            sizes[thread.socket, thread.core] = sizes.get((thread.socket, thread.core), 0) + 1
    return len(set(sizes.values())) <= 1


def _add_up(host: Host, fields: Fields) -> bool:
    """Whether threads, cores and sockets explain the CPUs; where all are online and they do not, cores differ."""
    told = [
        to_int(_only(fields, key), low=1, high=MOST_CPUS)
        for key in ("thread(s) per core", "core(s) per socket", "socket(s)")
    ]
    counts = [count for count in told if count is not None]
    whole = host.online is None or host.online >= set(host.threads)
    return len(counts) < len(told) or not whole or prod(counts) == len(host.threads)


def _mhz(text: str) -> int | None:
    value = to_number(text.replace(",", "."), low=1, high=MOST_MHZ)
    return None if value is None else round(value)
