"""POST images: how image orders ended, and what to fetch or remove next."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from agent import protocol
from agent.protocol import ImageOrders, ImageReport
from controlplane.agentapi import bodies
from controlplane.agentapi.answers import agent_view, message
from controlplane.agentapi.auth import node_of
from controlplane.policy.active import active_policy
from inventory.images.pushes import next_orders, take_results
from inventory.images.secrets import used_for
from inventory.models import NodeState

AGAIN_S = 30
MOST_RESULTS = 100


@agent_view("POST")
def images_view(request: HttpRequest) -> HttpResponse:
    """Nothing is asked of a node that takes no jobs."""
    node = node_of(request)
    report = bodies.decode(bodies.read_bytes(request, limit=bodies.ENROL_LIMIT), ImageReport)
    take_results(node.pk, report.results[:MOST_RESULTS])
    pull, prune = next_orders(node.pk, active_policy().images) if node.state == NodeState.READY else ([], [])
    return message(ImageOrders(protocol.VERSION, pull, prune, AGAIN_S, used_for(pull)))
