"""Nodes without an agent by API and command: adding them with their host key, and what is shown of them."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from controlplane.accounts.models import AuditEntry, Role
from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory.models import Node, RemoteHost, RemoteProblem
from inventory.remote import keys
from inventory.remote.probing import probe
from inventory.remote.problems import TEXTS, problem_text
from tests.inventory.sshd import nvidia_smi
from tests.scheduling.factories import make_user

pytestmark = pytest.mark.django_db
# A host key of nobody.
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEb0m3w8yJ1n2V6zq5Vtq0Yk3mD0w4o7e9xZl1c2s3Qf"


@pytest.fixture
def operator(client):
    client.force_login(make_user("op", role=Role.OPERATOR))
    return client


@pytest.fixture
def body(ssh_key):
    return {"address": "gpu-9.example.org", "user": "watch", "key": ssh_key, "host_key": HOST_KEY}


def send(client, path, method="post", **body):
    return getattr(client, method)(f"/api/v1/{path}", data=body, content_type="application/json")


def test_a_node_is_added_with_the_key_that_the_scan_showed(operator, machine):
    machine.tool("nvidia-smi", nvidia_smi(0))
    shown = send(operator, "remote-hosts/scan", address="127.0.0.1", port=machine.port).json()
    assert shown["host_key"] == machine.host_key and shown["fingerprint"].startswith("SHA256:")
    way = machine.way
    body = {"address": way.address, "port": way.port, "user": way.user, "key": way.key}
    added = send(operator, "remote-hosts", **body, host_key=shown["host_key"], node_set="edge")
    assert added.status_code == 201 and added.json()["fingerprint"] == shown["fingerprint"]
    entry = AuditEntry.objects.get(action="remote-host-add")
    assert entry.details["fingerprint"] == shown["fingerprint"]
    probe(active_policy().health)
    (summary,) = operator.get("/api/v1/nodes").json()["results"]
    assert summary["agentless"] is True and summary["node_set"] == "edge" and summary["state"] == "ready"
    detail = operator.get(f"/api/v1/nodes/{summary['id']}").json()
    assert detail["remote"]["address"] == "127.0.0.1" and detail["remote"]["problem"] == ""
    assert detail["agentless"] is True and len(detail["devices"]) == 1


def test_the_last_problem_is_shown_in_words(operator, body):
    send(operator, "remote-hosts", **body)
    RemoteHost.objects.update(problem=RemoteProblem.KEY_REFUSED, problem_detail="watch", failures=3)
    (host,) = operator.get("/api/v1/remote-hosts").json()["results"]
    assert (host["problem"], host["failures"], host["node"]) == ("key-refused", 3, None)
    assert host["problem_text"] == "The node refused the key for this user." and "memory" not in host
    assert set(TEXTS) == set(RemoteProblem) and problem_text("") == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("address", "gpu-9 -oProxyCommand=x"),
        ("address", "-x"),
        ("user", "root;id"),
        ("user", "-l"),
        ("port", 0),
        ("port", 65536),
        ("key", "nobody"),
        ("key", "../fleet"),
        ("host_key", "ssh-ed25519 AAAA"),
        ("host_key", "ssh-ed25519"),
        ("host_key", "ssh-rsa " + HOST_KEY.split()[1]),
    ],
)
def test_bad_input_is_refused_by_field(operator, body, field, value):
    answer = send(operator, "remote-hosts", **(body | {field: value}))
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not RemoteHost.objects.exists()


def test_one_address_has_one_entry(operator, body):
    assert send(operator, "remote-hosts", **body).status_code == 201
    again = send(operator, "remote-hosts", **body)
    assert (again.status_code, again.json()["code"]) == (409, "remote-host-exists")


def test_a_scan_that_reaches_nobody_says_why(operator, machine):
    machine.stop()
    answer = send(operator, "remote-hosts/scan", address="127.0.0.1", port=machine.port)
    assert (answer.status_code, answer.json()["code"]) == (409, "ssh-unreachable")


def test_a_new_host_key_is_confirmed_by_a_person(operator, machine):
    row = machine.host(host_key=HOST_KEY)
    probe(active_policy().health)
    assert RemoteHost.objects.get().problem == "host-key-changed"
    answer = send(operator, f"remote-hosts/{row.pk}/host-key", "put", host_key=machine.host_key)
    assert answer.status_code == 200
    probe(active_policy().health)
    assert RemoteHost.objects.get().problem == ""
    assert AuditEntry.objects.filter(action="remote-host-confirm").count() == 1


def test_a_removed_entry_leaves_the_node_to_its_silence(operator, machine):
    row = machine.host()
    probe(active_policy().health)
    revision = Node.objects.get().revision
    assert operator.delete(f"/api/v1/remote-hosts/{row.pk}").status_code == 204
    node = Node.objects.get()
    assert node.revision > revision and not RemoteHost.objects.exists()
    assert operator.get(f"/api/v1/nodes/{node.pk}").json()["remote"] is None


def test_the_servers_keys_are_made_and_shown_by_their_public_half(operator, ssh_key):
    made = send(operator, "ssh-keys", name="second")
    assert made.status_code == 201 and made.json()["public_key"].startswith("ssh-ed25519 ")
    assert send(operator, "ssh-keys", name="second").json()["code"] == "ssh-key-exists"
    assert send(operator, "ssh-keys", name="../x").status_code == 400
    (keys.folder() / "broken").write_text("x")
    found = operator.get("/api/v1/ssh-keys").json()["results"]
    assert [one["name"] for one in found] == ["broken", "fleet", "second"]
    assert found[0]["public_key"] is None and "PRIVATE" not in str(found)
    assert (keys.folder() / "second").stat().st_mode & 0o777 == 0o600
    assert keys.folder().stat().st_mode & 0o777 == 0o700


def test_members_neither_see_nor_add_ways_to_nodes(client, body):
    client.force_login(make_user("anna"))
    assert client.get("/api/v1/remote-hosts").status_code == 403
    assert send(client, "remote-hosts", **body).status_code == 403
    assert send(client, "remote-hosts/scan", address="127.0.0.1").status_code == 403


def run(*arguments, say=""):
    out = io.StringIO()
    call_command("remote_host", *arguments, stdout=out, stdin=io.StringIO(say))
    return out.getvalue()


def test_the_command_asks_before_it_believes_a_host_key(machine, settings):
    way = machine.way
    add = ["add", "127.0.0.1", "--port", str(way.port), "--user", way.user, "--key", way.key]
    with pytest.raises(CommandError, match="not added"):
        run(*add, say="no\n")
    said = run(*add, say="yes\n")
    assert keys.fingerprint(keys.parse_host_key(machine.host_key)) in said
    assert RemoteHost.objects.get().host_key == machine.host_key
    assert "127.0.0.1" in run("list") and "never" in run("list")
    run("remove", str(RemoteHost.objects.get().pk))
    assert not RemoteHost.objects.exists()


def test_the_command_takes_a_fingerprint_that_was_compared_before(machine):
    way = machine.way
    add = ["add", "127.0.0.1", "--port", str(way.port), "--user", way.user, "--key", way.key]
    with pytest.raises(CommandError, match="shows another"):
        run(*add, "--fingerprint", "SHA256:nobody")
    run(*add, "--fingerprint", keys.fingerprint(keys.parse_host_key(machine.host_key)))
    assert RemoteHost.objects.get().due_at <= clock.now() + timedelta(seconds=1)
    assert run("key", "third").startswith("ssh-ed25519 ")
