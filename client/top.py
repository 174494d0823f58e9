"""`headrace top`: running jobs with what they use of what they booked, over and over."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from client.api import JSON, Client, as_documented
from client.messages import say
from client.render import MIB_PER_GIB, cell_word, local_now, made_table, print_json, print_table

SHORTEST_S, LONGEST_S = 1.0, 3600.0


class Sort(StrEnum):
    """What comes first: the largest of it; of `id` the newest."""

    DEVICE = "device"
    DEVICE_MEMORY = "device-memory"
    MEMORY = "memory"
    CPU = "cpu"
    AGE = "age"
    ID = "id"


# Where two are alike the newer job is first.
KEYS: dict[Sort, Callable[[JSON], object]] = {
    Sort.DEVICE: lambda row: row["device_use_pct"],
    Sort.DEVICE_MEMORY: lambda row: row["device_memory_used_mib"],
    Sort.MEMORY: lambda row: row["host_memory_used_mib"],
    Sort.CPU: lambda row: row["cpu_used_milli"],
    Sort.AGE: lambda row: row["running_s"],
    Sort.ID: lambda row: row["id"],
}
COLUMNS = (
    "id",
    "name",
    "owner",
    "status",
    "node",
    "devices",
    "device-use",
    "device-memory",
    "memory",
    "cpu",
    "age",
)


@as_documented()
def top(
    mine: Annotated[bool, typer.Option("--mine", help="Only my own jobs.")] = False,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner.")] = None,
    sort: Annotated[Sort, typer.Option(help="The largest of it first; unknown last.")] = Sort.DEVICE,
    limit: Annotated[int, typer.Option(min=1, help="Of all jobs look at the newest so many.")] = 500,
    interval: Annotated[
        float,
        typer.Option("--interval", "-n", min=SHORTEST_S, max=LONGEST_S, help="Seconds between two looks."),
    ] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: one line for each look.")] = False,
) -> None:
    """Watch running jobs: how busy their devices are, what they use of the memory they booked."""
    with Client(patience_s=interval) as client:
        who = client.me()["username"] if mine else owner

        def look() -> list[JSON]:
            return ordered(client.uses(limit=limit, queue=queue, team=team, owner=who), sort)

        try:
            _watch(look, interval_s=interval, once=once, as_json=as_json)
        except KeyboardInterrupt:
            return


def ordered(rows: Sequence[JSON], sort: Sort) -> list[JSON]:
    """The largest first, then the newer; unknown last."""
    key = KEYS[sort]
    known = [row for row in rows if key(row) is not None]
    unknown = [row for row in rows if key(row) is None]
    newest = sorted(known, key=lambda row: int(row["id"]), reverse=True)
    return sorted(newest, key=lambda row: int(str(key(row))), reverse=True) + unknown


def _watch(look: Callable[[], list[JSON]], *, interval_s: float, once: bool, as_json: bool) -> None:
    if once:
        rows = look()
        print_json(rows) if as_json else _print(rows)
        return
    if as_json or not sys.stdout.isatty():
        while True:
            rows = look()
            if as_json:
                sys.stdout.write(json.dumps(rows, ensure_ascii=False) + "\n")
            else:
                _print(rows)
                sys.stdout.write("\n")
            sys.stdout.flush()
            time.sleep(interval_s)
    console = Console(highlight=False, markup=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            rows = look()
            # As many as there is room for, below one line of words and one of titles.
            table = made_table(_titles(), [_cells(row) for row in rows[: max(1, console.height - 3)]])
            table.title = Text(say("top", time=local_now(), jobs=len(rows)))
            table.title_justify = "left"
            live.update(table, refresh=True)
            time.sleep(interval_s)


def _print(rows: Sequence[JSON]) -> None:
    print_table(_titles(), [_cells(row) for row in rows])


def _titles() -> list[str]:
    return [say(f"column-{name}") for name in COLUMNS]


def _cells(row: JSON) -> list[object]:
    nodes = list(row["nodes"])
    return [
        row["id"],
        row["name"],
        row["owner"],
        cell_word(row["status"]),
        f"{nodes[0]} +{len(nodes) - 1}" if len(nodes) > 1 else "".join(nodes),
        row["devices"],
        _device_use(row),
        _of(row["device_memory_used_mib"], row["device_memory_booked_mib"], there=row["devices"] > 0),
        _of(row["host_memory_used_mib"], row["host_memory_booked_mib"] or None),
        _cpu(row),
        age(row["running_s"]),
    ]


def _device_use(row: JSON) -> str:
    """Others use a shared device, too: the job's own part is not more than that."""
    if row["devices"] == 0:
        return "-"
    if row["device_use_pct"] is None:
        return say("unknown")
    return f"{'≤' if row['shares_devices'] else ''}{row['device_use_pct']} %"


def _of(used: int | None, booked: int | None, *, there: bool = True) -> str:
    """Used of booked, in GiB."""
    if not there:
        return "-"
    return (
        f"{say('unknown') if used is None else gib(used)} / {say('none') if booked is None else gib(booked)}"
    )


def _cpu(row: JSON) -> str:
    used = row["cpu_used_milli"]
    return f"{say('unknown') if used is None else f'{used / 1000:.1f}'} / {row['cores']}"


def gib(mib: int) -> str:
    """GiB with one decimal."""
    return f"{mib / MIB_PER_GIB:.1f}"


def age(seconds: int | None) -> str | None:
    """The two largest units."""
    if seconds is None:
        return None
    for size, unit, small, small_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // small:02d}{small_unit}"
    return f"{seconds}s"
