"""`lscpu -p`, `lscpu -e` and `lscpu -J -e`: one line per CPU, read by the names of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.host.files import parse_count
from agent.vendors.base import to_number
from agent.vendors.cpu.host import MOST_CPUS, MOST_MHZ, Host, Thread

YES = frozenset({"yes", "y", "true", "1", "oui", "ja", "sí", "sì", "sim", "да", "はい", "是"})
NO = frozenset({"no", "n", "false", "0", "non", "nein", "não", "нет", "いいえ", "否"})
Row = Mapping[str, str]
_KNOWN = frozenset({"cpu", "core", "socket", "node", "online", "maxmhz", "book", "drawer", "cluster"})


def parse_columns(captured: str) -> Host:
    """The first table: a second one repeats it by the kernel's own numbers."""
    rows = _comma_rows(captured) or _blank_rows(captured)
    return host_of(rows)


def host_of(rows: Iterable[Row]) -> Host:
    """Threads of the rows. Cores are told apart by socket, node and first cache, too: numbers of cores start again in
    every cluster of some ARM processors.
    """
    host, places = Host(), dict[int, tuple[str, ...]]()
    for row in rows:
        number = parse_count(row.get("cpu", ""))
        if number is None or number >= MOST_CPUS or number in host.threads:
            continue
        host.thread(number, _thread(row))
        if host.threads[number].core is not None:
            places[number] = tuple(row.get(name, "") for name in ("core", "socket", "node", "l1d", "l1i"))
    _number_cores(host, places)
    told = {number: thread.online for number, thread in host.threads.items() if thread.online is not None}
    host.online = {number for number, online in told.items() if online} if told else None
    for number, thread in host.threads.items():
        if thread.numa is not None:
            node = host.node(thread.numa)
            node.cpus = sorted([*(node.cpus or []), number])
    sockets = {thread.socket for thread in host.threads.values()} - {None}
    host.sockets = len(sockets) or None
    return host


def _number_cores(host: Host, places: Mapping[int, tuple[str, ...]]) -> None:
    """Where two cores of a socket would have one number, all are numbered anew."""
    named = {(host.threads[number].socket, host.threads[number].core) for number in places}
    distinct = list(dict.fromkeys(places.values()))
    if len(named) == len(distinct):
        return
    for number, place in places.items():
        host.threads[number] = replace(host.threads[number], core=distinct.index(place))


def _thread(row: Row) -> Thread:
    word = row.get("online", "").lower()
    mhz = to_number(row.get("maxmhz", "").replace(",", "."), low=1, high=MOST_MHZ)
    return Thread(
        core=parse_count(row.get("core", "")),
        socket=parse_count(row.get("socket", "")),
        numa=parse_count(row.get("node", "")),
        max_mhz=None if mhz is None else round(mhz),
        online=True if word in YES else False if word in NO else None,
    )


def _comma_rows(captured: str) -> list[Row]:
    names: list[str] = []
    rows: list[Row] = []
    for line in captured.splitlines():
        clean = line.strip()
        if clean.startswith("#"):
            found = [name.strip().lower() for name in clean.lstrip("# ").split(",")]
            if found[0] == "cpu" and (len(found) > 1 or clean == "# CPU"):
                if rows:
                    break
                names = found
        elif names and re.match(r"^\d+,", clean):
            rows.append(dict(zip(names, (cell.strip() for cell in clean.split(",")), strict=False)))
    return rows


def _blank_rows(captured: str) -> list[Row]:
    names: list[str] = []
    rows: list[Row] = []
    for line in captured.splitlines():
        tokens = line.split()
        lower = [token.lower() for token in tokens]
        if (
            "cpu" in lower
            and len(_KNOWN & set(lower)) >= 2
            and all(":" in t or t.rstrip("%").isalnum() for t in lower)
        ):
            if rows:
                break
            names = lower
        elif names and len(tokens) == len(names) and tokens[names.index("cpu")].isdecimal():
            rows.append(_with_caches(dict(zip(names, tokens, strict=True))))
    return rows


def _with_caches(row: dict[str, str]) -> Row:
    """`L1d:L1i:L2:L3` taken apart."""
    for names in [name for name in row if ":" in name]:
        row |= dict(zip(names.split(":"), row[names].split(":"), strict=False))
    return row


def rows_of_json(entries: Iterable[object]) -> list[Row]:
    """Rows of `lscpu -J -e`."""
    rows: list[Row] = []
    for entry in entries:
        if isinstance(entry, dict):
            rows.append(_with_caches({str(name).lower(): _text(value) for name, value in entry.items()}))
    return rows


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
