"""The probe cycle: silence of nodes by the server's time of receipt, and checks that did not come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import ProtectedError, Q, QuerySet
from django.db.models.functions import Coalesce

from controlplane.alerts.models import Alert, Severity
from controlplane.alerts.service import clear_alert, forget_subject, raise_alert
from controlplane.base import clock
from controlplane.policy.document import Health as HealthPolicy
from inventory import device_health
from inventory.models import (
    Device,
    DeviceEvent,
    DeviceHealth,
    EnrolmentToken,
    NodeContact,
    NodeState,
    ProbeBeat,
    RetiredBoot,
    UncountedCause,
    UncountedTime,
)
from inventory.node_states import CLAIM_ALERT, NOT_SIMULATED, mark_lost, mark_silent
from inventory.silence import GAP, Span, counted, is_gap, is_mass
from inventory.wiring import UPWARD

MASS_ALERT = "mass-silence"
KEEP_CLAIMS = timedelta(hours=1)
PRUNE_EVERY = timedelta(hours=1)
KEEP_SPANS = timedelta(days=1)
KEEP_HISTORY = timedelta(days=90)
# Checks come with every report; this many intervals without any means that nobody checks.
MISSING_CHECK_INTERVALS = 3
_CHECKED_AT = Coalesce("checks_at", "node__enrolled_at")


@dataclass(frozen=True, slots=True)
class Probed:
    """What one probe cycle found; `ran` is False when another one was at it."""

    ran: bool = True
    silent: int = 0
    lost: int = 0
    mass: bool = False
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class _Silence:
    contact: NodeContact
    without_down: timedelta
    counted: timedelta


def probe(policy: HealthPolicy) -> Probed:
    """One cycle. Duplicate and parallel ticks are harmless: each looks at times, not at ticks."""
    now = clock.now()
    beat = _beat(now)
    if beat is None:
        return Probed(ran=False)
    spans = list(UncountedTime.objects.order_by("started_at"))
    silent_after = timedelta(seconds=policy.silent_after_s)
    lost_after = timedelta(seconds=policy.lost_after_s)
    checks_after = timedelta(seconds=MISSING_CHECK_INTERVALS * policy.report_interval_s)
    contacts = _contacts()
    # Of thousands nearly all have just reported, and all of it.
    unheard = Q(received_at__lte=now - silent_after)
    unchecked_for_long = Q(received_at__gt=_CHECKED_AT + checks_after)
    silences = [_silence(contact, now, spans) for contact in contacts.filter(unheard | unchecked_for_long)]
    overdue = [one for one in silences if one.without_down >= silent_after]
    mass = is_mass(len(overdue), contacts.count(), percent=policy.mass_silence_percent)
    _note_mass(mass, now, silent=len(overdue))
    silent = sum(_silence_node(one.contact, now) for one in overdue)
    lost = 0
    if not mass:
        lost = sum(_lose_node(one.contact) for one in overdue if one.counted >= lost_after)
    reporting = [one.contact for one in silences if one.without_down < silent_after]
    unchecked = _count_missing_checks(reporting, policy, checks_after)
    device_health.note_calm(device_health.thresholds_of(policy))
    if UPWARD.reconcile is not None:
        UPWARD.reconcile()
    if beat.pruned_at is None or now - beat.pruned_at > PRUNE_EVERY:
        _prune(now)
    return Probed(silent=silent, lost=lost, mass=mass, unchecked=unchecked)


def _beat(now: datetime) -> ProbeBeat | None:
    """Notes that the cycle runs, and first the gap in which it did not; None while a parallel one is at this point."""
    ProbeBeat.objects.get_or_create(id=1)
    with transaction.atomic():
        beat = ProbeBeat.objects.select_for_update(skip_locked=True).filter(pk=1).first()
        if beat is None:
            return None
        if beat.at is not None and is_gap(beat.at, now):
            UncountedTime.objects.create(cause=UncountedCause.DOWN, started_at=beat.at, ended_at=now)
        if beat.at is None or now > beat.at:
            ProbeBeat.objects.filter(pk=1).update(at=now)
    return beat


def _contacts() -> QuerySet[NodeContact]:
    contacts = NodeContact.objects.select_related("node").defer("node__facts", "node__labels")
    contacts = contacts.filter(received_at__isnull=False)
    resting = Q(node__simulated=True, node__state=NodeState.MAINTENANCE, node__state_reason=NOT_SIMULATED)
    away = Q(node__state__in=[NodeState.LOST, NodeState.ENROLLED])
    return contacts.exclude(away | resting).order_by("node_id")


def _silence(contact: NodeContact, now: datetime, spans: Sequence[UncountedTime]) -> _Silence:
    assert contact.received_at is not None
    down = [Span(one.started_at, one.ended_at) for one in spans if one.cause == UncountedCause.DOWN]
    every = [Span(one.started_at, one.ended_at) for one in spans]
    return _Silence(
        contact, counted(contact.received_at, now, down), counted(contact.received_at, now, every)
    )


def _extend(cause: UncountedCause, now: datetime) -> None:
    """Lengthens the running span, or starts one; a span that ended more than a few beats ago is over."""
    running = UncountedTime.objects.filter(cause=cause, ended_at__gte=now - GAP).order_by("-ended_at").first()
    if running is None:
        UncountedTime.objects.create(cause=cause, started_at=now, ended_at=now)
    elif running.ended_at < now:
        UncountedTime.objects.filter(pk=running.pk).update(ended_at=now)


def _note_mass(mass: bool, now: datetime, *, silent: int) -> None:
    if mass:
        _extend(UncountedCause.MASS, now)
        details = {"silent": silent}
        raise_alert(MASS_ALERT, Severity.CRITICAL, subject_type="cluster", subject_id=1, details=details)
    else:
        clear_alert(MASS_ALERT, subject_type="cluster", subject_id=1)


def _silence_node(contact: NodeContact, now: datetime) -> bool:
    with transaction.atomic():
        return _still_silent(contact) and mark_silent(contact.node) and _unquiet(contact)


def _lose_node(contact: NodeContact) -> bool:
    with transaction.atomic():
        if not _still_silent(contact) or not mark_lost(contact.node):
            return False
    # Apart from the above, whose locks come after those of jobs; scheduling also looks for itself, should
    # this not be reached.
    if UPWARD.declare_lost is not None:
        UPWARD.declare_lost(contact.node_id)
    return True


def _still_silent(contact: NodeContact) -> bool:
    """Locks the contact: a report either came before and is seen, or waits and then finds the node away."""
    locked = NodeContact.objects.select_for_update().get(pk=contact.pk)
    return locked.received_at == contact.received_at


def _unquiet(contact: NodeContact) -> bool:
    """A report that waits for the contact saw the other rows before it waited: this one it sees anew, and so it is not
    taken for one that changes nothing.
    """
    return bool(NodeContact.objects.filter(pk=contact.pk).update(state_digest=""))


def _count_missing_checks(
    reporting: Sequence[NodeContact], policy: HealthPolicy, checks_after: timedelta
) -> int:
    """Nodes that report, but whose checks do not come any more. Reports that are late themselves are silence: to count
    each device of theirs as unread would make the late reports of a server at its limit dear ones.
    """
    late = [
        contact.node_id
        for contact in reporting
        if contact.received_at
        and (contact.checks_at or contact.node.enrolled_at) < contact.received_at - checks_after
    ]
    thresholds = device_health.thresholds_of(policy)
    for node_id in late:
        with transaction.atomic():
            devices = Device.objects.filter(node=node_id).exclude(health=DeviceHealth.MISSING).order_by("id")
            device_health.observe_nothing(devices, thresholds, reason="no-checks")
    return len(late)


def _prune(now: datetime) -> None:
    ProbeBeat.objects.filter(pk=1).update(pruned_at=now)
    UncountedTime.objects.filter(ended_at__lt=now - KEEP_SPANS).delete()
    DeviceEvent.objects.filter(at__lt=now - KEEP_HISTORY).delete()
    RetiredBoot.objects.filter(retired_at__lt=now - KEEP_HISTORY).delete()
    EnrolmentToken.objects.filter(expires_at__lt=now - KEEP_HISTORY).delete()
    _forget_dissolved(now)
    _clear_old_claims(now)


def _forget_dissolved(now: datetime) -> None:
    """Slices of devices that were cut anew, unless a job still holds them."""
    gone = Device.objects.filter(
        parent__isnull=False, health=DeviceHealth.MISSING, health_since__lt=now - KEEP_SPANS
    )
    for device in gone.order_by("pk"):
        slice_id = device.pk
        with suppress(ProtectedError), transaction.atomic():
            device.delete()
            forget_subject("device", [slice_id])


def _clear_old_claims(now: datetime) -> None:
    """A claim that was not repeated for an hour needs nobody any more."""
    oldest_ms = clock.to_ms(now - KEEP_CLAIMS)
    claims = Alert.objects.filter(code=CLAIM_ALERT, cleared_at=None, details__at_ms__lt=oldest_ms)
    for subject in claims.values_list("subject_id", flat=True):
        clear_alert(CLAIM_ALERT, subject_type="node", subject_id=subject)
