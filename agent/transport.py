"""HTTP to the control plane: four requests, and what their failures mean."""

from __future__ import annotations

import gzip
import ipaddress
import json
import random
import ssl
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from agent import protocol
from agent.protocol import (
    EnrolReply,
    EnrolRequest,
    ImageOrders,
    ImageReport,
    LogReply,
    Reply,
    Report,
    SecretReply,
    SecretRequest,
)
from agent.task import TaskKey

T = TypeVar("T")
REPORT_TIMEOUT = httpx.Timeout(15.0, connect=5.0)
WAKE_TIMEOUT = httpx.Timeout(40.0, connect=5.0)
SECRET_TIMEOUT = httpx.Timeout(5.0, connect=2.0)
LOG_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 10.0
REFUSED_DELAY_S = 30.0


class TransportError(Exception):
    """A request failed; the text never holds a token."""


class Unreachable(TransportError):
    """No answer, or one that makes no sense: the server is down, or something between us is."""


class Refused(TransportError):
    """The server answered no."""

    def __init__(self, status: int, code: str, detail: str, body: dict[str, Any]) -> None:
        super().__init__(f"HTTP {status} {code}: {detail}".strip())
        self.status = status
        self.code = code
        self.body = body


class Backoff:
    """Growing delays with jitter, so that a cluster does not return in step."""

    def __init__(self, *, first_s: float = FIRST_DELAY_S, longest_s: float = LONGEST_DELAY_S) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._delay_s = first_s

    def next_s(self, error: TransportError | None = None) -> float:
        """Seconds to wait now. A clear refusal (revoked token) is retried slowly."""
        if isinstance(error, Refused) and error.status in (401, 403, 409, 410):
            return REFUSED_DELAY_S * random.uniform(0.8, 1.2)
        delay_s, self._delay_s = self._delay_s, min(self._longest_s, self._delay_s * 2)
        return delay_s * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """It went well."""
        self._delay_s = self._first_s


class Transport:
    """One connection pool to one server; safe to use from several threads."""

    def __init__(self, server: str, *, token: str | None = None, ca_file: str | None = None) -> None:
        check_address(server)
        self.server = server.rstrip("/")
        self._client = httpx.Client(
            base_url=self.server,
            verify=trust(ca_file) if server.startswith("https") else False,
            timeout=REPORT_TIMEOUT,
            trust_env=not is_loopback(urlsplit(server).hostname or ""),
            follow_redirects=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=60.0),
        )
        self._token = token

    def with_token(self, token: str) -> Transport:
        """The same connections for another node."""
        other = object.__new__(Transport)
        other.server, other._client, other._token = self.server, self._client, token
        return other

    def enrol(self, request: EnrolRequest) -> EnrolReply:
        """Trade a one-time token for the node's own."""
        return self._post("/agent/v1/enrol", protocol.encode(request), EnrolReply, timeout=REPORT_TIMEOUT)

    def report(self, report: Report) -> Reply:
        """Say what is, learn what should be."""
        return self._post("/agent/v1/report", protocol.encode(report), Reply, timeout=REPORT_TIMEOUT)

    def wake(self, epoch: int) -> Reply:
        """Wait until the desired set is newer than `epoch`, at most the server's patience of 25 s."""
        call = lambda: self._client.get(  # noqa: E731
            "/agent/v1/wake", params={"epoch": epoch}, headers=self._headers(), timeout=WAKE_TIMEOUT
        )
        return self._ask(call, Reply)

    def send_log(self, key: TaskKey, *, offset: int, data: bytes) -> LogReply:
        """Append to the log of one attempt; the same piece twice is harmless."""
        call = lambda: self._client.post(  # noqa: E731
            f"/agent/v1/logs/{key.placement}",
            params={"attempt": key.attempt, "fence": key.fence, "offset": offset},
            content=gzip.compress(data, compresslevel=1),
            headers=self._headers()
            | {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"},
            timeout=LOG_TIMEOUT,
        )
        return self._ask(call, LogReply)

    def image_work(self, report: ImageReport) -> ImageOrders:
        """Say how image orders ended, learn what to do next."""
        return self._post("/agent/v1/images", protocol.encode(report), ImageOrders, timeout=REPORT_TIMEOUT)

    def registry_secret(self, name: str) -> SecretReply:
        """The secret of a registry, for an image that this node is to fetch."""
        body = protocol.encode(SecretRequest(protocol.VERSION, name))
        return self._post("/agent/v1/images/secret", body, SecretReply, timeout=SECRET_TIMEOUT)

    def fetch_ca(self) -> bytes:
        """The server's CA certificate, unverified: the caller checks it against a pin."""
        try:
            with httpx.Client(
                base_url=self.server, verify=False, timeout=REPORT_TIMEOUT, trust_env=False
            ) as client:
                answer = client.get("/agent/v1/ca")
        except httpx.HTTPError as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        if answer.status_code != 200:
            raise refusal(answer)
        return answer.content

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _post(self, path: str, body: bytes, type_: type[T], *, timeout: httpx.Timeout) -> T:
        headers = self._headers() | {"Content-Type": "application/json"}
        return self._ask(
            lambda: self._client.post(path, content=body, headers=headers, timeout=timeout), type_
        )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def _ask(self, call: Callable[[], httpx.Response], type_: type[T]) -> T:
        try:
            answer = call()
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            RuntimeError,
        ) as error:  # RuntimeError: the client was closed
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        if answer.status_code >= 500:
            raise Unreachable(f"HTTP {answer.status_code}")
        if answer.status_code >= 300:
            raise refusal(answer)
        try:
            return protocol.decode(answer.content, type_)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreachable(f"the answer is not of this protocol: {error}") from error


def refusal(answer: httpx.Response) -> Refused:
    """The problem document of a refused request."""
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    detail = str(body.get("detail") or body.get("title") or "")[:300]
    return Refused(answer.status_code, str(body.get("code", ""))[:100], detail, body)


def check_address(server: str) -> None:
    """TLS everywhere except on loopback; raises ValueError."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"server must be an address such as https://headrace.example:8443, not {server!r}")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError(f"{server} is not on this machine: use https (plain http is for loopback only)")


def is_loopback(host: str) -> bool:
    """Whether a host name surely means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def trust(ca_file: str | None) -> ssl.SSLContext:
    """Only the given CA, or else the system's."""
    return ssl.create_default_context(cafile=ca_file)
