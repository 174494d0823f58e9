"""What operators do over REST: draining by a deadline, labels, releases; links and models to look at."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.accounts.models import AuditEntry, Role
from controlplane.alerts.models import Alert
from controlplane.base import clock
from inventory.ingest import apply_facts
from inventory.models import Device, DeviceHealth, DeviceLink, Node
from inventory.operations import release_device
from tests.inventory.factories import THRESHOLDS, device_facts, facts, link, make_device, make_node
from tests.inventory.test_api import get, post, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator():
    return signed_in()


@pytest.fixture
def node() -> Node:
    node = make_node()
    report(node)
    return node


def report(node: Node, **changes) -> None:
    devices = [device_facts(0), device_facts(1, model="Nobody's Card", compute_units=7)]
    given = {"links": [link(0, 1, lanes=12)], "labels": {"zone": "a", "rack": "r1"}, **changes}
    node.refresh_from_db()
    apply_facts(node, facts(*devices, **given), digest="d", thresholds=THRESHOLDS)


def put_labels(client, node: Node, labels: object, **headers: str):
    return client.put(
        f"/api/v1/nodes/{node.pk}/labels",
        data={"labels": labels, "reason": "r"},
        content_type="application/json",
        headers=headers,
    )


def test_a_drain_may_have_a_deadline_which_another_drain_changes_and_uncordon_forgets(operator, node):
    deadline = clock.now() + timedelta(hours=2)
    answer = post(operator, f"nodes/{node.pk}/drain", reason="fan", deadline=deadline.isoformat())
    assert answer.json()["state"] == "draining"
    assert Node.objects.get().drain_deadline == deadline and answer.json()["drain_deadline"]
    assert AuditEntry.objects.get().details["deadline"] == deadline.isoformat()
    assert post(operator, f"nodes/{node.pk}/drain", reason="fan").json()["drain_deadline"] is None
    post(operator, f"nodes/{node.pk}/drain", deadline=deadline.isoformat())
    assert post(operator, f"nodes/{node.pk}/uncordon").json()["drain_deadline"] is None


@pytest.mark.parametrize("deadline", ["yesterday", "2001-01-01T00:00:00Z", 7])
def test_a_deadline_lies_in_the_future(operator, node, deadline):
    refused = post(operator, f"nodes/{node.pk}/drain", deadline=deadline)
    assert refused.status_code == 400 and refused.json()["errors"][0]["field"] == "deadline"
    assert post(operator, f"nodes/{node.pk}/cordon", deadline=None).status_code == 400


def test_labels_of_operators_stand_over_those_of_the_agent_and_survive_its_reports(operator, node):
    answer = put_labels(operator, node, {"zone": "b", "team": "vision"})
    assert answer.json()["labels"] == {"zone": "b", "rack": "r1", "team": "vision"}
    report(node, labels={"zone": "c"})
    assert Node.objects.get().labels == {"zone": "b", "team": "vision"}
    assert get(operator, f"nodes/{node.pk}")["own_labels"] == {"zone": "b", "team": "vision"}
    assert put_labels(operator, node, {}).json()["labels"] == {"zone": "c"}
    entry = AuditEntry.objects.order_by("id")[0]
    assert (entry.action, entry.details["before"]) == ("node-labels", {})
    assert entry.details["after"] == {"zone": "b", "team": "vision"}


def test_of_two_operators_who_edit_the_same_labels_the_second_is_refused(operator, node):
    seen = operator.get(f"/api/v1/nodes/{node.pk}/labels")
    assert seen.json() == {"labels": {}}
    version = {"If-Match": seen["ETag"]}
    first = put_labels(operator, node, {"a": "1"}, **version)
    second = put_labels(operator, node, {"b": "2"}, **version)
    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["code"] == "precondition-failed"
    assert Node.objects.get().own_labels == {"a": "1"} and AuditEntry.objects.count() == 1
    assert put_labels(operator, node, {"b": "2"}, **{"If-Match": first["ETag"]}).status_code == 200
    assert operator.get(f"/api/v1/nodes/{node.pk}/labels").json() == {"labels": {"b": "2"}}


def test_setting_the_same_labels_again_changes_nothing(operator, node):
    put_labels(operator, node, {"a": "b"})
    revision = Node.objects.get().revision
    assert put_labels(operator, node, {"a": "b"}).status_code == 200
    assert Node.objects.get().revision == revision


@pytest.mark.parametrize(
    "labels",
    [{"a b": "x"}, {"": "x"}, {"a": "x" * 301}, {"a": "\x00"}, ["a"], {f"l{n}": "" for n in range(65)}],
)
def test_wrong_labels_are_refused(operator, node, labels):
    assert put_labels(operator, node, labels).status_code == 400
    assert Node.objects.get().own_labels == {}


def test_members_set_no_labels(node):
    assert put_labels(signed_in(Role.MEMBER), node, {"a": "b"}).status_code == 403


def test_links_are_listed_by_node_device_and_kind(operator, node):
    stored = DeviceLink.objects.get()
    (shown,) = get(operator, f"links?node={node.pk}&device={stored.second_id}&kind=NV")["results"]
    assert (shown["a"], shown["b"], shown["lanes"], shown["node"]) == (
        stored.first_id,
        stored.second_id,
        12,
        node.pk,
    )
    assert get(operator, "links?kind=SYS")["results"] == []
    assert operator.get("/api/v1/links?colour=red").status_code == 400


def test_models_are_those_of_the_catalogue_and_those_that_only_devices_tell_of(operator, node):
    found = get(operator, "device-models?present=true")["results"]
    assert [(model["name"], model["devices"]) for model in found] == [
        ("NVIDIA A100 SXM4 80 GB", 1),
        ("Nobody's Card", 1),
    ]
    known, unknown = found
    assert known["source"] and known["tflops"]["fp16"] == 312
    assert (unknown["source"], unknown["memory_mib"], unknown["compute_units"], unknown["tdp_w"]) == (
        None,
        80 * 1024,
        7,
        None,
    )
    everything = get(operator, "device-models?vendor=ascend")["results"]
    assert everything and {model["vendor"] for model in everything} == {"ascend"}


def test_with_a_device_its_slices_are_released_and_none_before_it(operator):
    node = make_node()
    whole = make_device(node, health=DeviceHealth.RECOVERED)
    part = make_device(node, 1, parent=whole, health=DeviceHealth.RECOVERED)
    refused = post(operator, f"devices/{part.pk}/release")
    assert (refused.status_code, refused.json()["code"]) == (409, "release-the-whole")
    release_device(whole, reason="", actor="op")
    assert set(Device.objects.values_list("health", flat=True)) == {"healthy"}


def test_a_device_that_left_for_good_is_removed_with_its_alert(operator, node):
    device = Device.objects.order_by("id")[0]
    address = f"/api/v1/devices/{device.pk}"
    refused = operator.delete(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "device-present")
    node.refresh_from_db()
    apply_facts(node, facts(device_facts(1)), digest="d2", thresholds=THRESHOLDS)
    assert Alert.objects.filter(code="device-missing", cleared_at=None).exists()
    assert signed_in(Role.MEMBER).delete(address).status_code == 403
    assert operator.delete(address).status_code == 204
    assert Device.objects.count() == 1 and not Alert.objects.filter(cleared_at=None).exists()
    assert AuditEntry.objects.get(action="device-remove").details["identity"] == "GPU-00000000"
    assert operator.delete(address).status_code == 404
