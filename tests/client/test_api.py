"""The client against faults of servers and networks, over real sockets."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from client import ApiError, Client, ClientError, NotSignedIn, Unreachable
from tests.client.server import Answer, Asked, scripted

SPEC = {"queue": "training", "command": ["true"]}


@pytest.fixture(autouse=True)
def own_config(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_CONFIG", str(tmp_path / "config.toml"))
    for name in ("HEADRACE_URL", "HEADRACE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def in_turn(answers: Iterable[Answer]):
    queue = iter(answers)
    return lambda _: next(queue)


def test_submit_is_repeated_with_the_same_key_after_cut_and_503():
    answers = [Answer(cut=True), Answer(503, {"code": "database-unavailable"}), Answer(201, {"id": 7})]
    with scripted(in_turn(answers)) as server, Client(url=server.url, token="t") as client:
        assert client.submit(SPEC)["id"] == 7
    keys = {request.headers["Idempotency-Key"] for request in server.asked}
    assert len(server.asked) == 3
    assert len(keys) == 1


def test_placements_are_a_plain_list():
    rows = [{"id": 4, "attempt": 2}, {"id": 3, "attempt": 1}]
    with scripted(lambda _: Answer(200, rows)) as server, Client(url=server.url, token="t") as client:
        assert client.placements(7) == rows
        with pytest.raises(ClientError, match="does not answer like a Headrace server"):
            client.job(7)
    assert server.asked[0].path == "/api/v1/jobs/7/placements"


def test_a_refused_request_is_not_repeated_and_names_the_field():
    problem = {
        "code": "invalid",
        "detail": "The request is not valid.",
        "errors": [{"field": "resources.cores", "code": "min", "message": "must be at least 0"}],
    }
    with (
        scripted(lambda _: Answer(400, problem)) as server,
        Client(url=server.url, token="t") as client,
        pytest.raises(ApiError) as caught,
    ):
        client.submit(SPEC)
    assert len(server.asked) == 1
    assert "resources.cores: must be at least 0" in str(caught.value)
    assert caught.value.exit_code == 64


@pytest.mark.parametrize("body", [b"<html>", [1], {"errors": "x"}, {"errors": [3]}])
def test_an_error_answer_of_any_shape_is_an_error(body):
    with (
        scripted(lambda _: Answer(500, body)) as server,
        Client(url=server.url, token="t") as client,
        pytest.raises(ApiError) as caught,
    ):
        client.me()
    assert caught.value.status == 500
    assert caught.value.exit_code == 70


def test_a_page_that_is_not_json_is_said_to_be_no_headrace():
    answer = Answer(200, b"<html>", {"Content-Type": "text/html"})
    with (
        scripted(lambda _: answer) as server,
        Client(url=server.url, token="t") as client,
        pytest.raises(ClientError, match="does not answer like a Headrace server"),
    ):
        client.me()


def test_401_says_not_signed_in():
    with (
        scripted(lambda _: Answer(401, {})) as server,
        Client(url=server.url, token="t") as client,
        pytest.raises(NotSignedIn),
    ):
        client.me()


def test_nobody_listening_is_unreachable_after_the_patience():
    with Client(url="http://127.0.0.1:9", token="t", patience_s=0.3) as client, pytest.raises(Unreachable):
        client.me()


def test_a_submission_without_an_answer_names_the_key_that_makes_one_job():
    with (
        scripted(lambda _: Answer(cut=True)) as server,
        Client(url=server.url, token="t", patience_s=0.3) as client,
        pytest.raises(Unreachable, match="--idempotency-key k1"),
    ):
        client.submit({}, idempotency_key="k1")


def test_a_submission_that_reached_nobody_was_not_made():
    with (
        Client(url="http://127.0.0.1:9", token="t", patience_s=0.3) as client,
        pytest.raises(Unreachable) as told,
    ):
        client.submit({}, idempotency_key="k1")
    assert "k1" not in str(told.value)


def test_pages_are_followed_up_to_the_limit():
    def respond(request: Asked) -> Answer:
        page = int(request.query.get("cursor", ["0"])[0])
        rows = [{"id": page * 2 + n} for n in range(2)]
        return Answer(200, {"results": rows, "next": f"/api/v1/jobs?cursor={page + 1}"})

    with scripted(respond) as server, Client(url=server.url, token="t") as client:
        assert [row["id"] for row in client.jobs(limit=5)] == [0, 1, 2, 3, 4]


def test_a_token_is_sent_only_to_the_server_it_belongs_to(tmp_path):
    from client import config

    config.save(config.Config(url="http://127.0.0.1:1", token="secret"))
    with scripted(lambda _: Answer(200, {})) as server, Client(url=server.url) as client:
        client.me()
    assert "Authorization" not in server.asked[0].headers
    assert config.config_path().stat().st_mode & 0o777 == 0o600


def test_signing_in_trades_the_password_for_a_token_and_ends_the_session():
    def respond(request: Asked) -> Answer:
        if request.path == "/api/v1/tokens":
            return Answer(201, {"token": "hr_1"})
        status = 401 if request.method == "DELETE" or request.path == "/api/v1/me" else 200
        return Answer(status, {}, {"Set-Cookie": "headrace_csrf=abc; Path=/"})

    with scripted(respond) as server, Client(url=server.url, token="none") as client:
        assert client.sign_in(username="a", password="p", token_name="t") == "hr_1"
    sent = [(request.method, request.path) for request in server.asked]
    assert sent[-1] == ("DELETE", "/_allauth/browser/v1/auth/session")
    assert server.asked[1].headers["X-CSRFToken"] == "abc"


@pytest.mark.parametrize(("lang", "asked"), [("zh_CN.UTF-8", "zh"), ("C", "en")])
def test_the_server_is_asked_for_the_callers_language(monkeypatch, lang, asked):
    monkeypatch.setenv("HEADRACE_LANG", lang)
    with scripted(lambda _: Answer(200, {"id": 7})) as server, Client(url=server.url, token="t") as client:
        client.job(7)
    assert server.asked[0].headers["Accept-Language"] == asked
