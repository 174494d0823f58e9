"""The calendar of the coming days and the forecast of free capacity, through the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from rest_framework.test import APIClient

from controlplane.base import clock
from controlplane.policy.document import IdleRule, Power, PowerHours
from controlplane.policy.service import activate
from inventory.models import Node, NodeState
from scheduling.engine.types import Reservation, SliceChoice
from scheduling.models import Placement
from scheduling.promises import store_promises
from scheduling.selectors.calendar import peak_spans, power_spans
from tests.scheduling import factories as make

RULE = IdleRule(below_percent=10, consecutive_hours=12, from_="20:00", to="08:00", weekends=True)
# A Friday.
NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_peaks_are_what_is_not_off_peak_and_no_weekend():
    assert peak_spans(RULE, "UTC", NOON, 4) == [
        (NOON, at("2026-05-08T20:00+00:00")),
        (at("2026-05-11T08:00+00:00"), at("2026-05-11T20:00+00:00")),
        (at("2026-05-12T08:00+00:00"), NOON + timedelta(days=4)),
    ]
    every_day = msgspec.structs.replace(RULE, weekends=False)
    assert len(peak_spans(every_day, "UTC", NOON, 4)) == 5
    always = msgspec.structs.replace(every_day, from_="00:00", to="00:00")
    assert peak_spans(always, "UTC", NOON, 2) == [(NOON, NOON + timedelta(days=2))]


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 11), ("2026-10-25", 13), ("2026-05-10", 12)])
def test_a_peak_over_the_change_of_clocks_has_its_real_length(day, hours):
    """From 20:00 to 08:00 by the clocks: 11 hours in the night in which they skip one."""
    rule = msgspec.structs.replace(RULE, from_="08:00", to="20:00", weekends=False)
    before = at(f"{day}T12:00+00:00") - timedelta(days=1)
    first = peak_spans(rule, "Europe/Berlin", before, 2)[0]
    assert first[1] - first[0] == timedelta(hours=hours)


def test_caps_on_power_follow_one_another():
    assert power_spans(Power(cap_w=None, time_zone="UTC", hours=()), NOON, 1) == []
    hours = (PowerHours(from_="22:00", to="06:00", cap_w=None),)
    spans = power_spans(Power(cap_w=900, time_zone="UTC", hours=hours), NOON, 1)
    assert [(span["opens_at"].hour, span["closes_at"].hour, span["cap_w"]) for span in spans] == [
        (12, 22, 900),
        (22, 6, None),
        (6, 12, 900),
    ]


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture
def team(db):
    make.make_queues()
    return make.make_team()


@pytest.fixture
def member(team):
    return make.make_user("mel", team=team)


def read(user, address):
    answer = client_of(user).get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def promise(job, device, starts_at) -> None:
    place = SliceChoice(device.pk, 1000, 1000)
    store_promises([Reservation(job.pk, device.node_id, clock.to_ms(starts_at), (place,))])


def test_the_calendar_shows_windows_promises_and_deadlines(member, monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOON)
    activate("valley-window: {time-zone: Europe/Berlin}", author=None, reason="zone")
    device = make.make_device(make.make_node("here-01"))
    job = make.make_job(member, name="mine", resources={"devices": 1})
    promise(job, device, NOON + timedelta(hours=5))
    deadline = NOON + timedelta(hours=2)
    gone = make.make_node(
        "here-02", state=NodeState.DRAINING, state_reason="new disk", drain_deadline=deadline
    )
    make.make_node("here-03", state=NodeState.CORDONED)
    found = read(member, "calendar?days=2")
    assert found["time_zone"] == "Europe/Berlin"
    assert at(found["valleys"][0]["opens_at"]) == at("2026-05-08T22:00+02:00")
    assert at(found["peaks"][0]["closes_at"]) == at("2026-05-08T20:00+02:00")
    assert found["power"] == []
    assert [(one["job"], one["name"], one["node_name"]) for one in found["promised"]] == [
        (job.pk, "mine", "here-01")
    ]
    assert found["promised_total"] == 1
    assert [(one["node"], one["reason"], at(one["deadline"])) for one in found["nodes"]] == [
        (gone.pk, "new disk", deadline)
    ]
    stranger = make.make_user("eve", team=make.make_team("speech"))
    assert read(stranger, "calendar")["promised"][0]["name"] is None


def test_the_forecast_tells_what_it_is_known_from(member, monkeypatch):
    """One job with a limit, one nobody knows the end of, a third promised the place of the first for an hour."""
    monkeypatch.setattr(clock, "now", lambda: NOON)
    monkeypatch.setattr(clock, "now_ms", lambda: clock.to_ms(NOON))
    devices = [make.make_device(make.make_node(cores=4)) for _ in range(3)]
    make.make_job(member, time_limit_s=7200, resources={"devices": 1})
    make.make_job(member, resources={"devices": 1})
    make.run_cycle()
    limited = Placement.objects.order_by("pk").first()
    waiting = make.make_job(member, time_limit_s=3600, resources={"devices": 3})
    promise(
        waiting, next(one for one in devices if one.node_id == limited.node_id), NOON + timedelta(hours=2)
    )
    found = read(member, "forecast?hours=5")
    assert (found["by_time_limit"], found["by_history"], found["end_unknown"], found["promised"]) == (
        1,
        0,
        1,
        1,
    )
    assert [point["free_devices"] for point in found["points"]] == [1, 1, 1, 2, 2, 2]
    assert {point["unknown_device_milli"] for point in found["points"]} == {1000}
    assert at(found["points"][1]["at"]) == NOON + timedelta(hours=1)
    only = read(member, "forecast?hours=1&model=nvidia-v100")
    assert only["models"] == ["nvidia-v100"] and only["points"][0]["free_devices"] == 0
    assert only["points"][0]["unknown_device_milli"] == 0


@pytest.mark.parametrize(
    ("address", "field"),
    [("forecast?hours=0", "hours"), ("forecast?model=nvidia-b52", "model"), ("calendar?days=32", "days")],
)
def test_what_is_wrong_names_its_field(member, address, field):
    answer = client_of(member).get(f"/api/v1/{address}")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert Node.objects.count() == 0
