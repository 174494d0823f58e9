"""`headrace team`: what a team may hold, holds and held, and how long its jobs waited."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON, Client
from client.messages import say
from client.render import cell_word, print_json, print_table
from client.shares import devices


def team(
    name: Annotated[str, typer.Argument(help="The team's short name.")],
    days: Annotated[int, typer.Option(min=1, max=92, help="Days of history, today included.")] = 14,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a team: its quotas, its members with their shares, its use now and by day, and its waits."""
    with Client() as client:
        use = client.team_use(name, days=days)
        members = client.team_members_use(name)
        quotas = client.team_quotas(team=name)
    if as_json:
        print_json({**use, "members": members, "quotas": quotas})
        return
    _part("team-quotas", ("queue", "model", "quota"), [_quota(row) for row in quotas])
    now = ("devices", "cores", "running", "waiting")
    _part("team-now", ("queue", *now), [[row["queue"], *_held(row)] for row in use["now"]])
    _part("team-members", ("name", "role", "shares", *now), [_member(row) for row in members])
    _part("team-days", ("day", "device-hours", "core-hours", "by-queue"), [_day(row) for row in use["days"]])
    waits = ("queue", "starts", "mean", "p50", "p95", "p99")
    _part("team-waits", waits, [_wait(row) for row in use["waits"]])


def _part(title: str, columns: tuple[str, ...], rows: list[list[object]]) -> None:
    print(f"\n{say(title)}")
    if rows:
        print_table([say(f"column-{name}") for name in columns], rows)
    else:
        print(say("none"))


def _quota(row: JSON) -> list[object]:
    return [row["queue"], row["model"] or say("all-models"), devices(row["quota_milli"])]


def _held(row: JSON) -> list[object]:
    return [devices(row["device_milli"]), devices(row["core_milli"]), row["running"], row["waiting"]]


def _member(row: JSON) -> list[object]:
    shares = ", ".join(
        f"{share['queue']} {share['model'] or ''} {devices(share['share_milli'])}".replace("  ", " ")
        for share in row["shares"]
    )
    return [row["username"], cell_word(row["role"]), shares, *_held(row)]


def _day(row: JSON) -> list[object]:
    parts = [f"{one['queue']} {one['device_hours']:g}" for one in row["queues"] if one["device_hours"]]
    return [row["day"], row["device_hours"], row["core_hours"], ", ".join(parts)]


def _wait(row: JSON) -> list[object]:
    marks = [f"{row[mark]:.0f} s" for mark in ("mean", "p50", "p95", "p99")]
    return [row["queue"], row["count"], *marks]
