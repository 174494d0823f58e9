"""The HTTP client: signing in, and one method per thing a pipeline needs."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from client import config as configuration
from client.errors import ApiError, ClientError, FieldError, Misuse, NotSignedIn, OddAnswer, Unreachable
from client.messages import language, say

JSON = dict[str, Any]
Body = TypeVar("Body", dict[str, Any], list[Any])
CSRF_COOKIE = "headrace_csrf"
PAGE = 500
RETRIED_STATUSES = {429, 502, 503, 504}
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0


def odd(detail: str) -> OddAnswer:
    """What the server answered is not as documented."""
    return OddAnswer(say("odd-answer", detail=detail))


@contextmanager
def as_documented() -> Iterator[None]:
    """What is of another kind than documented, at any depth, is the server's fault and told in one line."""
    try:
        yield
    except UnicodeError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise odd(say("odd-kind")) from error


class Answered(dict[str, Any]):
    """An object of an answer; a field that is not there is no bug of ours."""

    def __missing__(self, name: str) -> Any:
        raise odd(say("odd-missing", field=name))

    def section(self, name: str) -> JSON:
        """An object in it."""
        found = self[name]
        if not isinstance(found, dict):
            raise odd(say("odd-object", field=name))
        return found


@dataclass(frozen=True)
class LogPart:
    """Bytes of one attempt's log; `complete` when the attempt ended and nothing follows."""

    data: bytes
    next_offset: int
    complete: bool


class Client:
    """Speaks to one server.

    Safe requests, and submissions (they carry an Idempotency-Key), are repeated for `patience_s` on failures.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        patience_s: float = 5.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        stored = configuration.load()
        self.url = (url or stored.url).rstrip("/")
        self.token = token or (stored.token if self.url == stored.url else None)
        self.patience_s = patience_s
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise NotSignedIn("the token holds characters that no token has")
        try:
            self._http = httpx.Client(
                base_url=self.url,
                timeout=httpx.Timeout(30.0, connect=5.0),
                transport=transport,
                follow_redirects=False,
                # The server's sentences stand among ours; who chose a language in the console gets that one.
                headers={"Accept-Language": language()},
            )
        except httpx.InvalidURL as error:
            raise Unreachable(f"{self.url}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def sign_in(self, *, username: str, password: str, token_name: str, expires_in_days: int = 90) -> str:
        """Trade a password for an API token of the same user, which is returned; the session for it is ended."""
        self._in_session("GET", "/api/v1/me")
        credentials = {"username": username, "password": password}
        login = self._in_session("POST", "/_allauth/browser/v1/auth/login", json=credentials)
        if login.status_code in {400, 401}:
            raise NotSignedIn("wrong user name or password")
        if login.status_code != 200:
            raise _problem(login)
        body = {"name": token_name, "scopes": ["read", "submit", "write"], "expires_in_days": expires_in_days}
        answer = self._in_session("POST", "/api/v1/tokens", json=body)
        if answer.status_code != 201:
            raise _problem(answer)
        self.token = str(self._body(answer, dict)["token"])
        self._in_session("DELETE", "/_allauth/browser/v1/auth/session")
        self._http.cookies.clear()
        return self.token

    def submit(self, spec: JSON, *, idempotency_key: str | None = None) -> JSON:
        """Submit one job; repeated calls with one key make one job."""
        key = idempotency_key or str(uuid.uuid4())
        headers = {"Idempotency-Key": key}
        try:
            return self._json("POST", "/api/v1/jobs/submit", json=spec, headers=headers, repeat=True)
        except Unreachable as error:
            if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                raise
            raise Unreachable(f"{error}. {say('perhaps-submitted', idempotency_key=key)}") from error

    def suspend(self, job: int, *, lose_work: bool = False) -> JSON:
        """Let the job make its checkpoint and give up what it holds."""
        with _about("job", job):
            body = {"lose_work": lose_work}
            return self._json("POST", f"/api/v1/jobs/{job}/suspend", json=body, repeat=True)

    def arrays(self, *, limit: int = 50) -> list[JSON]:
        """Newest arrays of jobs, at most `limit`."""
        return self._some("/api/v1/job-arrays", limit=limit, params={})

    def cancel_array(self, array: int) -> JSON:
        """End all tasks of an array."""
        return self._json("POST", f"/api/v1/job-arrays/{array}/cancel", json={}, repeat=True)

    def team_quotas(self, **filters: Any) -> list[JSON]:
        """What teams may hold inside queues, and how it is divided among their members."""
        params = {name: value for name, value in filters.items() if value}
        return list(self._pages("/api/v1/team-quotas", params={**params, "limit": PAGE}))

    def set_team_quota(self, wish: JSON, *, dry_run: bool = False) -> JSON:
        """What a team may hold; with `dry_run` what would follow of it."""
        params = {"dry_run": "1"} if dry_run else {}
        return self._json("POST", "/api/v1/team-quotas", json=wish, params=params, repeat=True)

    def set_share(self, quota: int, username: str, milli: int, *, dry_run: bool = False) -> JSON:
        """What a member may hold of a quota, in milli-device; with `dry_run` what would follow of it."""
        path, params = f"/api/v1/team-quotas/{quota}/shares/{username}", {"dry_run": "1"} if dry_run else {}
        return self._json("PUT", path, json={"share_milli": milli}, params=params, repeat=True)

    def set_cap(self, queue: str, percent: float, *, reason: str, dry_run: bool = False) -> JSON:
        """What a queue may hold, in per cent; with `dry_run` what would follow of it."""
        wish = {"quota_percent": percent} | ({} if dry_run else {"reason": reason})
        params = {"dry_run": "1"} if dry_run else {}
        return self._json("PATCH", f"/api/v1/queues/{quote(queue, safe='')}", json=wish, params=params)

    def team_use(self, team: str, *, days: int) -> JSON:
        """What a team holds, held by day, and waited for."""
        return self._json("GET", f"/api/v1/teams/{quote(team, safe='')}/use", params={"days": days})

    def team_members_use(self, team: str) -> list[JSON]:
        """The members of a team with their shares and what they hold."""
        path = f"/api/v1/teams/{quote(team, safe='')}/use/members"
        return list(self._pages(path, params={"limit": PAGE}))

    def calendar(self, *, days: int) -> JSON:
        """What the coming days bring: windows, promised starts, nodes out of service."""
        return self._json("GET", "/api/v1/calendar", params={"days": days})

    def forecast(self, *, hours: int, models: list[str] | None = None) -> JSON:
        """How much should be free now and at every full hour, of these models or all."""
        return self._json("GET", "/api/v1/forecast", params={"hours": hours, "model": models or []})

    def templates(self, **filters: Any) -> list[JSON]:
        """Named forms of requests."""
        params = {name: value for name, value in filters.items() if value}
        return list(self._pages("/api/v1/job-templates", params={**params, "limit": PAGE}))

    def save_template(self, wish: JSON, *, number: int | None = None) -> JSON:
        """A new template, or other values for one that is there."""
        if number is None:
            return self._json("POST", "/api/v1/job-templates", json=wish)
        return self._json("PATCH", f"/api/v1/job-templates/{number}", json=wish, repeat=True)

    def drop_template(self, number: int) -> None:
        """Jobs made from it stay as they are."""
        self._send("DELETE", f"/api/v1/job-templates/{number}", repeat=True)

    def bulk(self, wish: JSON) -> JSON:
        """Act on many jobs, at most 500 at once; each has its outcome, `left` more are found by the filter."""
        return self._json("POST", "/api/v1/jobs/bulk", json=wish, repeat=True)

    def resume(self, job: int) -> JSON:
        """Let a suspended job wait for a place again."""
        with _about("job", job):
            return self._json("POST", f"/api/v1/jobs/{job}/resume", json={}, repeat=True)

    def dry_run(self, spec: JSON) -> JSON:
        """Where the job would go now, or why it would wait."""
        return self._json("POST", "/api/v1/jobs/submit", json=spec, params={"dry_run": "1"}, repeat=True)

    def me(self) -> JSON:
        """Who the token belongs to."""
        return self._json("GET", "/api/v1/me")

    def job(self, job: int) -> JSON:
        """One job."""
        with _about("job", job):
            return self._json("GET", f"/api/v1/jobs/{job}")

    def jobs(self, *, limit: int = 50, **filters: Any) -> list[JSON]:
        """Newest jobs first, at most `limit`."""
        return self._some("/api/v1/jobs", limit=limit, params={k: v for k, v in filters.items() if v})

    def uses(self, *, limit: int = PAGE, **filters: Any) -> list[JSON]:
        """Running jobs with what they use of what they booked, newest first, at most `limit`."""
        return self._some("/api/v1/jobs/use", limit=limit, params={k: v for k, v in filters.items() if v})

    def nodes(self) -> list[JSON]:
        """All nodes."""
        return list(self._pages("/api/v1/nodes", params={"limit": PAGE}))

    def node_number(self, name: str) -> int:
        """The number of the node of this name; Misuse when there is none."""
        for row in self._pages("/api/v1/nodes", params={"search": name, "limit": PAGE}):
            if row["name"] == name:
                return int(row["id"])
        raise Misuse(say("no-such-node", node=name))

    def images(self, *, limit: int = 200, **filters: Any) -> list[JSON]:
        """Images, at most `limit`, with the history of `days`."""
        return self._some("/api/v1/images", limit=limit, params={k: v for k, v in filters.items() if v})

    def image_nodes(self, image: int, *, days: int | None = None) -> list[JSON]:
        """Where an image is, and where it is wanted or was fetched ahead."""
        params = {"limit": PAGE} | ({"days": days} if days else {})
        return list(self._pages(f"/api/v1/images/{image}/nodes", params=params))

    def images_summary(self, *, days: int | None = None) -> JSON:
        """Hits of images over the cluster, and what fetching cost."""
        return self._json("GET", "/api/v1/images/summary", params={"days": days} if days else {})

    def order_image(self, wish: JSON) -> JSON:
        """Have an image on nodes, or gone from them; one outcome per node."""
        return self._json("POST", "/api/v1/images/orders", json=wish, repeat=True)

    def host_key(self, address: str, port: int) -> JSON:
        """The host key that is shown at an address now; nothing is kept."""
        return self._json("POST", "/api/v1/remote-hosts/scan", json={"address": address, "port": port})

    def watch(self, wish: JSON) -> JSON:
        """Watch a node over SSH; its host key was confirmed."""
        return self._json("POST", "/api/v1/remote-hosts", json=wish)

    def watched(self) -> list[JSON]:
        """All nodes watched over SSH."""
        return list(self._pages("/api/v1/remote-hosts", params={"limit": PAGE}))

    def watched_node(self, number: int) -> JSON:
        """One of them."""
        with _about("watched", number):
            return self._json("GET", f"/api/v1/remote-hosts/{number}")

    def confirm_host_key(self, number: int, host_key: str) -> JSON:
        """Believe another host key from now on."""
        with _about("watched", number):
            path = f"/api/v1/remote-hosts/{number}/host-key"
            return self._json("PUT", path, json={"host_key": host_key}, repeat=True)

    def let_fetch_images(self, number: int, *, fetches: bool) -> JSON:
        """Have images fetched on it ahead of demand, or no longer."""
        with _about("watched", number):
            path = f"/api/v1/remote-hosts/{number}"
            return self._json("PATCH", path, json={"fetches_images": fetches}, repeat=True)

    def unwatch(self, number: int) -> None:
        """Watch it no longer."""
        with _about("watched", number):
            self._send("DELETE", f"/api/v1/remote-hosts/{number}")

    def make_ssh_key(self, name: str) -> JSON:
        """A new SSH key of the server; its public half."""
        return self._json("POST", "/api/v1/ssh-keys", json={"name": name})

    def cancel(self, job: int) -> JSON:
        """Ask for a job's end; harmless when it already ended."""
        with _about("job", job):
            return self._json("POST", f"/api/v1/jobs/{job}/cancel", json={}, repeat=True)

    def explain(self, job: int) -> Answered:
        """Why a job waits, or why it was placed where it is."""
        with _about("job", job):
            return Answered(self._json("GET", f"/api/v1/jobs/{job}/explain"))

    def fits(self, device: int) -> JSON:
        """What a device could run now."""
        with _about("device", device):
            return self._json("GET", f"/api/v1/devices/{device}/fits")

    def device_number(self, name: str) -> int:
        """The number of the device that is called NODE/INDEX; Misuse when there is none."""
        node, _slash, index = name.rpartition("/")
        found = self._pages("/api/v1/nodes", params={"search": node, "limit": PAGE}) if node else ()
        for row in (row for row in found if row["name"] == node):
            for device in self._pages("/api/v1/devices", params={"node": row["id"], "limit": PAGE}):
                if str(device["index"]) == index:
                    return int(device["id"])
        raise Misuse(say("no-such-device", device=name))

    def placements(self, job: int) -> list[JSON]:
        """Where the attempts of a job were placed, first to last."""
        with _about("job", job):
            return self._body(self._send("GET", f"/api/v1/jobs/{job}/placements"), list)

    def log(self, job: int, *, attempt: int, replica: int = 0, offset: int = 0, wait_s: int = 0) -> LogPart:
        """The next part of a log; waits up to `wait_s` for new bytes."""
        # Older servers know no replicas.
        which = {"replica": replica} if replica else {}
        with _about("job", job):
            answer = self._send(
                "GET",
                f"/api/v1/jobs/{job}/logs",
                params={"attempt": attempt, "offset": offset, "wait_s": wait_s, **which},
                headers={"Accept": "text/plain"},
            )
        return LogPart(
            data=answer.content,
            next_offset=int(answer.headers["X-Next-Offset"]),
            complete=answer.headers.get("X-Complete") == "true",
        )

    def search_log(
        self,
        job: int,
        text: str,
        *,
        attempt: int,
        replica: int = 0,
        ignore_case: bool = False,
        context: int = 0,
    ) -> Iterator[JSON]:
        """The lines of a log that hold a text, as far as the log goes now; the server looks part by part."""
        query: JSON = {
            "search": text,
            "attempt": attempt,
            "ignore_case": int(ignore_case),
            "context": context,
        }
        query |= {"replica": replica} if replica else {}
        page: JSON = {"next_offset": 0, "next_line": 1, "at_end": False}
        while not page["at_end"]:
            place = {"offset": page["next_offset"], "line": page["next_line"]}
            with _about("job", job):
                page = self._json("GET", f"/api/v1/jobs/{job}/logs", params=query | place)
            yield from page["matches"]

    def _some(self, path: str, *, limit: int, params: JSON) -> list[JSON]:
        rows: list[JSON] = []
        for row in self._pages(path, params={**params, "limit": min(limit, PAGE)}):
            rows.append(row)
            if len(rows) >= limit:
                break
        return rows

    def _pages(self, path: str, *, params: JSON) -> Iterator[JSON]:
        page = self._json("GET", path, params=params)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            page = self._json("GET", page["next"])

    def _in_session(self, method: str, path: str, **options: Any) -> httpx.Response:
        """A request as a browser makes it: session cookie, CSRF header; Referer is what Django checks under https."""
        headers = {"X-CSRFToken": self._http.cookies.get(CSRF_COOKIE) or "", "Referer": f"{self.url}/"}
        try:
            return self._http.request(method, path, headers=headers, **options)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url}: {error or type(error).__name__}") from error

    def _json(self, method: str, path: str, *, repeat: bool = False, **options: Any) -> JSON:
        return self._body(self._send(method, path, repeat=repeat, **options), dict)

    def _body(self, answer: httpx.Response, kind: type[Body]) -> Body:
        """The JSON of an answer, which must be of this kind."""
        try:
            body = answer.json(object_hook=Answered)
        except ValueError:
            body = None
        if isinstance(body, kind):
            return body
        raise odd(answer.headers.get("Content-Type") or say("odd-untyped"))

    def _send(self, method: str, path: str, *, repeat: bool = False, **options: Any) -> httpx.Response:
        headers = {**options.pop("headers", {})}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        deadline = time.monotonic() + (self.patience_s if repeat or method == "GET" else 0)
        pause_s = FIRST_PAUSE_S
        while True:
            failure: ClientError
            try:
                answer = self._http.request(method, path, headers=headers, **options)
                if answer.status_code < 400:
                    return answer
                failure = _problem(answer)
                if answer.status_code not in RETRIED_STATUSES:
                    raise failure
            except httpx.TransportError as error:
                failure = Unreachable(f"{self.url}: {error or type(error).__name__}")
                failure.__cause__ = error
            if time.monotonic() + pause_s > deadline:
                raise failure
            time.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


@contextmanager
def _about(kind: str, number: int) -> Iterator[None]:
    """What the server says of a job or device names it: one command may be about many."""
    try:
        yield
    except ApiError as error:
        if error.status < 500:
            error.detail = say(f"about-{kind}", **{kind: number}, detail=error.detail)
        raise


def _problem(answer: httpx.Response) -> ClientError:
    """The error that one answer of 300 or more stands for."""
    if answer.status_code == 401:
        return NotSignedIn("not signed in, or the token is no longer valid")
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    fields = body.get("errors") or []
    return ApiError(
        status=answer.status_code,
        code=str(body.get("code", "http-error")),
        detail=str(body.get("detail") or body.get("title") or f"HTTP {answer.status_code}"),
        errors=tuple(
            FieldError(str(e.get("field", "")), str(e.get("message", "")))
            for e in fields
            if isinstance(e, dict)
        ),
        params=body.get("params") or {},
    )
