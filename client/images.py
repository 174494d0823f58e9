"""`headrace images`: where images are, what fetching them costs, and orders to fetch or remove them."""

from __future__ import annotations

from typing import Annotated

import typer

from client.api import JSON, Client, as_documented
from client.errors import Misuse
from client.messages import say
from client.render import cell_word, escape_controls, local_time, print_json, print_table, quantity

app = typer.Typer(
    no_args_is_help=True, help="Where images are, what fetching them costs, and orders about them."
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Days = Annotated[int | None, typer.Option(min=1, help="So many days back; else all that is kept.")]
Name = Annotated[str, typer.Argument(help="The image; its end is enough where only one has it.")]
Nodes = Annotated[list[str], typer.Argument(help="Nodes, by name or number.")]
Reason = Annotated[str, typer.Option(help="Why; kept in the audit trail.")]


@app.command("list")
@as_documented()
def images(
    search: Annotated[str | None, typer.Option(help="Text in the name.")] = None,
    days: Days = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 200,
    as_json: AsJson = False,
) -> None:
    """List images: size, nodes that have them, hits among their starts, how long fetching took."""
    with Client() as client:
        rows = client.images(limit=limit, search=search, days=days)
    if as_json:
        print_json(rows)
        return
    names = ("image", "size", "nodes", "wanted", "starts", "hits", "pull-p50", "pull-p95", "pull-p99")
    print_table([say(f"column-{name}") for name in names], [_row(row) for row in rows])


def _row(row: JSON) -> list[object]:
    pulls = row["pull_ms"]
    marks = [say("none") if pulls is None else _seconds(pulls[mark]) for mark in ("p50", "p95", "p99")]
    size = quantity(row["size_mib"], "MiB")
    return [row["name"], size, row["nodes"], row["wanted"], row["starts"], row["hits"], *marks]


@app.command()
@as_documented()
def show(name: Name, days: Days = None, as_json: AsJson = False) -> None:
    """Show on which nodes an image is, where it is wanted and why, and how its last fetching went."""
    with Client() as client:
        rows = client.image_nodes(_found(client, name)["id"], days=days)
    if as_json:
        print_json(rows)
        return
    names = ("node", "here", "stage", "why", "fetched", "took", "starts", "hits", "problem")
    print_table([say(f"column-{name}") for name in names], [_place(row) for row in rows])


def _place(row: JSON) -> list[object]:
    here, push = say("yes" if row["here"] else "no"), row["push"]
    if push is None:
        return [row["node_name"], here, say("none"), "", "", "", row["starts"], row["hits"], ""]
    ended = local_time(push["ended_at"]) if push["ended_at"] else ""
    took = "" if push["ms"] is None else _seconds(push["ms"])
    stage, why = cell_word(push["stage"]), cell_word(push["why"])
    return [row["node_name"], here, stage, why, ended, took, row["starts"], row["hits"], push["problem"]]


@app.command()
@as_documented()
def stats(days: Days = None, as_json: AsJson = False) -> None:
    """Show how many starts found their image, and which part of the wait went into fetching."""
    with Client() as client:
        found = client.images_summary(days=days)
    if as_json:
        print_json(found)
        return
    print(say("image-hits", hits=found["hits"], starts=found["starts"], days=found["days"]))
    share = found["pull_percent"]
    print(say("image-share", share=say("unknown") if share is None else f"{share:g} %"))
    names = ("", "mean", "p50", "p95", "p99")
    parts = (("pull-part", found["pull_s"]), ("wait-part", found["wait_s"]))
    rows = [[say(f"image-{part}"), *(_known(marks[mark]) for mark in names[1:])] for part, marks in parts]
    print_table([say(f"column-{name}") if name else "" for name in names], rows)


@app.command()
@as_documented()
def warm(
    image: str,
    node: Nodes,
    secret: Annotated[str | None, typer.Option(help="Name of the server's secret for its registry.")] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Have an image fetched on nodes before a job needs it: headrace images warm pytorch:2.8 n1 n2"""
    _order({"action": "warm", "image": image} | ({"secret": secret} if secret else {}), node, reason, as_json)


@app.command()
@as_documented()
def prune(image: str, node: Nodes, reason: Reason = "", as_json: AsJson = False) -> None:
    """Have an image gone from nodes that fetched it ahead; what others brought there stays."""
    _order({"action": "prune", "image": image}, node, reason, as_json)


def _order(wish: JSON, nodes: list[str], reason: str, as_json: bool) -> None:
    with Client() as client:
        numbers = [int(node) if node.isdecimal() else client.node_number(node) for node in nodes]
        answer = client.order_image(wish | {"nodes": numbers, "reason": reason})
    if as_json:
        print_json(answer)
    for row in answer["outcomes"] if not as_json else ():
        text = say("ordered") if row["changed"] else row["text"]
        print(escape_controls(f"{row['node_name'] or row['node']}: {text}"))
    if not all(row["changed"] for row in answer["outcomes"]):
        raise Misuse(say("some-nodes-refused"))


def _found(client: Client, name: str) -> JSON:
    """The image of this name, or the only one whose name ends so."""
    rows = client.images(limit=200, search=name)
    exact = [row for row in rows if row["name"] == name]
    found = exact or [row for row in rows if row["name"].endswith(f"/{name}")]
    if len(found) != 1:
        raise Misuse(say("several-images" if found else "no-such-image", image=escape_controls(name)))
    return found[0]


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _known(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.1f} s"
