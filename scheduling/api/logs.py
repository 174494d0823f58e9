"""Logs of jobs, read by offset; with `wait_s` the answer waits for new bytes without holding a thread or a
connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
)
from rest_framework.exceptions import NotAcceptable
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import Action, permission_for
from controlplane.base import clock
from controlplane.base.problems import Fault, invalid
from queues.spec import MOST_REPLICAS
from scheduling.api import log_search
from scheduling.api.jobs import find_job
from scheduling.api.serializers import LogSerializer
from scheduling.log_search import Found, search_log
from scheduling.logs import MOST_BYTES_PER_READ, LogPart, is_closed, read_log
from scheduling.models import Placement
from scheduling.text import escape_controls, whole_characters

DEFAULT_LIMIT_BYTES = 65_536
MOST_WAIT_S = 20
FIRST_POLL_S, LONGEST_POLL_S = 0.1, 0.5
NUMBERS: Mapping[str, tuple[int, int]] = {
    "attempt": (1, 2**31 - 1),
    "replica": (0, MOST_REPLICAS - 1),
    "offset": (0, 2**53),
    # One character has up to four bytes; with fewer a reader of text would not get on.
    "limit": (4, MOST_BYTES_PER_READ),
    "wait_s": (0, MOST_WAIT_S),
}
ALL_NUMBERS = {**NUMBERS, **log_search.NUMBERS}
PARAMETERS = [
    OpenApiParameter(name, {"type": "integer", "minimum": low, "maximum": high})
    for name, (low, high) in NUMBERS.items()
]
ANSWERS = PolymorphicProxySerializer(
    component_name="LogAnswer",
    serializers=[LogSerializer, log_search.LogMatchesSerializer],
    resource_type_field_name=None,
)


class PlainTextRenderer(BaseRenderer):
    """Offers text/plain; the bytes of a log pass by it, so what comes here is a problem."""

    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """Problems stay JSON."""
        return json.dumps(data, default=str).encode()


class LogView(APIView):
    """A part of the log of one attempt, of a gang that of one replica (0 if not told). With Accept: text/plain the raw
    bytes, and X-Next-Offset and X-Complete beside them. With `search` the lines that hold a text.
    """

    permission_classes = [permission_for(Action.JOB_READ)]
    renderer_classes = [JSONRenderer, PlainTextRenderer]

    @extend_schema(
        operation_id="job_logs",
        parameters=[*PARAMETERS, *log_search.PARAMETERS],
        responses={
            (200, "application/json"): ANSWERS,
            (200, "text/plain"): OpenApiResponse(str, description="The bytes as they are"),
        },
    )
    def get(self, request: Request, job_id: int) -> HttpResponseBase:
        query = request.query_params
        numbers = _numbers(query)
        log_search.refuse_mixed(query)
        job = find_job(request, job_id)
        attempt, offset = numbers.get("attempt", job.attempt), numbers.get("offset", 0)
        one = Placement.objects.filter(job=job, attempt=attempt, replica=numbers.get("replica", 0))
        placement = one.values("pk").first()
        final = job.finished_at is not None or attempt < job.attempt
        if log_search.SEARCH in query:
            return self._search(request, placement and placement["pk"], attempt, numbers, final=final)
        part = _nothing(offset, final=final)
        if placement is not None:
            limit = numbers.get("limit", DEFAULT_LIMIT_BYTES)
            part = read_log(placement["pk"], offset=offset, limit=limit) or part
        plain = isinstance(request.accepted_renderer, PlainTextRenderer)
        response = _plain(part) if plain else _json(part, attempt)
        response.log_is_news = bool(part.data) or part.complete  # type: ignore[attr-defined]
        return response

    def _search(
        self,
        request: Request,
        placement: int | None,
        attempt: int,
        numbers: Mapping[str, int],
        *,
        final: bool,
    ) -> Response:
        if isinstance(request.accepted_renderer, PlainTextRenderer):
            raise NotAcceptable
        search = log_search.read_search(request.query_params, numbers)
        found = search_log(placement, search) if placement is not None else None
        found = found or Found([], search.offset, search.line, at_end=True, complete=final, truncated=False)
        answer = log_search.matches_of(found, attempt=attempt, offset=search.offset)
        return Response(log_search.LogMatchesSerializer(answer).data)


def _numbers(query: Mapping[str, str]) -> dict[str, int]:
    found = {}
    for name, text in query.items():
        if name in (log_search.SEARCH, log_search.IGNORE_CASE):
            continue
        if name not in ALL_NUMBERS:
            raise invalid(name, Fault.UNKNOWN_FIELD)
        low, high = ALL_NUMBERS[name]
        if not (text.isascii() and text.isdigit() and len(text) < 18 and low <= int(text) <= high):
            message = _("Must be a whole number from %(low)s to %(high)s.") % {"low": low, "high": high}
            raise invalid(name, Fault.INVALID, message=message)
        found[name] = int(text)
    return found


def _nothing(offset: int, *, final: bool) -> LogPart:
    return LogPart(b"", offset, offset, truncated=False, complete=final)


def _plain(part: LogPart) -> HttpResponse:
    headers = {"X-Next-Offset": str(part.next_offset), "X-Complete": "true" if part.complete else "false"}
    return HttpResponse(part.data, content_type="text/plain; charset=utf-8", headers=headers)


def _json(part: LogPart, attempt: int) -> Response:
    # A character that is cut in two waits for its rest, unless there is none.
    data = part.data if part.complete else whole_characters(part.data)
    found = {
        "attempt": attempt,
        "offset": part.offset,
        "next_offset": part.offset + len(data),
        "text": escape_controls(data.decode("utf-8", "replace")),
        "truncated": part.truncated,
        "complete": part.complete,
    }
    return Response(LogSerializer(found).data)


_view = LogView.as_view()


async def logs(request: HttpRequest, job_id: int) -> HttpResponseBase:
    """Answer at once when there is news, else look again until `wait_s` is over."""
    response = await sync_to_async(_answer)(request, job_id)
    wait_s = request.GET.get("wait_s", "0")
    # Only a part of a log can be waited for; OPTIONS has none.
    if response.status_code != 200 or getattr(response, "log_is_news", True) or wait_s == "0":
        return response
    news = await _wait(request, job_id, deadline_s=clock.monotonic_s() + int(wait_s))
    return await sync_to_async(_answer)(request, job_id) if news else response


async def _wait(request: HttpRequest, job_id: int, *, deadline_s: float) -> bool:
    """Whether the log moved before the deadline; access was checked before and is again with the answer."""
    offset = int(request.GET.get("offset", "0"))
    attempt, replica = int(request.GET.get("attempt", "0")), int(request.GET.get("replica", "0"))
    pause_s = FIRST_POLL_S
    while (left_s := deadline_s - clock.monotonic_s()) > 0:
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, LONGEST_POLL_S)
        if await sync_to_async(_has_news)(job_id, attempt, replica, offset):
            return True
    return False


def _has_news(job_id: int, attempt: int, replica: int, offset: int) -> bool:
    try:
        rows = Placement.objects.filter(job_id=job_id, replica=replica).order_by("-attempt")
        placement = (rows.filter(attempt=attempt) if attempt else rows).first()
        return placement is not None and (placement.log_bytes > offset or is_closed(placement))
    finally:
        _let_go()


def _answer(request: HttpRequest, job_id: int) -> HttpResponseBase:
    try:
        response = _view(request, job_id=job_id)
        return response.render() if isinstance(response, Response) else response
    finally:
        _let_go()


def _let_go() -> None:
    """Hand the connection back to the pool, so that a waiting reader holds none."""
    if not connection.in_atomic_block:
        connection.close()


# The API description is made from the view that answers.
logs.cls = LogView  # type: ignore[attr-defined]
logs.initkwargs = {}  # type: ignore[attr-defined]
logs.csrf_exempt = True  # type: ignore[attr-defined]
