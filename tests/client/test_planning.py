"""What teams, the calendar and templates look like on the command line; caps of queues."""

from __future__ import annotations

import json

import pytest

from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import headrace

USE = {
    "team": "vision", "time_zone": "UTC", "known_since": "2026-05-03T00:00:00Z",
    "now": [{"queue": "training", "device_milli": 2500, "core_milli": 0, "running": 2, "waiting": 1}],
    "days": [
        {"day": "2026-05-02", "device_hours": None, "core_hours": None, "queues": []},
        {"day": "2026-05-03", "device_hours": 7.5, "core_hours": 0.0,
         "queues": [{"queue": "training", "device_hours": 7.5, "core_hours": 0.0}]},
    ],
    "waits": [{"queue": "training", "count": 3, "mean": 12.0, "p50": 10.0, "p95": 20.0, "p99": 30.0}],
}  # fmt: skip
MEMBER = {
    "username": "ada", "role": "lead", "device_milli": 2500, "core_milli": 0, "running": 2, "waiting": 1,
    "shares": [{"quota": 1, "queue": "training", "model": None, "share_milli": 1500}],
}  # fmt: skip
CALENDAR = {
    "time_zone": "Europe/Berlin", "begins_at": "2026-05-04T12:00:00Z", "ends_at": "2026-05-06T12:00:00Z",
    "valleys": [{"opens_at": "2026-05-04T20:00:00Z", "closes_at": "2026-05-05T06:00:00Z"}],
    "peaks": [],
    "power": [{"opens_at": "2026-05-04T12:00:00Z", "closes_at": "2026-05-04T20:00:00Z", "cap_w": 4000}],
    "promised": [
        {"job": 7, "name": None, "replica": 0, "node": 1, "node_name": "here-01", "starts_at": "2026-05-04T13:00:00Z"}
    ],
    "promised_total": 1,
    "nodes": [
        {"node": 2, "node_name": "here-02", "state": "draining", "reason": "disk", "since": "2026-05-04T11:00:00Z",
         "deadline": None},
    ],
    "nodes_total": 1,
}  # fmt: skip
FORECAST = {
    "models": [], "by_time_limit": 4, "by_history": 3, "end_unknown": 2, "promised": 1,
    "points": [
        {"at": "2026-05-04T12:00:00Z", "free_device_milli": 1500, "free_devices": 1, "free_core_milli": 8000,
         "unknown_device_milli": 500, "unknown_core_milli": 2000},
    ],
}  # fmt: skip
TEMPLATE = {
    "id": 3, "team": "vision", "name": "nightly", "description": "every night", "spec": {"queue": "offline"},
    "owner": None, "changed_at": "2026-05-04T12:00:00Z",
}  # fmt: skip
OVER = {
    "kind": "queue",
    "queue": "offline",
    "team": None,
    "owner": None,
    "model": None,
    "unit": "device-milli",
}
CONSEQUENCES = {
    "considered": 3, "over": [{**OVER, "cap_milli": 1000, "held_milli": 2500}], "starts": [], "starts_total": 0,
    "waits": [], "waits_total": 2,
}  # fmt: skip


def paged(rows: list) -> dict:
    return {"next": None, "previous": None, "results": rows}


def respond(request: Asked) -> Answer:
    path = request.path.removeprefix("/api/v1/")
    answers = {
        "teams/vision/use": USE,
        "teams/vision/use/members": paged([MEMBER]),
        "team-quotas": paged([]),
        "calendar": CALENDAR,
        "forecast": FORECAST,
    }
    if path in answers:
        return Answer(200, answers[path])
    if path == "job-templates" and request.method == "GET":
        return Answer(200, paged([TEMPLATE] if request.query.get("name", ["nightly"]) == ["nightly"] else []))
    if path.startswith("queues/") and "dry_run" in request.query:
        return Answer(200, CONSEQUENCES)
    if path.startswith("queues/"):
        return Answer(201, {"name": "offline", "quota_percent": request.body["quota_percent"]})
    if path == "jobs/submit":
        return Answer(201, {"id": 5, "queue": "offline"})
    return Answer(204) if request.method == "DELETE" else Answer(201, TEMPLATE)


def said(*arguments: str, lang: str = "en", code: int = 0) -> tuple[str, list[Asked]]:
    with scripted(respond) as server:
        done = headrace(*arguments, url=server.url, lang=lang)
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode() + done.stderr.decode(), server.asked


def test_a_team_is_shown_with_unknown_days_as_unknown():
    text, asked = said("team", "vision", "--days", "2")
    assert "2026-05-02\tunknown\tunknown\t" in text
    assert "2026-05-03\t7.5\t0.0\ttraining 7.5" in text
    assert "ada\tlead\ttraining 1.5\t2.5\t0\t2\t1" in text
    assert "training\t3\t12 s\t10 s\t20 s\t30 s" in text
    assert asked[0].query == {"days": ["2"]}
    assert "成员" in said("team", "vision", lang="zh_CN")[0]


def test_the_calendar_says_none_where_there_is_nothing():
    text, _asked = said("calendar", "--days", "2")
    assert "Europe/Berlin" in text and "Peak hours\nnone" in text
    assert "4000 W" in text and "here-02\tdraining\tdisk\tnone" in text


def test_the_forecast_says_what_it_is_known_from():
    text, asked = said("forecast", "--hours", "1", "--model", "a100", "--model", "h100")
    assert "\t1.5\t1\t0.5\t8\t2" in text and "Ends that nobody knows: 2." in text
    assert asked[0].query == {"hours": ["1"], "model": ["a100", "h100"]}


def test_a_cap_is_foretold_and_set_with_a_reason():
    text, asked = said("quota", "cap", "offline", "12.5", "--dry-run")
    assert "offline would be over: holds 2.5 devices, might hold 1." in text
    assert asked[0].body == {"quota_percent": 12.5}
    text, asked = said("quota", "cap", "offline", "12.5", "--reason", "nights")
    assert "12.5 %" in text and asked[0].body == {"quota_percent": 12.5, "reason": "nights"}
    assert "--reason" in said("quota", "cap", "offline", "12.5", code=64)[0]


def test_templates_are_saved_by_name_and_used(tmp_path):
    file = tmp_path / "nightly.json"
    file.write_text(json.dumps({"queue": "offline"}))
    _text, asked = said("template", "save", "nightly", "--team", "vision", "--file", str(file))
    assert (asked[-1].method, asked[-1].path, asked[-1].body) == (
        "PATCH",
        "/api/v1/job-templates/3",
        {"spec": {"queue": "offline"}},
    )
    _text, asked = said("template", "save", "fresh", "--team", "vision", "--file", str(file))
    assert asked[-1].body == {"spec": {"queue": "offline"}, "name": "fresh", "team": "vision"}
    _text, asked = said("submit", "--template", "nightly", "--cores", "2")
    assert asked[-1].body == {"template": "nightly", "resources": {"cores": 2}}
    assert said("template", "list")[0].splitlines()[1] == "nightly\tvision\tunknown\tevery night"
    assert json.loads(said("template", "show", "nightly")[0]) == {"queue": "offline"}
    assert said("template", "remove", "nightly")[1][-1].method == "DELETE"


@pytest.mark.parametrize("command", ["show", "remove"])
def test_a_template_that_is_not_there_is_named(command):
    assert "There is no template other." in said("template", command, "other", code=64)[0]
