"""POST enrol: a one-time token becomes a node's identity."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from agent import protocol
from agent.protocol import EnrolReply, EnrolRequest
from controlplane.accounts import audit
from controlplane.agentapi import bodies, limits
from controlplane.agentapi.answers import agent_view, message
from controlplane.base.identity import this_cluster
from controlplane.base.problems import Problem, Text
from controlplane.policy.active import active_policy
from inventory.enrolment import EnrolmentRefused, Refused, enrol
from inventory.models import Node
from inventory.node_states import note_claim

_STATUS = {Refused.DUPLICATE_MACHINE: 409, Refused.NEEDS_APPROVAL: 409}
_MESSAGES: dict[Refused, Text] = {
    Refused.TOKEN_INVALID: _("This enrolment token is unknown. Create a new one."),
    Refused.TOKEN_USED: _("This enrolment token was already used. Create a new one."),
    Refused.TOKEN_EXPIRED: _("This enrolment token has expired. Create a new one."),
    Refused.TOKEN_FOR_OTHER_NODE: _("This enrolment token was made for another node."),
    Refused.DUPLICATE_MACHINE: _(
        "A live node has this machine id. Give a cloned machine its own /etc/machine-id; "
        "if this is the same machine, stop its old agent and wait until the node is silent."
    ),
    Refused.NEEDS_APPROVAL: _(
        "A node with this machine id exists and is silent. Enrol with its previous token, "
        "or with an enrolment token that an admin creates for this node."
    ),
}


@agent_view("POST")
def enrol_view(request: HttpRequest) -> HttpResponse:
    """One enrolment."""
    body = bodies.decode(bodies.read_bytes(request, limit=bodies.ENROL_LIMIT), EnrolRequest)
    limits.check_enrolment(body)
    health = active_policy().health
    try:
        with transaction.atomic():
            enrolled = enrol(body, silent_after_s=health.silent_after_s)
            _record(enrolled.node, request)
    except EnrolmentRefused as error:
        _note(error, body, request)
        raise Problem(_STATUS.get(error.why, 403), error.why.value, message=_MESSAGES[error.why]) from error
    return message(
        EnrolReply(
            version=protocol.VERSION,
            cluster_id=str(this_cluster().uid),
            node=enrolled.node.pk,
            token=enrolled.secret,
            report_interval_s=health.report_interval_s,
        )
    )


def _record(node: Node, request: HttpRequest) -> None:
    details = {"name": node.name, "address": audit.client_address(request)}
    audit.record(f"node {node.name}", "node-enrol", target=node, details=details)


def _note(error: EnrolmentRefused, body: EnrolRequest, request: HttpRequest) -> None:
    """A claim on somebody's identity needs a person to look; the token stays unused."""
    if error.node_id is not None:
        note_claim(
            error.node_id,
            why=error.why.value,
            details={"hostname": body.hostname[:255], "address": audit.client_address(request)},
        )
