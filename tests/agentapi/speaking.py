"""Speaks to the agent API as an agent does."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any

import msgspec
from django.http import HttpResponse
from django.test import Client

from agent import protocol
from agent.protocol import Check, CheckResult, EnrolReply, EnrolRequest, Reply, Report
from controlplane.base import clock
from inventory.models import EnrolmentToken
from inventory.tokens import digest, new_enrolment_secret


def enrolment_token(**columns: Any) -> str:
    secret = new_enrolment_secret()
    values = {"expires_at": clock.now() + timedelta(hours=1)} | columns
    EnrolmentToken.objects.create(token_hash=digest(secret), **values)
    return secret


def enrol_request(
    token: str, *, machine_id: str = "machine-1", boot_id: str = "boot-1", **changes: Any
) -> EnrolRequest:
    return EnrolRequest(
        version=1,
        token=token,
        machine_id=machine_id,
        boot_id=boot_id,
        hostname="n1",
        agent_version="0.1.0",
        **changes,
    )


def post(path: str, body: msgspec.Struct | bytes, *, token: str | None = None, **headers: Any) -> Any:
    data = body if isinstance(body, bytes) else protocol.encode(body)
    if token:
        headers["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return Client(enforce_csrf_checks=True).post(
        f"/agent/v1/{path}", data=data, content_type="application/json", **headers
    )


def enrol(request: EnrolRequest) -> HttpResponse:
    return post("enrol", request)


def enrolled(machine_id: str = "machine-1", boot_id: str = "boot-1", **changes: Any) -> EnrolReply:
    answer = enrol(enrol_request(enrolment_token(), machine_id=machine_id, boot_id=boot_id, **changes))
    assert answer.status_code == 200, answer.content
    return protocol.decode(answer.content, EnrolReply)


class Agent:
    """One boot of one machine with its token; `seq` counts by itself."""

    def __init__(self, token: str, boot_id: str = "boot-1") -> None:
        self.token = token
        self.boot_id = boot_id
        self.seq = 0

    def make(self, **changes: Any) -> Report:
        self.seq += 1
        values: dict[str, Any] = {
            "version": 1,
            "boot_id": self.boot_id,
            "seq": self.seq,
            "sent_at_ms": 0,
            "facts_digest": "d1",
        }
        return Report(**(values | changes))

    def send(self, report: Report | bytes) -> HttpResponse:
        return post("report", report, token=self.token)

    def report(self, **changes: Any) -> Reply:
        answer = self.send(self.make(**changes))
        assert answer.status_code == 200, answer.content
        return protocol.decode(answer.content, Reply)

    def check(self, device: str, result: CheckResult, *, code: str = "", evidence: str = "") -> Reply:
        return self.report(checks=[Check(device=device, result=result, code=code, evidence=evidence)])

    def send_log(self, placement: int, data: bytes, *, compress: bool = False, **query: int) -> HttpResponse:
        headers: dict[str, str] = {"HTTP_AUTHORIZATION": f"Bearer {self.token}"}
        if compress:
            data = gzip.compress(data)
            headers["HTTP_CONTENT_ENCODING"] = "gzip"
        return post_log(placement, data, query, **headers)


def post_log(placement: int, data: bytes, query: dict[str, Any], **headers: Any) -> Any:
    return Client().post(
        f"/agent/v1/logs/{placement}",
        data=data,
        content_type="application/octet-stream",
        query_params=query,
        **headers,
    )


def problem(answer: HttpResponse) -> dict[str, Any]:
    assert answer["Content-Type"] == "application/problem+json", answer.content
    body: dict[str, Any] = json.loads(answer.content)
    return body
