"""A look's report into the same rows as an agent's report, by the same functions: facts, health, contact, readings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from agent.protocol import RemoteAnswer, Report
from controlplane.base import clock
from controlplane.base.texts import has_control_character
from controlplane.policy.document import Health
from inventory import device_health, streams
from inventory.boots import Boot, meet_boot
from inventory.cleaning import text
from inventory.clock_offsets import note_clock
from inventory.ingest import apply_facts
from inventory.models import Device, Node, NodeContact, NodeCredential, NodeState, RemoteHost, RemoteProblem
from inventory.node_states import heard_from
from inventory.remote import hosts
from inventory.remote.hosts import Claimed
from inventory.revisions import node_changed

MAX_MACHINE_ID = 128


class NotTaken(Exception):
    """The report is of no use to us; what it says of the machine says why."""

    def __init__(self, problem: RemoteProblem, detail: str = "") -> None:
        super().__init__(problem.value)
        self.problem = problem
        self.detail = detail


class Stale(Exception):
    """Somebody else looks at this node now, or nobody should any more."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """When and from where a report came."""

    at: datetime
    peer: str | None
    health: Health


def take(claimed: Claimed, answer: RemoteAnswer, arrival: Arrival) -> None:
    """Takes a look's report in. Raises NotTaken, and Stale where the claim is no longer ours: then nothing changed."""
    report, machine_id = answer.report, answer.machine_id
    if report is None or not machine_id:
        missing = answer.problem == RemoteProblem.NO_MACHINE_ID
        raise NotTaken(
            RemoteProblem.NO_MACHINE_ID if missing else RemoteProblem.NOT_UNDERSTOOD,
            "" if missing else answer.problem,
        )
    if len(machine_id) > MAX_MACHINE_ID or has_control_character(machine_id):
        raise NotTaken(RemoteProblem.NO_MACHINE_ID)
    node_id = _node_of(claimed, report, machine_id)
    with transaction.atomic():
        contact = NodeContact.objects.select_for_update().get(node=node_id)
        node = contact.node = Node.objects.defer("facts", "labels").get(pk=node_id)
        _check_agentless(node)
        if not hosts.settle_well(claimed, node, answer, at=arrival.at):
            raise Stale
        _observe(node, contact, report, arrival)
    if node.state != NodeState.QUARANTINED:
        streams.push(node.pk, clock.to_ms(arrival.at), report.node, report.samples)


def _observe(node: Node, contact: NodeContact, report: Report, arrival: Arrival) -> None:
    """As for a report of an agent, but for tasks, of which there are none."""
    boot = meet_boot(node, contact, text(report.boot_id, 64) or "unknown")
    contact.received_at, contact.address = arrival.at, arrival.peer
    if report.checks:
        contact.checks_at = arrival.at
    if boot is not Boot.DUPLICATE:
        note_clock(node, contact, report.clock, limit_ms=arrival.health.clock_offset_alert_ms)
    contact.save(
        update_fields=[
            "received_at",
            "address",
            "boot_id",
            "seq",
            "late_seq",
            "checks_at",
            "clock_offset_us",
            "clock_uncertainty_us",
            "clock_alarm",
        ]
    )
    if node.state == NodeState.QUARANTINED or boot is Boot.DUPLICATE:
        return
    thresholds = device_health.thresholds_of(arrival.health)
    if report.facts is not None and report.facts_digest != node.facts_digest:
        apply_facts(node, report.facts, digest=report.facts_digest, thresholds=thresholds)
    if report.checks:
        devices = Device.objects.filter(node=node).order_by("id")
        device_health.observe_checks(devices, report.checks, thresholds)
    if node.facts_at is not None:
        heard_from(node)


def _node_of(claimed: Claimed, report: Report, machine_id: str) -> int:
    """The node that this way leads to; made, or found by its machine id, with the first report that has facts."""
    if claimed.node_id is not None:
        known = Node.objects.filter(pk=claimed.node_id).values_list("machine_id", flat=True).first()
        if known is not None and known != machine_id:
            raise NotTaken(RemoteProblem.MACHINE_CHANGED, machine_id)
        if known is not None:
            return claimed.node_id
    if report.facts is None:
        raise NotTaken(RemoteProblem.NOT_UNDERSTOOD, "facts")
    with transaction.atomic():
        node, is_new = Node.objects.get_or_create(
            machine_id=machine_id,
            defaults={
                "name": text(report.facts.hostname, 255) or machine_id,
                "node_set_id": claimed.node_set_id,
            },
        )
        contact, _ = NodeContact.objects.get_or_create(node=node)
        locked = NodeContact.objects.select_for_update().get(pk=contact.pk)
        _check_agentless(node)
        if RemoteHost.objects.filter(node=node).exclude(pk=claimed.host_id).exists():
            raise NotTaken(RemoteProblem.SAME_MACHINE, node.name)
        if not hosts.lead_to(claimed, node):
            raise Stale
        if not is_new:
            NodeContact.objects.filter(pk=locked.pk).update(boot_id="", seq=0, late_seq=None)
        node_changed(node.pk)
    return node.pk


def _check_agentless(node: Node) -> None:
    """Call with the contact locked: enrolment takes it first, too."""
    if NodeCredential.objects.filter(node=node, revoked_at__isnull=True).exists():
        raise NotTaken(RemoteProblem.HAS_AGENT, node.name)
