"""`headrace node`: the host key is compared before a node is added."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import ROOT

KEY = {"host_key": "ssh-ed25519 AAAA", "fingerprint": "SHA256:abc"}
ROW = {
    "id": 3,
    "address": "10.0.0.9",
    "port": 2222,
    "user": "watch",
    "key": "fleet",
    "fingerprint": "SHA256:abc",
    "node": None,
    "tried_at": "2026-01-01T00:00:00Z",
    "answered_at": None,
    "failures": 2,
    "problem": "key-refused",
    "problem_text": "The node refused the key.",
    "problem_detail": "wa\x1btch",
}


def respond(request: Asked) -> Answer:
    if request.path.endswith("/scan"):
        return Answer(200, KEY)
    if request.method == "DELETE":
        return Answer(204, b"")
    if request.path.endswith("/ssh-keys"):
        return Answer(201, {"name": "fleet", "public_key": "ssh-ed25519 BBBB"})
    if request.path.endswith("/9"):
        return Answer(404, {"code": "not-found", "detail": "There is no such thing.", "status": 404})
    if request.method == "GET" and request.path.endswith("/remote-hosts"):
        return Answer(200, {"next": None, "previous": None, "results": [ROW]})
    return Answer(201 if request.method == "POST" else 200, ROW)


def node(*arguments: str, url: str, said: str = "", lang: str = "en") -> subprocess.CompletedProcess[str]:
    env = {"HOME": "/nonexistent", "LANG": lang, "HEADRACE_URL": url, "HEADRACE_TOKEN": "t"}
    command = [sys.executable, "-m", "client", "node", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=env, input=said, capture_output=True, text=True, timeout=60, check=False
    )


WATCH = ("watch", "10.0.0.9", "--port", "2222", "--user", "watch", "--key", "fleet")


@pytest.mark.parametrize(
    ("more", "said"), [((), "y\n"), (("--fingerprint", "SHA256:abc"), ""), (("--node-set", "edge"), "y\n")]
)
def test_a_node_is_added_with_the_key_that_was_compared(more, said):
    with scripted(respond) as server:
        done = node(*WATCH, *more, url=server.url, said=said)
    assert done.returncode == 0 and "Watched as 3" in done.stderr
    scan, add = server.asked
    assert scan.body == {"address": "10.0.0.9", "port": 2222}
    wish = {**scan.body, "user": "watch", "key": "fleet", "host_key": "ssh-ed25519 AAAA"}
    assert add.body == (wish | {"node_set": "edge"} if "--node-set" in more else wish)


@pytest.mark.parametrize(("more", "said"), [((), "n\n"), (("--fingerprint", "SHA256:other"), "")])
def test_a_key_that_is_another_or_that_nobody_compared_changes_nothing(more, said):
    with scripted(respond) as server:
        done = node(*WATCH, *more, url=server.url, said=said)
    assert done.returncode == 64 and "SHA256:abc" in done.stderr and "not confirmed" in done.stderr
    assert [request.path for request in server.asked] == ["/api/v1/remote-hosts/scan"]


def test_the_list_says_the_last_error_and_cannot_steer_a_terminal():
    with scripted(respond) as server:
        done = node("watched", url=server.url)
        chinese = node("watched", url=server.url, lang="zh_CN.UTF-8")
        document = node("watched", "--json", url=server.url)
    assert done.stdout.split("\n")[1].split("\t") == [
        *("3", "watch@10.0.0.9:2222", "not seen yet", "2", "unknown"),
        "The node refused the key. — wa\\x1btch",
    ]
    assert "尚未见到" in chinese.stdout
    assert json.loads(document.stdout) == [ROW]


def test_a_new_host_key_is_confirmed_and_an_entry_removed():
    with scripted(respond) as server:
        assert node("confirm", "3", url=server.url, said="y\n").returncode == 0
        assert server.asked[-1].method == "PUT" and server.asked[-1].body == {"host_key": "ssh-ed25519 AAAA"}
        assert node("unwatch", "3", url=server.url).returncode == 0
        gone = node("confirm", "9", url=server.url)
        assert gone.returncode == 64 and "Watched node 9: There is no such thing." in gone.stderr
        assert node("key", "fleet", url=server.url).stdout == "ssh-ed25519 BBBB\n"
