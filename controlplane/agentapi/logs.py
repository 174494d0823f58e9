"""POST logs: the next piece of one attempt's log; the same piece twice is harmless."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _

from controlplane.agentapi import bodies
from controlplane.agentapi.answers import agent_view, message
from controlplane.agentapi.auth import node_of
from controlplane.agentapi.limits import query_number
from controlplane.base.problems import CONTENT_TYPE, Problem
from scheduling.logs import LogPiece, append_log

GAP = "log-gap"


@agent_view("POST")
def log_view(request: HttpRequest, placement: int) -> HttpResponse:
    """Appends by offset; a gap is answered with the offset that the server waits for."""
    node = node_of(request)
    attempt, fence, offset = (query_number(request, name) for name in ("attempt", "fence", "offset"))
    data = bodies.read_bytes(request, limit=bodies.LOG_LIMIT)
    try:
        return message(
            append_log(node, placement, LogPiece(attempt=attempt, fence=fence, offset=offset, data=data))
        )
    except Problem as problem:
        if problem.code != GAP:
            raise
        return _gap(problem.params["next_offset"])


def _gap(next_offset: int) -> HttpResponse:
    """The offset stands also beside the problem's own members, where agents look for it."""
    problem = Problem(
        409,
        GAP,
        message=_("The log so far ends at %(next_offset)s; send from there."),
        params={"next_offset": next_offset},
    )
    return JsonResponse(problem.body() | {"next_offset": next_offset}, status=409, content_type=CONTENT_TYPE)
