"""POST report: one short transaction for what is, then the reply with what should be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from agent.protocol import Reply, Report
from controlplane.accounts.audit import client_address
from controlplane.agentapi import bodies, limits
from controlplane.agentapi.answers import agent_view, message
from controlplane.agentapi.auth import hash_of, node_of
from controlplane.agentapi.quiet import ASKED, Standing, note, remember, standing_of
from controlplane.agentapi.reply import build_reply, quiet_reply
from controlplane.base import clock
from controlplane.base.identity import this_cluster
from controlplane.base.problems import Problem
from controlplane.policy.document import Health
from inventory import device_health, streams
from inventory.boots import Boot, is_news, meet_boot
from inventory.clock_offsets import note_clock
from inventory.ingest import apply_facts
from inventory.models import Device, Node, NodeContact, NodeState
from inventory.node_states import heard_from, note_claim, quarantine_restored
from scheduling.checkpoints import jobs_over
from scheduling.observe import observe_tasks

WRITTEN = (
    "received_at",
    "checks_at",
    "boot_id",
    "seq",
    "late_seq",
    "address",
    "clock_offset_us",
    "clock_uncertainty_us",
    "clock_alarm",
    "epoch",
    "report_digest",
    "state_digest",
)


@dataclass(frozen=True, slots=True)
class _Arrival:
    received_at: datetime
    address: str | None


@agent_view("POST")
def report_view(request: HttpRequest) -> HttpResponse:
    """One report."""
    received_at = clock.now()
    claimed = node_of(request)
    report = bodies.decode(bodies.read_bytes(request, limit=bodies.REPORT_LIMIT), Report)
    limits.check_report(report)
    address = client_address(request)
    asked = ASKED in request.META
    if not asked and (quiet := note(hash_of(request), report, at=received_at, address=address)):
        streams.push(quiet.node_id, clock.to_ms(received_at), report.node, report.samples, report.tasks)
        return message(quiet_reply(quiet, received_at=received_at))
    return message(_take_note(claimed, report, _Arrival(received_at, address)))


def _take_note(claimed: Node, report: Report, arrival: _Arrival) -> Reply:
    received_at = arrival.received_at
    _check_machine(claimed, report)
    node, standing = _observe(claimed.pk, report, arrival)
    reply = build_reply(
        node,
        received_at=received_at,
        policy=standing.policy,
        want_facts=node.facts_digest != report.facts_digest or node.facts_at is None,
        standing=standing,
    )
    if node.state != NodeState.QUARANTINED:
        streams.push(node.pk, clock.to_ms(received_at), report.node, report.samples, report.tasks)
        if report.kept:
            reply = msgspec.structs.replace(reply, over=jobs_over(node.pk, report.kept))
    return reply


def _check_machine(node: Node, report: Report) -> None:
    """A token copied to a machine with another id marks a stranger, not a clone: only the stranger is refused."""
    if report.facts is None or report.facts.machine_id == node.machine_id:
        return
    note_claim(node.pk, why="machine-mismatch", details={"hostname": report.facts.hostname[:255]})
    raise Problem(
        409,
        "machine-mismatch",
        message=_("This node token belongs to another machine. Enrol this machine with a token of its own."),
    )


def _observe(node_id: int, report: Report, arrival: _Arrival) -> tuple[Node, Standing]:
    """Locks in the order contact, job, placement, device, node, as everybody does."""
    with transaction.atomic():
        contact = NodeContact.objects.select_for_update().get(node=node_id)
        # Only now: whoever had the contact locked may have changed the node.
        node = contact.node = Node.objects.defer("facts", "labels").get(pk=node_id)
        standing = standing_of(node_id)
        boot = meet_boot(node, contact, report.boot_id)
        repeated = boot is Boot.SAME and not is_news(contact, report.seq)
        _contact(contact, report, arrival, boot=boot, repeated=repeated, health=standing.policy.health)
        if boot is not Boot.DUPLICATE and not repeated:
            _note_epoch(contact, report, epoch=standing.seen[0])
        if node.state != NodeState.QUARANTINED and boot is not Boot.DUPLICATE:
            standing = _take_in(contact, report, before=standing, repeated=repeated)
        contact.save(update_fields=WRITTEN)
    return node, standing


def _note_epoch(contact: NodeContact, report: Report, *, epoch: int) -> None:
    """An agent that obeyed a newer plan than there is shows that this database is a restored backup."""
    newer = report.epoch > max(contact.epoch, epoch)
    if newer and report.cluster_id == str(this_cluster().uid):
        quarantine_restored(contact.node, obeyed_epoch=report.epoch, epoch=epoch)
    contact.epoch = report.epoch


def _contact(
    contact: NodeContact, report: Report, arrival: _Arrival, *, boot: Boot, repeated: bool, health: Health
) -> None:
    contact.received_at = arrival.received_at
    contact.address = arrival.address
    if boot is not Boot.DUPLICATE:
        contact.seq = contact.seq if repeated else report.seq
        note_clock(contact.node, contact, report.clock, limit_ms=health.clock_offset_alert_ms)
    if report.checks and not repeated:
        contact.checks_at = arrival.received_at


def _take_in(contact: NodeContact, report: Report, *, before: Standing, repeated: bool) -> Standing:
    """What stands after all that the report had an effect on."""
    node = contact.node
    if not repeated:
        _note_contents(node, report, before.policy.health)
    if node.facts_at is not None:
        heard_from(node)
    after = standing_of(node.pk)
    if not repeated and node.facts_at is not None and node.facts_digest == report.facts_digest:
        remember(contact, report, before=before, after=after)
    return after


def _note_contents(node: Node, report: Report, health: Health) -> None:
    thresholds = device_health.thresholds_of(health)
    observe_tasks(node, report.tasks)
    if report.facts is not None:
        apply_facts(node, report.facts, digest=report.facts_digest, thresholds=thresholds)
    if report.checks:
        devices = Device.objects.filter(node=node).order_by("id")
        device_health.observe_checks(devices, report.checks, thresholds)
