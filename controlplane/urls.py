"""All addresses of the server."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path, re_path

from controlplane import console
from controlplane.base import status

API_MODULES = (
    "controlplane.accounts.api.urls",
    "controlplane.policy.api.urls",
    "controlplane.alerts.api.urls",
    "inventory.api.urls",
    "queues.api.urls",
    "scheduling.api.urls",
)
AGENT_MODULE = "controlplane.agentapi.urls"


def _present(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


urlpatterns: list[URLPattern | URLResolver] = [
    *(path("api/v1/", include(module)) for module in API_MODULES if _present(module)),
    path("api/v1/openapi.json", status.OpenApiView.as_view(), name="openapi"),
    *([path("agent/v1/", include(AGENT_MODULE))] if _present(AGENT_MODULE) else []),
    path("_allauth/", include("allauth.headless.urls")),
    path("healthz", status.healthz),
    path("readyz", status.readyz),
    re_path(r"^(?:api|agent|live|metrics|_allauth)(?:/.*)?$", status.no_such_address),
    re_path(r"^(?P<path>.*)$", console.serve),
]

handler400 = "controlplane.base.failures.bad_request"
handler403 = "controlplane.base.failures.permission_denied"
handler404 = "controlplane.base.failures.page_not_found"
handler500 = "controlplane.base.failures.server_error"
