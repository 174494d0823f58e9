"""Commands about what teams and their members may hold: `headrace quota`, and about arrays of jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON, Client
from client.errors import Misuse
from client.messages import say
from client.render import cell_word, escape_controls, print_json, print_table

quota = typer.Typer(no_args_is_help=True, help="What teams and their members may hold inside queues.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would follow.")]
WHOLE_MILLI = 1000


@quota.command("list")
def quotas(
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the quotas of teams, with the shares of their members."""
    with Client() as client:
        rows = client.team_quotas(queue=queue, team=team)
    if as_json:
        print_json(rows)
        return
    names = ("id", "queue", "team", "model", "quota", "shares")
    print_table([say(f"column-{name}") for name in names], [_row(row) for row in rows])


def _row(row: JSON) -> list[object]:
    shares = ", ".join(f"{share['username']} {devices(share['share_milli'])}" for share in row["shares"])
    model = row["model"] or say("all-models")
    return [row["id"], row["queue"], row["team"], model, devices(row["quota_milli"]), shares]


def devices(milli: int) -> str:
    """Thousandths of devices or cores as people write them: 2.5."""
    return f"{milli / WHOLE_MILLI:g}"


@quota.command("set")
def set_quota(
    queue: str,
    team: str,
    devices: Annotated[float, typer.Argument(min=0, help="Devices; parts are allowed.")],
    model: Annotated[str | None, typer.Option(help="Only devices of this model.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Say what a team may hold inside a queue: headrace quota set training vision 8"""
    wish = {"queue": queue, "team": team, "model": model, "quota_milli": round(devices * WHOLE_MILLI)}
    with Client() as client:
        _tell(client.set_team_quota(wish, dry_run=dry_run), dry_run=dry_run)


@quota.command("cap")
def set_cap(
    queue: str,
    percent: Annotated[float, typer.Argument(min=0, max=100, help="Of what is schedulable.")],
    reason: Annotated[str, typer.Option(help="Why; kept with the new version of the policy.")] = "",
    dry_run: DryRun = False,
) -> None:
    """Say what a queue may hold, as a new version of the policy: headrace quota cap training 40 --reason nights"""
    if not (reason or dry_run):
        raise Misuse(say("reason-needed"))
    with Client() as client:
        answer = client.set_cap(queue, percent, reason=reason, dry_run=dry_run)
    if dry_run:
        _foretell(answer)
    else:
        print(say("cap-set", queue=answer["name"], percent=f"{answer['quota_percent']:g}"))


@quota.command("share")
def set_share(
    number: Annotated[int, typer.Argument(help="The quota's id.")],
    username: str,
    devices: Annotated[float, typer.Argument(min=0, help="Devices; parts are allowed.")],
    dry_run: DryRun = False,
) -> None:
    """Say what a member may hold of a team's quota: headrace quota share 3 ada 2.5"""
    with Client() as client:
        answer = client.set_share(number, username, round(devices * WHOLE_MILLI), dry_run=dry_run)
    _tell(answer, dry_run=dry_run)


def _tell(answer: JSON, *, dry_run: bool) -> None:
    if not dry_run:
        print(say("quota-set", quota=answer["id"]))
        return
    _foretell(answer)


def _foretell(answer: JSON) -> None:
    for over in answer["over"]:
        who = escape_controls(over["owner"] or over["team"] or over["queue"])
        cap, held = devices(over["cap_milli"]), devices(over["held_milli"])
        print(say("would-be-over", who=who, held=held, cap=cap))
    for key in ("starts", "waits"):
        print(say(f"would-{key}", total=answer[f"{key}_total"]))


def arrays(as_json: AsJson = False) -> None:
    """List arrays of jobs, newest first, with how many tasks stand where."""
    with Client() as client:
        rows = client.arrays()
    if as_json:
        print_json(rows)
        return
    names = ("id", "name", "queue", "team", "owner", "tasks", "at-once", "counts")
    print_table([say(f"column-{name}") for name in names], [_array(row) for row in rows])


def _array(row: JSON) -> list[object]:
    counts = " ".join(f"{cell_word(status)}:{count}" for status, count in row["counts"].items() if count)
    at_once = row["at_once"] or row["tasks"]
    return [row["id"], row["name"], row["queue"], row["team"], row["owner"], row["tasks"], at_once, counts]


def cancel_array(array: Annotated[int, typer.Argument(help="The array's id.")]) -> None:
    """End all tasks of an array."""
    with Client() as client:
        row = client.cancel_array(array)
    print(say("array-cancelled", array=array, tasks=row["counts"]["cancelled"]))
