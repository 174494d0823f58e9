"""`headrace calendar` and `headrace forecast`: what the coming days bring, and how much should be free when."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON, Client
from client.messages import say
from client.render import cell_word, local_time, print_json, print_table
from client.shares import devices

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def calendar(
    days: Annotated[int, typer.Option(min=1, max=31, help="How far to look.")] = 7, as_json: AsJson = False
) -> None:
    """Show valley windows, peak hours, caps on power, promised starts and nodes out of service."""
    with Client() as client:
        answer = client.calendar(days=days)
    if as_json:
        print_json(answer)
        return
    print(say("calendar-zone", zone=answer["time_zone"]))
    for name in ("valleys", "peaks"):
        _part(f"calendar-{name}", ("from", "to"), [_window(one) for one in answer[name]])
    power = [
        [*_window(one), say("no-cap") if one["cap_w"] is None else f"{one['cap_w']} W"]
        for one in answer["power"]
    ]
    _part("calendar-power", ("from", "to", "cap"), power)
    starts = [
        [one["job"], one["name"] or "", one["node_name"], local_time(one["starts_at"])]
        for one in answer["promised"]
    ]
    _part("calendar-promised", ("job", "name", "node", "from"), starts)
    nodes = [
        [one["node_name"], cell_word(one["state"]), one["reason"], _deadline(one["deadline"])]
        for one in answer["nodes"]
    ]
    _part("calendar-nodes", ("node", "state", "reason", "deadline"), nodes)


def _part(title: str, columns: tuple[str, ...], rows: list[list[object]]) -> None:
    print(f"\n{say(title)}")
    if rows:
        print_table([say(f"column-{name}") for name in columns], rows)
    else:
        print(say("none"))


def _window(window: JSON) -> list[object]:
    return [local_time(window["opens_at"]), local_time(window["closes_at"])]


def _deadline(deadline: str | None) -> str:
    return say("none") if deadline is None else local_time(deadline)


def forecast(
    hours: Annotated[int, typer.Option(min=1, max=168, help="How far to look.")] = 24,
    model: Annotated[
        list[str] | None, typer.Option(help="Only devices of this model; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much should be free now and at every full hour, and what that is known from."""
    with Client() as client:
        answer = client.forecast(hours=hours, models=model)
    if as_json:
        print_json(answer)
        return
    names = ("from", "free-devices", "whole-devices", "unknown-devices", "free-cores", "unknown-cores")
    print_table([say(f"column-{name}") for name in names], [_point(point) for point in answer["points"]])
    counts = ("by_time_limit", "by_history", "promised", "end_unknown")
    print(say("forecast-basis", **{name: answer[name] for name in counts}))


def _point(point: JSON) -> list[object]:
    return [
        local_time(point["at"]),
        devices(point["free_device_milli"]),
        point["free_devices"],
        devices(point["unknown_device_milli"]),
        devices(point["free_core_milli"]),
        devices(point["unknown_core_milli"]),
    ]


COMMANDS = (calendar, forecast)
