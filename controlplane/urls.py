"""All addresses of the server."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from controlplane import console
from controlplane.base import status
from scheduling.api.status import MetricsView

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("controlplane.accounts.api.urls")),
    path("api/v1/", include("controlplane.policy.api.urls")),
    path("api/v1/", include("controlplane.alerts.api.urls")),
    path("api/v1/", include("inventory.api.urls")),
    path("api/v1/", include("queues.api.urls")),
    path("api/v1/", include("scheduling.api.urls")),
    path("api/v1/openapi.json", status.OpenApiView.as_view(), name="openapi"),
    path("agent/v1/", include("controlplane.agentapi.urls")),
    path("_allauth/", include("controlplane.accounts.signin_urls")),
    path("metrics", MetricsView.as_view()),
    path("healthz", status.healthz),
    path("readyz", status.readyz),
    re_path(r"^(?:api|agent|live|metrics|_allauth)(?:/.*)?$", status.no_such_address),
    re_path(r"^(?P<path>.*)$", console.serve),
]

handler400 = "controlplane.base.failures.bad_request"
handler403 = "controlplane.base.failures.permission_denied"
handler404 = "controlplane.base.failures.page_not_found"
handler500 = "controlplane.base.failures.server_error"
