"""A door for reports in front of Django: those that say nothing new never get to middleware, routes and ORM.

It changes nothing about what is decided (see `quiet`), only what it costs: what is not proven quiet, and whatever is
wrong with a request, is left to Django, which reads the same request from its start.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import psycopg
import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections

from agent import protocol
from agent.protocol import Report
from controlplane.accounts.audit import client_address
from controlplane.agentapi import bodies, limits, quiet
from controlplane.agentapi.auth import hash_of
from controlplane.agentapi.reply import quiet_reply
from controlplane.base import clock
from controlplane.base.problems import Problem
from controlplane.settings.patience import PatientConnection
from inventory import streams

log = structlog.get_logger(__name__)

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
ADDRESS = "/agent/v1/report"
HEADERS = (
    ("Content-Type", "application/json"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)
_own = threading.local()


def behind_gate(application: Application) -> Application:
    """The same application with the door in front of it."""

    def gated(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == ADDRESS and environ.get("REQUEST_METHOD") == "POST":
            body = _answer(environ)
            if body is not None:
                start_response("200 OK", [*HEADERS, ("Content-Length", str(len(body)))])
                return [body]
        return application(environ, start_response)

    return gated


def _answer(environ: Environ) -> bytes | None:
    """The reply to a quiet report; None for all others, whose body can be read again."""
    received_at = clock.now()
    request = WSGIRequest(environ)
    try:
        token_hash = hash_of(request)
        report = _read(environ, request)
    except Problem:
        return None
    if report is None:
        return None
    found = _note(token_hash, report, received_at, client_address(request))
    if found is None:
        return None
    streams.push_soon(found.node_id, clock.to_ms(received_at), report.node, report.samples)
    return protocol.encode(quiet_reply(found, received_at=received_at))


def _read(environ: Environ, request: WSGIRequest) -> Report | None:
    """The report, the input rewound; None for a body that is larger than a report without facts ever is, and than
    anybody may send before it is known who it is.
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdigit() or int(length) > bodies.ENROL_LIMIT:
        return None
    environ["wsgi.input"] = kept = io.BytesIO(environ["wsgi.input"].read(int(length)))
    try:
        report = bodies.decode(bodies.read_bytes(WSGIRequest(environ), limit=bodies.REPORT_LIMIT), Report)
        limits.check_report(report)
        return report
    finally:
        kept.seek(0)


def _note(token_hash: str, report: Report, at: datetime, address: str | None) -> quiet.Quiet | None:
    try:
        return quiet.note(token_hash, report, at=at, address=address, ask=_ask)
    except psycopg.Error as error:
        # Django asks again, on a connection that it tries first, and says it as its own.
        log.warning("quiet-report-not-noted", error=type(error).__name__)
        _forget()
        return None


def _ask(sql: str, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Over a connection of this thread, which is only for this: no pool to ask, nothing to try beforehand."""
    raw = getattr(_own, "connection", None)
    if raw is None or raw.closed:
        given = connections["default"].get_connection_params()
        given = {
            name: value
            for name, value in given.items()
            if name not in ("cursor_factory", "prepare_threshold")
        }
        raw = _own.connection = PatientConnection.connect(**given, autocommit=True, prepare_threshold=1)
    return quiet.ask(raw, sql, params)


def _forget() -> None:
    raw = getattr(_own, "connection", None)
    _own.connection = None
    if raw is not None:
        raw.close()
