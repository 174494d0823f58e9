"""Nodes and devices over REST."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agent import protocol
from agent.protocol import EnrolReply
from controlplane.accounts.models import AuditEntry, Role, User
from controlplane.base import clock
from inventory.ingest import apply_facts
from inventory.models import (
    Device,
    DeviceHealth,
    DeviceReading,
    EnrolmentToken,
    Node,
    NodeContact,
    NodeReading,
    NodeState,
)
from inventory.node_states import quarantine_restored
from scheduling.backends.agent import epoch_of
from tests.agentapi.speaking import enrol, enrol_request
from tests.inventory.factories import THRESHOLDS, device_facts, facts, link, make_device, make_node

pytestmark = pytest.mark.django_db


def signed_in(role=Role.OPERATOR):
    client = Client()
    user = User.objects.create_user(
        f"user-{role}", email=f"{role}@example.org", password="a long password", role=role
    )
    client.force_login(user)
    return client


@pytest.fixture
def operator():
    return signed_in()


@pytest.fixture
def node():
    node = make_node()
    apply_facts(
        node,
        facts(
            device_facts(0, uuid="A"),
            device_facts(1, uuid="B", model="Nobody's Card"),
            links=[link(0, 1, lanes=12)],
            reserved_cpus=[0],
            labels={"zone": "a"},
            node_set="left",
        ),
        digest="d",
        thresholds=THRESHOLDS,
    )
    return node


def get(client, path):
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def post(client, path, **body):
    return client.post(f"/api/v1/{path}", data=body, content_type="application/json")


def test_the_list_shows_summaries_and_filters(operator, node):
    make_node("machine-2", state=NodeState.CORDONED)
    (summary,) = get(operator, "nodes?node_set=left")["results"]
    assert (summary["name"], summary["devices"], summary["node_set"]) == ("n1", 2, "left")
    assert summary["device_models"] == ["NVIDIA A100-SXM4-80GB", "Nobody's Card"]
    assert summary["last_report_at"] is None and summary["clock_offset_ms"] is None
    assert [row["name"] for row in get(operator, "nodes?state=cordoned")["results"]] == ["machine-2"]
    assert [row["name"] for row in get(operator, "nodes?search=N1")["results"]] == ["n1"]
    assert [row["name"] for row in get(operator, "nodes?search=machine-1")["results"]] == ["n1"]


@pytest.mark.parametrize("query", ["state=broken", "colour=red", "limit=0", "limit=501", "cursor=x"])
def test_wrong_filters_are_refused(operator, query):
    assert operator.get(f"/api/v1/nodes?{query}").status_code == 400


def test_lists_take_a_constant_number_of_queries(operator, node):
    def count(path):
        with CaptureQueriesContext(connection) as queries:
            get(operator, path)
        return len(queries)

    first = [count("nodes"), count("devices")]
    for number in range(2, 12):
        make_device(make_node(f"machine-{number}"), number)
    assert [count("nodes"), count("devices")] == first


def test_the_detail_shows_cpus_devices_links_and_unknown_as_null(operator, node):
    NodeReading.objects.create(node=node, at=clock.now(), cpu_used_milli=1500)
    NodeContact.objects.update(clock_offset_us=-1500)
    document = get(operator, f"nodes/{node.pk}")
    assert [cpu["reserved"] for cpu in document["cpus"]] == [True, False, False, False]
    assert document["cpus"][1] == {
        "id": 1, "core": 1, "socket": 0, "numa": 0, "max_mhz": 3000, "online": True, "reserved": False,
        "placement": None, "job": None,
    }  # fmt: skip
    assert [device["uuid"] for device in document["devices"]] == ["A", "B"]
    a, b = (device["id"] for device in document["devices"])
    assert document["links"] == [{"a": a, "b": b, "kind": "NV", "lanes": 12, "bandwidth_mb_s": None}]
    assert document["reading"]["cpu_used_milli"] == 1500 and document["reading"]["power_mw"] is None
    assert document["booked"] == {"cores": 0, "memory_mib": 0} and document["placements"] == []
    assert document["clock_offset_ms"] == -1.5 and document["arch"] == "x86_64"


def test_a_device_shows_its_catalogue_entry_or_none(operator, node):
    first, second = Device.objects.order_by("id")
    DeviceReading.objects.create(device=first, at=clock.now(), temperature_c=50)
    document = get(operator, f"devices/{first.pk}")
    assert (
        document["catalogue"]["name"] == "NVIDIA A100 SXM4 80 GB"
        and document["catalogue"]["tflops"]["fp16"] == 312
    )
    assert document["reading"]["temperature_c"] == 50 and document["node_name"] == "n1"
    assert get(operator, f"devices/{second.pk}")["catalogue"] is None
    assert len(get(operator, f"devices?node={node.pk}&health=unknown&vendor=nvidia")["results"]) == 2
    assert get(operator, "devices?model=Nobody's Card")["results"][0]["id"] == second.pk


@pytest.mark.parametrize("path", ["nodes/999", "devices/999"])
def test_what_does_not_exist_is_404(operator, path):
    assert operator.get(f"/api/v1/{path}").status_code == 404
    assert post(operator, f"{path}/cordon").status_code == 404


@pytest.mark.parametrize(
    ("operation", "state"),
    [("cordon", "cordoned"), ("drain", "draining"), ("maintenance", "maintenance")],
)
def test_operators_take_nodes_out_and_back(operator, node, operation, state):
    revision = Node.objects.get().revision
    answer = post(operator, f"nodes/{node.pk}/{operation}", reason="fan")
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["state_reason"]) == (state, "fan")
    assert Node.objects.get().revision > revision
    assert AuditEntry.objects.get().action == f"node-{operation}"
    assert post(operator, f"nodes/{node.pk}/{operation}", reason="fan").status_code == 200
    assert post(operator, f"nodes/{node.pk}/uncordon").json()["state"] == "ready"


def test_what_an_operator_wants_of_a_silent_node_holds_when_it_is_back(operator, node):
    Node.objects.update(state=NodeState.SILENT, state_before_silence=NodeState.READY)
    assert post(operator, f"nodes/{node.pk}/cordon").json()["state"] == "silent"
    assert Node.objects.get().state_before_silence == NodeState.CORDONED


def test_a_quarantined_node_needs_a_release_first(operator, node):
    assert post(operator, f"nodes/{node.pk}/release").json()["code"] == "node-not-quarantined"
    Node.objects.update(state=NodeState.QUARANTINED)
    refused = post(operator, f"nodes/{node.pk}/uncordon")
    assert (refused.status_code, refused.json()["code"]) == (409, "node-quarantined")
    assert post(operator, f"nodes/{node.pk}/release", reason="clone off").json()["state"] == "ready"


def test_only_an_admin_lets_a_node_obey_a_restored_backup(operator, node):
    quarantine_restored(node, obeyed_epoch=9, epoch=3)
    NodeContact.objects.filter(node=node).update(epoch=9)
    assert post(operator, f"nodes/{node.pk}/obey").status_code == 403
    admin = signed_in(Role.ADMIN)
    assert post(admin, f"nodes/{node.pk}/obey", reason="the backup").json()["state"] == "ready"
    assert epoch_of(node.pk) == 10 and AuditEntry.objects.get().action == "node-obey"
    refused = post(admin, f"nodes/{node.pk}/obey")
    assert (refused.status_code, refused.json()["code"]) == (409, "node-not-ahead")


def test_operators_cordon_devices_and_release_recovered_ones(operator, node):
    device = Device.objects.order_by("id")[0]
    assert post(operator, f"devices/{device.pk}/cordon", reason="test").json()["cordoned"] is True
    assert post(operator, f"devices/{device.pk}/uncordon").json()["cordoned"] is False
    refused = post(operator, f"devices/{device.pk}/release")
    assert (refused.status_code, refused.json()["code"]) == (409, "device-not-recovered")
    Device.objects.update(health=DeviceHealth.RECOVERED)
    assert post(operator, f"devices/{device.pk}/release", reason="looks good").json()["health"] == "healthy"
    assert Device.objects.get(pk=device.pk).events.get().actor == "user-operator"
    assert post(operator, f"devices/{device.pk}/release", reason="looks good").status_code == 200


@pytest.mark.parametrize("body", [{"reason": 7}, {"reason": "x" * 501}, {"why": "x"}])
def test_wrong_bodies_are_refused(operator, node, body):
    assert post(operator, f"nodes/{node.pk}/cordon", **body).status_code == 400


def test_members_look_and_do_not_touch(node):
    member = signed_in(Role.MEMBER)
    assert get(member, "nodes")["results"] and get(member, f"nodes/{node.pk}")
    device = Device.objects.all()[0]
    for path in (
        f"nodes/{node.pk}/drain",
        f"nodes/{node.pk}/release",
        f"devices/{device.pk}/cordon",
        "enrolment-tokens",
    ):
        assert post(member, path).status_code == 403


def test_nobody_sees_nothing(node):
    for path in ("nodes", f"nodes/{node.pk}", "devices"):
        assert Client().get(f"/api/v1/{path}").status_code == 401


def test_an_enrolment_token_enrols_once_and_says_how(operator):
    answer = post(operator, "enrolment-tokens", node_set="right", expires_in_hours=2)
    assert answer.status_code == 201
    body = answer.json()
    assert body["token"] in body["command"] and "--server http://localhost:8000" in body["command"]
    stored = EnrolmentToken.objects.get()
    assert timedelta(hours=1, minutes=59) < stored.expires_at - clock.now() <= timedelta(hours=2)
    reply = protocol.decode(enrol(enrol_request(body["token"])).content, EnrolReply)
    assert Node.objects.get(pk=reply.node).node_set.name == "right"
    assert AuditEntry.objects.filter(action="enrolment-token-create").exists()


def test_only_an_admin_lets_a_machine_take_a_node_over(operator, node):
    assert post(operator, "enrolment-tokens", node=node.pk).status_code == 403
    assert post(operator, "enrolment-tokens", node=9999).status_code == 403
    assert not EnrolmentToken.objects.exists()
    admin = signed_in(Role.ADMIN)
    assert post(admin, "enrolment-tokens", node=9999).json()["errors"][0]["field"] == "node"
    assert post(admin, "enrolment-tokens", node=node.pk).status_code == 201
    assert EnrolmentToken.objects.get().replaces == node
