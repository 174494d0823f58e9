"""`headrace images`: tables, orders by node name, and exit codes."""

from __future__ import annotations

from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import headrace

NAME = "docker.io/library/python:3"
IMAGE = {
    "id": 7, "name": NAME, "size_mib": 2048, "nodes": 3, "wanted": 1, "fetched": 1, "starts": 4, "hits": 3,
    "pull_ms": {"mean": 1500, "p50": 1500, "p95": 1500, "p99": 1500},
}  # fmt: skip
PUSH = {"stage": "failed", "why": "person", "ended_at": None, "ms": None, "problem": "no \x1b[31mroom"}
MARKS = {"count": 4, "mean": 2.0, "p50": 1.0, "p95": 3.0, "p99": None}


def page(*rows):
    return Answer(body={"next": None, "previous": None, "results": list(rows)})


def respond(request: Asked) -> Answer:
    if request.path.endswith("/orders"):
        refused = {"node": 9, "node_name": "n9", "changed": False, "code": "not-ours", "text": "Stays."}
        fine = {"node": 5, "node_name": "n5", "changed": True, "code": None, "text": None}
        return Answer(body={"outcomes": [fine] if request.body["action"] == "warm" else [fine, refused]})
    if request.path.endswith("/summary"):
        told = {"days": 7, "starts": 4, "hits": 3, "pull_s": MARKS, "wait_s": MARKS, "pull_percent": None}
        return Answer(body=told)
    if request.path.endswith("/images/7/nodes"):
        row = {"node": 5, "node_name": "n5", "here": False, "push": PUSH, "starts": 1, "hits": 0}
        return page(row, row | {"node_name": "n6", "here": True, "push": None})
    return page({"id": 5, "name": "n5"}) if request.path.endswith("/nodes") else page(IMAGE)


def test_images_are_listed_with_what_fetching_took():
    with scripted(respond) as server:
        done = headrace("images", "list", "--days", "7", url=server.url)
    assert done.returncode == 0, done.stderr
    row = done.stdout.decode().splitlines()[1].split("\t")
    assert row == [NAME, "2.0 GiB", "3", "1", "4", "3", "1.5 s", "1.5 s", "1.5 s"]
    assert server.asked[0].query["days"] == ["7"]


def test_an_image_is_found_by_the_end_of_its_name_and_shown_node_by_node():
    with scripted(respond) as server:
        done = headrace("images", "show", "python:3", url=server.url)
        missing = headrace("images", "show", "thon:3", url=server.url)
    first, second = (line.split("\t") for line in done.stdout.decode().splitlines()[1:])
    assert first == ["n5", "no", "failed", "person", "", "", "1", "0", "no \\x1b[31mroom"]
    assert second[:3] == ["n6", "yes", "none"]
    assert missing.returncode == 64 and b"thon:3" in missing.stderr


def test_orders_name_nodes_and_end_with_an_error_where_one_was_refused():
    with scripted(respond) as server:
        fine = headrace("images", "warm", "python:3", "n5", "--reason", "release", url=server.url)
        partly = headrace("images", "prune", "python:3", "n5", "9", url=server.url)
    assert (fine.returncode, fine.stdout) == (0, b"n5: ordered\n")
    assert (partly.returncode, partly.stdout) == (64, b"n5: ordered\nn9: Stays.\n")
    bodies = [asked.body for asked in server.asked if asked.method == "POST"]
    wish = {"action": "warm", "image": "python:3", "nodes": [5], "reason": "release"}
    assert bodies == [wish, {"action": "prune", "image": "python:3", "nodes": [5, 9], "reason": ""}]


def test_what_is_unknown_of_the_waits_is_said_to_be_unknown():
    with scripted(respond) as server:
        done = headrace("images", "stats", url=server.url)
        chinese = headrace("images", "stats", url=server.url, lang="zh_CN")
    lines = done.stdout.decode().splitlines()
    assert lines[:2] == [
        "3 of 4 starts in 7 days found their image on the node.",
        "Share of fetching in the wait: unknown",
    ]
    assert lines[3].split("\t") == ["fetching", "2.0 s", "1.0 s", "3.0 s", "unknown"]
    assert "未知" in chinese.stdout.decode()
