"""Whether this process lives, whether it can work, and what the API is."""

from __future__ import annotations

from django.core.cache import cache
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularAPIView
from redis.exceptions import RedisError
from rest_framework.permissions import AllowAny

from controlplane.base.problems import Problem, problem_response


class OpenApiView(SpectacularAPIView):
    """The description of the API; public, since it says nothing about this cluster."""

    permission_classes = [AllowAny]
    authentication_classes = []
    throttle_classes = []
    renderer_classes = [OpenApiJsonRenderer]


def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers; `broker` false is a warning, since the API works without it."""
    database, broker = _database_answers(), _broker_answers()
    body = {
        "status": "ok" if database and broker else "degraded" if database else "unavailable",
        "database": database,
        "broker": broker,
    }
    return JsonResponse(body, status=200 if database else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return False
    return True


def _broker_answers() -> bool:
    try:
        cache.get("readyz")
    except (RedisError, OSError):
        return False
    return True


@csrf_exempt
def no_such_address(request: HttpRequest) -> HttpResponse:
    """404 in the API's own shape, so that a mistyped address does not get the console."""
    return problem_response(Problem(404, "not-found"), request)
