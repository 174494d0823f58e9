"""`headrace node`: nodes without an agent, watched over SSH."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON, Client
from client.errors import Misuse
from client.messages import say
from client.render import escape_controls, local_time, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Nodes without an agent, watched over SSH.")
Fingerprint = Annotated[
    str | None, typer.Option(help="The one that was compared on the machine: asks no question.")
]


class NotConfirmed(Misuse):
    """Nobody said that the host key is the machine's own."""


@app.command()
def watch(
    address: str,
    user: Annotated[str, typer.Option(help="Who signs in there.")],
    key: Annotated[str, typer.Option(help="Name of one of the server's SSH keys; see `node key`.")],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 22,
    node_set: Annotated[str | None, typer.Option(help="Node set it belongs to.")] = None,
    fingerprint: Fingerprint = None,
    fetch_images: Annotated[
        bool, typer.Option("--fetch-images", help="Have images fetched there ahead of demand.")
    ] = False,
) -> None:
    """Watch the machine at this address, once its host key is confirmed."""
    with Client() as client:
        shown = client.host_key(address, port)
        _compare(address, shown, fingerprint)
        wish = {"address": address, "port": port, "user": user, "key": key, "host_key": shown["host_key"]}
        wish |= {"node_set": node_set} if node_set else {}
        row = client.watch(wish | ({"fetches_images": True} if fetch_images else {}))
    typer.echo(say("watched", id=row["id"], address=address), err=True)


@app.command()
def confirm(number: int, fingerprint: Fingerprint = None) -> None:
    """Believe the new host key of a machine that was reinstalled, once it is compared."""
    with Client() as client:
        row = client.watched_node(number)
        shown = client.host_key(row["address"], row["port"])
        _compare(row["address"], shown, fingerprint)
        client.confirm_host_key(number, shown["host_key"])
    typer.echo(say("watched", id=number, address=row["address"]), err=True)


@app.command()
def fetch_images(
    number: int, off: Annotated[bool, typer.Option("--off", help="Fetch none there any more.")] = False
) -> None:
    """Have images fetched there ahead of demand; nothing else is ever changed on it."""
    with Client() as client:
        client.let_fetch_images(number, fetches=not off)
    typer.echo(say("fetching-off" if off else "fetching-on", id=number), err=True)


@app.command()
def watched(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List them, with how the last look went."""
    with Client() as client:
        rows = client.watched()
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo(say("empty-watched"), err=True)
    else:
        names = ("id", "way", "node", "fails", "report", "look")
        print_table([say(f"column-{name}") for name in names], [_cells(row) for row in rows])


@app.command()
def unwatch(number: int) -> None:
    """Look there no more; the node stays, and falls silent."""
    with Client() as client:
        client.unwatch(number)
    typer.echo(say("unwatched", id=number), err=True)


@app.command()
def key(name: str) -> None:
    """Make an SSH key of the server; prints its line for authorized_keys."""
    with Client() as client:
        print(escape_controls(client.make_ssh_key(name)["public_key"]))


def _cells(row: JSON) -> list[object]:
    node = say("not-seen") if row["node"] is None else row["node"]
    report = row["answered_at"] and local_time(row["answered_at"])
    words = [row["problem_text"], row["problem_detail"]] if row["problem"] else [say("look-fine")]
    if row["tried_at"] is None:
        words = [say("not-looked-at")]
    way = f"{row['user']}@{row['address']}:{row['port']}"
    return [row["id"], way, node, row["failures"], report, " — ".join(word for word in words if word)]


def _compare(address: str, shown: JSON, compared: str | None) -> None:
    """A key that no person compared is never believed."""
    seen = escape_controls(shown["fingerprint"])
    if compared is None:
        typer.echo(say("host-key", address=address, fingerprint=seen), err=True)
        if typer.confirm(say("same-host-key"), err=True):
            return
    elif compared == shown["fingerprint"]:
        return
    raise NotConfirmed(say("other-host-key", address=address, fingerprint=seen))
