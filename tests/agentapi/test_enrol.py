"""Enrolment: who becomes which node."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from agent import protocol
from agent.protocol import EnrolReply
from controlplane.accounts import audit
from controlplane.accounts.models import AuditEntry
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.base.models import Cluster
from inventory.models import (
    EnrolmentToken,
    Node,
    NodeContact,
    NodeCredential,
    NodeSet,
    NodeState,
    RetiredBoot,
)
from tests.agentapi.speaking import Agent, enrol, enrol_request, enrolled, enrolment_token, problem
from tests.inventory.factories import facts

pytestmark = pytest.mark.django_db


def silence(node_id, state=NodeState.SILENT):
    Node.objects.filter(pk=node_id).update(state=state, state_before_silence=NodeState.READY)
    NodeContact.objects.filter(node=node_id).update(received_at=clock.now() - timedelta(seconds=60))


def test_a_token_makes_one_node_and_the_secret_is_kept_as_a_hash_only():
    site = NodeSet.objects.create(name="left")
    secret = enrolment_token(node_set=site)
    reply = protocol.decode(enrol(enrol_request(secret)).content, EnrolReply)
    node = Node.objects.get()
    assert (reply.node, node.machine_id, node.state, node.node_set) == (
        node.pk,
        "machine-1",
        "enrolled",
        site,
    )
    assert reply.cluster_id == str(Cluster.objects.get().uid)
    assert reply.token not in str(NodeCredential.objects.values().get())
    token = EnrolmentToken.objects.get()
    assert token.used_by == node and secret not in str(EnrolmentToken.objects.values().get())


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"expires_at": clock.now() - timedelta(seconds=1)}, "enrolment-token-expired"),
        ({"used_at": clock.now()}, "enrolment-token-used"),
    ],
)
def test_a_token_that_is_over_enrols_nobody(columns, code):
    answer = enrol(enrol_request(enrolment_token(**columns)))
    assert (answer.status_code, problem(answer)["code"]) == (403, code)
    assert not Node.objects.exists()


def test_an_unknown_token_enrols_nobody():
    answer = enrol(enrol_request("hre_made-up"))
    assert (answer.status_code, problem(answer)["code"]) == (403, "enrolment-token-invalid")


@pytest.mark.django_db(transaction=True)
def test_twenty_parallel_enrolments_with_one_token_make_one_node():
    secret = enrolment_token()
    requests = [enrol_request(secret, machine_id=f"machine-{number}") for number in range(20)]

    def one(request):
        try:
            return enrol(request).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(pool.map(one, requests))
    assert statuses == [200, *[403] * 19]
    assert Node.objects.count() == NodeCredential.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_parallel_enrolments_of_one_machine_with_many_tokens_make_one_node():
    requests = [enrol_request(enrolment_token(), boot_id=f"boot-{number}") for number in range(10)]

    def one(request):
        try:
            return enrol(request).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        statuses = sorted(pool.map(one, requests))
    assert statuses == [200, *[409] * 9]
    assert Node.objects.count() == 1


def test_a_lost_answer_may_be_asked_for_again_by_the_same_boot_only():
    request = enrol_request(enrolment_token())
    first = protocol.decode(enrol(request).content, EnrolReply)
    second = protocol.decode(enrol(request).content, EnrolReply)
    assert second.node == first.node and second.token != first.token
    assert Agent(first.token).send(Agent(first.token).make()).status_code == 401
    other = enrol(enrol_request(request.token, boot_id="boot-2"))
    assert problem(other)["code"] == "enrolment-token-used"
    Agent(second.token).report(facts=facts())
    assert problem(enrol(request))["code"] == "enrolment-token-used"


def test_a_live_machine_id_is_refused_with_an_alert_and_the_token_stays_good():
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    secret = enrolment_token()
    answer = enrol(enrol_request(secret, boot_id="boot-2"))
    assert (answer.status_code, problem(answer)["code"]) == (409, "duplicate-machine")
    alert = Alert.objects.get(code="identity-claimed")
    assert alert.details["why"] == "duplicate-machine"
    assert alert.subject_id == str(reply.node)
    assert EnrolmentToken.objects.filter(used_at=None).count() == 1
    assert Agent(reply.token).report().authoritative


def test_a_copied_token_does_not_take_over_a_live_node():
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    answer = enrol(enrol_request(enrolment_token(), boot_id="boot-2", previous_token=reply.token))
    assert (answer.status_code, problem(answer)["code"]) == (409, "duplicate-machine")


def test_the_same_boot_with_its_old_token_may_enrol_again_at_once():
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    again = enrolled(previous_token=reply.token)
    assert again.node == reply.node
    assert Agent(reply.token).send(Agent(reply.token).make()).status_code == 401
    assert Agent(again.token).report(facts=facts()).authoritative


@pytest.mark.parametrize("state", [NodeState.SILENT, NodeState.LOST])
def test_a_silent_identity_needs_its_old_token(state):
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    silence(reply.node, state)
    refused = enrol(enrol_request(enrolment_token(), boot_id="boot-2"))
    assert (refused.status_code, problem(refused)["code"]) == (409, "takeover-needs-approval")
    wrong = enrol(enrol_request(enrolment_token(), boot_id="boot-2", previous_token="hrn_guess"))
    assert problem(wrong)["code"] == "takeover-needs-approval"
    again = enrolled(boot_id="boot-2", previous_token=reply.token)
    assert again.node == reply.node
    assert Agent(again.token, "boot-2").report(facts=facts()).authoritative
    assert Node.objects.get().state == NodeState.READY
    assert RetiredBoot.objects.get().boot_id == "boot-1"


def test_a_silent_identity_goes_to_who_an_admin_approves():
    reply = enrolled()
    Agent(reply.token).report(facts=facts())
    silence(reply.node)
    node = Node.objects.get()
    approved = enrolment_token(replaces=node)
    stranger = enrol(enrol_request(approved, machine_id="machine-2"))
    assert problem(stranger)["code"] == "enrolment-token-for-other-node"
    answer = enrol(enrol_request(approved, boot_id="boot-2"))
    assert protocol.decode(answer.content, EnrolReply).node == node.pk


def test_a_node_that_never_reported_has_nothing_to_defend():
    reply = enrolled()
    Node.objects.update(enrolled_at=clock.now() - timedelta(minutes=5))
    assert enrolled(boot_id="boot-2").node == reply.node


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"machine_id": ""}, "machine_id"),
        ({"machine_id": "m" * 129}, "machine_id"),
        ({"boot_id": "b\x00"}, "boot_id"),
        ({"boot_id": "b" * 65}, "boot_id"),
    ],
)
def test_bad_identities_are_refused_by_name(body, field):
    answer = enrol(enrol_request(enrolment_token(), **body))
    assert answer.status_code == 400
    assert [error["field"] for error in problem(answer)["errors"]] == [field]


def test_an_enrolment_is_audited_with_its_address_or_does_not_happen(monkeypatch):
    enrolled()
    assert AuditEntry.objects.get(action="node-enrol").details["address"] == "127.0.0.1"

    def broken(*_args, **_kwargs):
        raise OperationalError("gone")

    monkeypatch.setattr(audit, "record", broken)
    assert enrol(enrol_request(enrolment_token(), machine_id="machine-2")).status_code == 503
    assert Node.objects.count() == 1
