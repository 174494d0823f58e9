"""Commands that act on many jobs at once, each with its own outcome: one that is refused keeps none of the others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from client.api import JSON, Client
from client.errors import Misuse
from client.messages import say
from client.options import in_options
from client.render import escape_controls, print_json

Jobs = Annotated[list[int], typer.Argument(help="Job numbers.")]
LoseWork = Annotated[bool, typer.Option("--lose-work", help="Stop it even without a checkpoint.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Bulk(StrEnum):
    """What may be done to many jobs."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"
    SUSPEND = "suspend"
    RESUME = "resume"
    REQUEUE = "requeue"
    REPRIORITISE = "reprioritise"


def hold(job: Jobs) -> None:
    """Keep waiting jobs from starting until they are released."""
    _do({"action": Bulk.HOLD, "jobs": job})


def release(job: Jobs) -> None:
    """Let held jobs wait for a place again."""
    _do({"action": Bulk.RELEASE, "jobs": job})


def requeue(job: Jobs, lose_work: LoseWork = False) -> None:
    """Stop jobs, after their checkpoint, and let them wait again where they stood in their queue."""
    _do({"action": Bulk.REQUEUE, "jobs": job, "lose_work": lose_work})


def priority(
    value: Annotated[int, typer.Argument(help="Higher first, within the queue.")], job: Jobs
) -> None:
    """Give jobs another place in their queue: headrace priority 10 4711 4712"""
    _do({"action": Bulk.REPRIORITISE, "jobs": job, "priority": value})


def bulk(
    action: Annotated[Bulk, typer.Argument(help="What to do.")],
    status: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Only this team.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner.")] = None,
    search: Annotated[str | None, typer.Option(help="Text in the name.")] = None,
    priority: Annotated[int | None, typer.Option(help="The new priority, to reprioritise.")] = None,
    lose_work: LoseWork = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which jobs it would be.")] = False,
    as_json: AsJson = False,
) -> None:
    """Act on all jobs that are found and not over: headrace bulk cancel --owner ada --status pending"""
    found = {"status": status, "queue": queue, "team": team, "owner": owner, "search": search}
    wish: JSON = {"action": action, "filter": {name: value for name, value in found.items() if value}}
    if priority is not None:
        wish["priority"] = priority
    if lose_work:
        wish["lose_work"] = True
    _do(wish | ({"dry_run": True} if dry_run else {}), as_json=as_json)


COMMANDS = (hold, release, requeue, priority, bulk)


def _do(wish: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Act, in as many calls as it takes, and end with an error when any job was refused."""
    refused = False
    with Client() as client:
        while True:
            answer = client.bulk(dict(wish))
            refused |= any(row["code"] for row in answer["outcomes"])
            if as_json:
                print_json(answer)
            else:
                _show(answer, dry_run=bool(wish.get("dry_run")))
            # What was refused stays in the filter: only a call that changed something may be followed by another.
            if not answer["left"] or not any(row["changed"] for row in answer["outcomes"]):
                break
    if refused:
        raise Misuse(say("some-refused"))


def _show(answer: JSON, *, dry_run: bool) -> None:
    for row in answer["outcomes"]:
        job = row["job"]
        if row["code"]:
            sys.stderr.write(
                f"{say('about-job', job=job, detail=escape_controls(in_options(row['text'] or '')))}\n"
            )
        elif dry_run:
            print(job)
        else:
            print(say("job-changed" if row["changed"] else "job-unchanged", job=job))
    if answer["left"]:
        print(say("jobs-left", left=answer["left"]))
