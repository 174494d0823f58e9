"""A door for reports in front of Django: those that say nothing new never get to middleware, routes and ORM.

It changes nothing about what is decided (see `quiet`), only what it costs: what is not proven quiet, and whatever is
wrong with a request, is left to Django, which reads the same request from its start.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
import psycopg
import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError, connections

from agent import protocol
from agent.protocol import Report
from controlplane.accounts.audit import client_address
from controlplane.agentapi import bodies, limits, quiet
from controlplane.agentapi.auth import hash_of
from controlplane.agentapi.compat import check_version
from controlplane.agentapi.reply import quiet_reply
from controlplane.base import clock
from controlplane.base.problems import Problem
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
# No report without facts of any node that there is comes near it, packed or unpacked.
MOST_BYTES = 64 * 1024
# Who finds all connections busy waits in Django, not here as well.
POOL_PATIENCE_S = 0.5
KNOWN = "SELECT true FROM inventory_nodecredential WHERE token_hash = %(token)s AND revoked_at IS NULL"
# Hashes of tokens that were good once: their bodies may be read. Whether they still are the one statement asks.
MOST_TRUSTED = 100_000
_trusted: set[str] = set()


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
    try:
        return _quiet_answer(environ, clock.now())
    except Problem:
        return None
    except (psycopg.Error, DatabaseError) as error:
        # Django asks again, and says it as its own.
        log.warning("quiet-report-not-noted", error=type(error).__name__)
        return None
    finally:
        # What the ORM was asked for, which is seldom; no signal of Django's gives its connection back here.
        connections.close_all()


def _quiet_answer(environ: Environ, received_at: datetime) -> bytes | None:
    request = WSGIRequest(environ)
    token_hash = hash_of(request)
    report = _read(environ) if _is_trusted(token_hash) else None
    if report is None:
        return None
    found = quiet.note(token_hash, report, at=received_at, address=client_address(request), ask=_ask)
    if found is None:
        environ[quiet.ASKED] = True
        return None
    body = protocol.encode(quiet_reply(found, received_at=received_at))
    streams.push_soon(found.node_id, clock.to_ms(received_at), report.node, report.samples, report.tasks)
    return body


def _is_trusted(token_hash: str) -> bool:
    """Asked before anything of a body is read: nobody unknown makes the server unpack and parse."""
    if token_hash not in _trusted:
        if _ask(KNOWN, {"token": token_hash}) is None:
            return False
        if len(_trusted) >= MOST_TRUSTED:
            _trusted.clear()
        _trusted.add(token_hash)
    return True


def _read(environ: Environ) -> Report | None:
    """The report, the input rewound; None for one that is too large for here, or has to be repaired."""
    length = environ.get("CONTENT_LENGTH") or ""
    if not length.isdigit() or int(length) > MOST_BYTES:
        return None
    environ["wsgi.input"] = kept = io.BytesIO(environ["wsgi.input"].read(int(length)))
    try:
        body = bodies.read_bytes(WSGIRequest(environ), limit=MOST_BYTES)
        check_version(body)
        report = protocol.decode(body, Report)
        limits.check_report(report)
        return report
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    finally:
        kept.seek(0)


def _ask(sql: str, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Over a connection of Django's pool, set up as all of them are, without its wrapper."""
    default: Any = connections["default"]
    default.pool.open()
    with default.pool.connection(timeout=POOL_PATIENCE_S) as raw:
        return quiet.ask(raw, sql, params)
