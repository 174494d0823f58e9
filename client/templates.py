"""`headrace template`: named forms of requests of a team, for `headrace submit --template NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from client.api import JSON, Client
from client.errors import Misuse
from client.messages import say
from client.render import print_json, print_table
from client.submission import read_object

app = typer.Typer(no_args_is_help=True, help="Named forms of requests, for submit --template NAME.")
Team = Annotated[str | None, typer.Option(help="The team; needed where several have one of this name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def listed(team: Team = None, as_json: AsJson = False) -> None:
    """List the templates of your teams."""
    with Client() as client:
        rows = client.templates(team=team)
    if as_json:
        print_json(rows)
    elif not rows:
        print(say("empty-templates"))
    else:
        names = ("name", "team", "owner", "description")
        print_table(
            [say(f"column-{name}") for name in names], [[row[name] for name in names] for row in rows]
        )


@app.command("show")
def show(name: str, team: Team = None) -> None:
    """Print what a template says, as JSON that `template save --file` takes."""
    with Client() as client:
        print_json(_one(client, name, team)["spec"])


@app.command("save")
def save(
    name: str,
    file: Annotated[Path, typer.Option(help="JSON job specification; anything may be missing.")],
    team: Annotated[str, typer.Option(help="The team it belongs to.")],
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
) -> None:
    """Make a template, or give it another content: headrace template save nightly --team vision --file nightly.json"""
    wish: dict[str, Any] = {"spec": read_object(file)}
    if description is not None:
        wish["description"] = description
    with Client() as client:
        there = client.templates(team=team, name=name)
        if there:
            client.save_template(wish, number=there[0]["id"])
        else:
            client.save_template({**wish, "name": name, "team": team})
    print(say("template-saved", name=name, team=team))


@app.command("remove")
def remove(name: str, team: Team = None) -> None:
    """Remove a template; jobs made from it stay as they are."""
    with Client() as client:
        client.drop_template(_one(client, name, team)["id"])
    print(say("template-gone", name=name))


def _one(client: Client, name: str, team: str | None) -> JSON:
    rows = client.templates(team=team, name=name)
    if not rows:
        raise Misuse(say("no-such-template", name=name))
    if len(rows) > 1:
        raise Misuse(say("which-template", name=name))
    return rows[0]
