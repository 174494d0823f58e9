"""Who may become which node: one-time tokens, no live duplicates, takeovers only with proof."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import IntegrityError, transaction

from agent.protocol import EnrolRequest
from controlplane.base import clock
from inventory.cleaning import text
from inventory.models import (
    EnrolmentToken,
    Node,
    NodeContact,
    NodeCredential,
    NodeState,
    RemoteHost,
    RetiredBoot,
)
from inventory.node_states import AWAY
from inventory.revisions import node_changed, node_shown
from inventory.tokens import digest, new_node_secret

# An agent that never got the answer to its enrolment may ask again with the same token.
RETRY_WINDOW = timedelta(minutes=10)


class Refused(StrEnum):
    """Why an enrolment was refused; the value is the code of the problem."""

    TOKEN_INVALID = "enrolment-token-invalid"
    TOKEN_USED = "enrolment-token-used"
    TOKEN_EXPIRED = "enrolment-token-expired"
    TOKEN_FOR_OTHER_NODE = "enrolment-token-for-other-node"
    DUPLICATE_MACHINE = "duplicate-machine"
    NEEDS_APPROVAL = "takeover-needs-approval"


class EnrolmentRefused(Exception):
    """An enrolment that must not happen; `node_id` is the node whose identity was claimed."""

    def __init__(self, why: Refused, node_id: int | None = None) -> None:
        super().__init__(why.value)
        self.why = why
        self.node_id = node_id


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The node and its new secret, which is stored nowhere."""

    node: Node
    secret: str


def enrol(request: EnrolRequest, *, silent_after_s: int) -> Enrolled:
    """Consumes the token and gives the node its own; raises EnrolmentRefused and then consumes nothing."""
    now = clock.now()
    try:
        with transaction.atomic():
            return _enrol(request, now, silent_after=timedelta(seconds=silent_after_s))
    except IntegrityError as error:
        # Two machines with one id enrolled for the first time at the same moment.
        raise EnrolmentRefused(Refused.DUPLICATE_MACHINE) from error


def _enrol(request: EnrolRequest, now: datetime, *, silent_after: timedelta) -> Enrolled:
    token = (
        EnrolmentToken.objects.select_for_update(of=("self",))
        .filter(token_hash=digest(request.token))
        .first()
    )
    if token is None:
        raise EnrolmentRefused(Refused.TOKEN_INVALID)
    contact = _lock_contact(request.machine_id)
    if token.used_at is not None:
        return _answer_again(token, contact, request, now)
    if token.expires_at <= now:
        raise EnrolmentRefused(Refused.TOKEN_EXPIRED)
    if token.replaces_id is not None and (contact is None or token.replaces_id != contact.pk):
        raise EnrolmentRefused(Refused.TOKEN_FOR_OTHER_NODE)
    if contact is None:
        node = _create(token, request)
    else:
        node = contact.node
        _check_takeover(token, contact, request, now, silent_after=silent_after)
        _reset_identity(contact, request)
    token.used_at, token.used_by = now, node
    token.save(update_fields=["used_at", "used_by"])
    return _credential(node)


def _lock_contact(machine_id: str) -> NodeContact | None:
    """The contact row is the lock of a node's identity: reports take it first, too."""
    return (
        NodeContact.objects.select_for_update(of=("self",))
        .select_related("node")
        .filter(node__machine_id=machine_id)
        .first()
    )


def _answer_again(
    token: EnrolmentToken, contact: NodeContact | None, request: EnrolRequest, now: datetime
) -> Enrolled:
    """The same boot of the same machine asks again before its first report: its answer was lost on the way."""
    lost_answer = (
        contact is not None
        and token.used_by_id == contact.pk
        and token.used_at is not None
        and token.used_at > now - RETRY_WINDOW
        and contact.received_at is None
        and contact.boot_id == request.boot_id
    )
    if contact is None or not lost_answer:
        raise EnrolmentRefused(Refused.TOKEN_USED)
    return _credential(contact.node)


def _check_takeover(
    token: EnrolmentToken,
    contact: NodeContact,
    request: EnrolRequest,
    now: datetime,
    *,
    silent_after: timedelta,
) -> None:
    node = contact.node
    proven = _proves(node, request.previous_token)
    last_seen = contact.received_at or node.enrolled_at
    alive = node.state not in AWAY and last_seen > now - silent_after
    # Of a machine that was only looked at nobody has a token to prove anything by: an admin's approval does.
    approved = token.replaces_id == node.pk and RemoteHost.objects.filter(node=node).exists()
    if alive and not approved and not (proven and contact.boot_id == request.boot_id):
        raise EnrolmentRefused(Refused.DUPLICATE_MACHINE, node.pk)
    never_reported = contact.received_at is None and node.state == NodeState.ENROLLED
    if not (proven or never_reported or token.replaces_id == node.pk):
        raise EnrolmentRefused(Refused.NEEDS_APPROVAL, node.pk)


def _proves(node: Node, previous_token: str | None) -> bool:
    if not previous_token:
        return False
    return NodeCredential.objects.filter(
        node=node, token_hash=digest(previous_token), revoked_at__isnull=True
    ).exists()


def _create(token: EnrolmentToken, request: EnrolRequest) -> Node:
    node = Node.objects.create(
        machine_id=request.machine_id,
        name=text(request.hostname, 255) or request.machine_id,
        agent_version=text(request.agent_version, 50) or "",
        node_set=token.node_set,
    )
    NodeContact.objects.create(node=node, boot_id=request.boot_id)
    node_shown(node.pk)
    return node


def _reset_identity(contact: NodeContact, request: EnrolRequest) -> None:
    """The machine that enrolled is the one live boot now; any other that still reports will be noticed."""
    if contact.boot_id and contact.boot_id != request.boot_id:
        RetiredBoot.objects.get_or_create(node=contact.node, boot_id=contact.boot_id)
    RetiredBoot.objects.filter(node=contact.node, boot_id=request.boot_id).delete()
    NodeContact.objects.filter(pk=contact.pk).update(boot_id=request.boot_id, seq=0, late_seq=None)
    Node.objects.filter(pk=contact.pk).update(facts_digest="")
    # From now on an agent reports, and may run jobs.
    if RemoteHost.objects.filter(node=contact.pk).update(node=None):
        node_changed(contact.pk)


def _credential(node: Node) -> Enrolled:
    """A new secret; older ones stop working, since only one agent may speak for a node."""
    NodeCredential.objects.filter(node=node, revoked_at__isnull=True).update(revoked_at=clock.now())
    secret = new_node_secret()
    NodeCredential.objects.create(node=node, token_hash=digest(secret))
    return Enrolled(node, secret)
