"""POST images/secret: the secret of a registry, for a node that was told to fetch an image with it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from agent import protocol
from agent.protocol import SecretReply, SecretRequest
from controlplane.agentapi import bodies
from controlplane.agentapi.answers import agent_view, message
from controlplane.agentapi.auth import node_of
from controlplane.base.problems import Problem
from inventory.images import pushes
from inventory.images.secrets import SecretMissing, SecretUnusable, find
from scheduling.backends.agent import fetched_with


@agent_view("POST")
def secret_view(request: HttpRequest) -> HttpResponse:
    """A node's token opens no secret but those that its own orders name, as far as the secret is still for them."""
    node = node_of(request)
    name = bodies.decode(bodies.read_bytes(request, limit=bodies.ENROL_LIMIT), SecretRequest).name
    jobs, orders = fetched_with(node.pk, name), pushes.fetched_with(node.pk, name)
    if not jobs and not orders:
        raise _not_yours()
    try:
        secret = find(name)
    except (SecretMissing, SecretUnusable) as error:
        message_ = _("The server has no usable secret of this name: %(detail)s")
        raise Problem(409, "secret-unusable", message=message_, params={"detail": str(error)}) from error
    # Since the job was submitted somebody may have taken it from the job's team.
    images = [image for team, image in jobs if secret.may_be_named_by(team)]
    if not any(map(secret.is_for, [*images, *orders])):
        raise _not_yours()
    answer = message(SecretReply(protocol.VERSION, secret.auths))
    answer["Cache-Control"] = "no-store"
    return answer


def _not_yours() -> Problem:
    return Problem(403, "secret-not-yours", message=_("Nothing that this node is to do needs this secret."))
