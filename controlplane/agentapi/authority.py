"""GET ca: the certificate that agents trust, which the enrolment token pins by its digest."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from controlplane.agentapi.answers import agent_view
from controlplane.base.problems import not_found
from inventory.authority import authority_pem


@agent_view("GET")
def authority_view(request: HttpRequest) -> HttpResponse:
    """PEM of the CA; 404 where agents use the system's authorities or plain loopback."""
    pem = authority_pem()
    if pem is None:
        raise not_found()
    return HttpResponse(pem, content_type="application/x-pem-file")
