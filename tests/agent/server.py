"""A tiny control plane on a real socket: it keeps what agents say and answers with the desired set a test chose."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from agent import protocol
from agent.protocol import (
    Assignment,
    EnrolReply,
    EnrolRequest,
    LogReply,
    Reply,
    Report,
    SecretReply,
    SecretRequest,
    TaskPhase,
    TaskState,
    Want,
)
from tests.waiting import eventually

TOKEN = "node-token"


def assignment(placement: int, *command: str, **changes: Any) -> Assignment:
    """An assignment with defaults that tests do not care about."""
    values: dict[str, Any] = {
        "placement": placement,
        "job": placement + 1000,
        "attempt": 1,
        "fence": 1,
        "want": Want.RUN,
        "name": f"job-{placement}",
        "command": list(command) or ["true"],
        "env": {},
        "cpus": [],
        "memory_mib": None,
        "devices": [],
        "grace_s": 1,
    }
    return Assignment(**(values | changes))


class ControlPlane(ThreadingHTTPServer):
    """What a server of the protocol does, as far as agents can see."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.changed = threading.Condition()
        self.cluster_id = "cluster-1"
        self.epoch = 1
        self.authoritative = True
        self.want_facts = False
        self.interval_s = 1
        self.desired: list[Assignment] = []
        self.reports: list[Report] = []
        self.enrolments: list[EnrolRequest] = []
        self.enrol_refusal: tuple[int, dict[str, Any]] | None = None
        self.report_refusal: tuple[int, dict[str, Any]] | None = None
        self.logs: dict[tuple[int, int, int], bytes] = {}
        self.log_calls: list[tuple[int, int]] = []
        self.log_status: int | None = None
        self.secrets: dict[str, dict[str, str]] = {}
        self.secrets_asked: list[str] = []
        self.facts_seen = 0
        self.connections: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Go away; agents see refused connections."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def want(self, *assignments: Assignment) -> None:
        """A new desired set under a new epoch."""
        with self.changed:
            self.desired = list(assignments)
            self.epoch += 1
            self.changed.notify_all()

    def reply(self) -> Reply:
        """What should be."""
        now_ms = time.time_ns() // 1_000_000
        return Reply(
            version=protocol.VERSION,
            cluster_id=self.cluster_id,
            authoritative=self.authoritative,
            epoch=self.epoch,
            received_at_ms=now_ms,
            sent_at_ms=now_ms,
            report_interval_s=self.interval_s,
            want_facts=self.want_facts,
            assignments=list(self.desired),
        )

    def task(self, placement: int, phase: TaskPhase | None = None) -> TaskState | None:
        """The last reported state of a placement, if it is in `phase`."""
        for report in reversed(self.reports):
            for state in report.tasks:
                if state.placement == placement:
                    return state if phase in (None, state.phase) else None
        return None

    def log(self, placement: int) -> bytes:
        """What arrived of a placement's log."""
        return b"".join(data for key, data in sorted(self.logs.items()) if key[0] == placement)

    def handle_error(self, *_: object) -> None:
        """Agents that are killed break their connections; that is no news."""

    def wait_task(self, placement: int, phase: TaskPhase, timeout_s: float = 15.0) -> TaskState:
        """Wait until the placement was reported in this phase."""
        return eventually(
            lambda: self.task(placement, phase),
            within_s=timeout_s,
            what=f"{placement} {phase}: {self.reports[-1:]}",
        )


class Handler(BaseHTTPRequestHandler):
    """The four requests."""

    protocol_version = "HTTP/1.1"
    server: ControlPlane

    def setup(self) -> None:
        """Known while it lasts, so that the server can go away as a whole."""
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        """As `setup`."""
        self.server.connections.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        """wake"""
        if not self._authorised():
            return
        epoch = int(parse_qs(urlsplit(self.path).query)["epoch"][0])
        with self.server.changed:
            self.server.changed.wait_for(lambda: self.server.epoch > epoch, timeout=5.0)
        self._send(200, protocol.encode(self.server.reply()))

    def do_POST(self) -> None:
        """enrol, report, logs, secrets"""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        if path == "/agent/v1/enrol":
            self._enrol(protocol.decode(body, EnrolRequest))
        elif not self._authorised():
            return
        elif path == "/agent/v1/report":
            self._report(protocol.decode(body, Report))
        elif path == "/agent/v1/images/secret":
            self._secret(protocol.decode(body, SecretRequest).name)
        else:
            self._log(int(path.rsplit("/", 1)[1]), parse_qs(urlsplit(self.path).query), gzip.decompress(body))

    def _enrol(self, request: EnrolRequest) -> None:
        self.server.enrolments.append(request)
        if self.server.enrol_refusal:
            self._send(self.server.enrol_refusal[0], json.dumps(self.server.enrol_refusal[1]).encode())
            return
        reply = EnrolReply(
            version=1,
            cluster_id=self.server.cluster_id,
            node=7,
            token=TOKEN,
            report_interval_s=self.server.interval_s,
        )
        self._send(200, protocol.encode(reply))

    def _report(self, report: Report) -> None:
        if self.server.report_refusal:
            self._send(self.server.report_refusal[0], json.dumps(self.server.report_refusal[1]).encode())
            return
        self.server.reports.append(report)
        self.server.facts_seen += report.facts is not None
        self._send(200, protocol.encode(self.server.reply()))

    def _secret(self, name: str) -> None:
        self.server.secrets_asked.append(name)
        auths = self.server.secrets.get(name)
        if auths is None:
            self._send(403, json.dumps({"code": "secret-not-yours", "detail": "not yours"}).encode())
        else:
            self._send(200, protocol.encode(SecretReply(1, auths)))

    def _log(self, placement: int, query: dict[str, list[str]], data: bytes) -> None:
        if self.server.log_status:
            self._send(self.server.log_status, b"{}")
            return
        attempt, fence, offset = (int(query[name][0]) for name in ("attempt", "fence", "offset"))
        key = (placement, attempt, fence)
        held = self.server.logs.get(key, b"")
        self.server.log_calls.append((placement, offset))
        if offset > len(held):
            self._send(409, json.dumps({"code": "log-gap", "next_offset": len(held)}).encode())
            return
        self.server.logs[key] = held[:offset] + data if offset + len(data) > len(held) else held
        self._send(200, protocol.encode(LogReply(next_offset=len(self.server.logs[key]))))

    def _authorised(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self._send(401, json.dumps({"code": "bad-token"}).encode())
        return False

    def _send(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""
