"""Having the next cycle recorded whatever it costs: who may, what is kept, and that it happens once."""

from __future__ import annotations

import itertools

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from controlplane.accounts.models import AuditEntry, Role
from scheduling import cycle, recordings
from scheduling.management.commands import record_cycle
from scheduling.models import Recording
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
NEXT = "/api/v1/recordings/next"
NOTHING = {"wanted": False, "reason": None, "actor": None, "since": None}


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def api_of(role: str) -> APIClient:
    client = APIClient()
    client.force_login(make.make_user(f"some-{role}", role=role))
    return client


@pytest.fixture
def resting(user, monkeypatch) -> cycle.Worker:
    """A worker that found its last recording too costly, and whose only job waits for a reason long known."""
    monkeypatch.setattr(recordings, "COSTLY_S", -1.0)
    monkeypatch.setattr(recordings, "RESTS_FOR", 10**9)
    make.make_node()
    worker = cycle.Worker()
    make.make_job(user, resources={"devices": 1})
    make.run_cycle(worker)
    make.run_cycle(worker)
    assert Recording.objects.count() == 1
    return worker


def test_the_next_cycle_is_recorded_once_whatever_it_costs(resting):
    api = api_of(Role.ADMIN)
    assert api.get(NEXT).json() == NOTHING
    told = api.post(NEXT, {"reason": "looks odd"}, format="json").json()
    assert told.pop("since") and told == {"wanted": True, "reason": "looks odd", "actor": "some-admin"}
    for _ in range(2):
        make.run_cycle(resting)
    assert Recording.objects.count() == 2 and api.get(NEXT).json() == NOTHING
    assert recordings.replay(recordings.load(Recording.objects.latest("pk").pk)).difference is None
    entry = AuditEntry.objects.get(action="recording-wish")
    assert (entry.actor_name, entry.details) == ("some-admin", {"reason": "looks odd"})


def test_the_wish_waits_for_a_cycle_that_decides_something(user):
    api = api_of(Role.ADMIN)
    api.post(NEXT, {}, format="json")
    make.run_cycle()
    assert api.get(NEXT).json()["wanted"] is True and not Recording.objects.exists()
    make.make_job(user)
    make.run_cycle()
    assert api.get(NEXT).json() == NOTHING and Recording.objects.count() == 1


def test_a_recording_that_fails_is_not_tried_for_ever(resting, monkeypatch):
    def broken(call: object) -> bytes:
        raise MemoryError

    api = api_of(Role.ADMIN)
    api.post(NEXT, {}, format="json")
    monkeypatch.setattr(recordings, "pack", broken)
    make.run_cycle(resting)
    assert api.get(NEXT).json() == NOTHING and Recording.objects.count() == 1


def test_the_command_wishes_as_well(resting):
    call_command("record_cycle", "--reason", "x", "--wait-s", "0")
    assert api_of(Role.OPERATOR).get(NEXT).json()["actor"] == "manage.py"
    make.run_cycle(resting)
    assert Recording.objects.count() == 2


def test_the_command_names_the_recording_and_how_to_replay_it(resting, monkeypatch, capsys):
    monkeypatch.setattr(record_cycle.time, "sleep", lambda _s: make.run_cycle(resting))
    call_command("record_cycle")
    made = Recording.objects.latest("pk").pk
    assert (
        f"recording {made}; replay it with: python manage.py replay_cycle {made}" in capsys.readouterr().out
    )
    call_command("replay_cycle", str(made))


def test_the_command_gives_up_where_no_cycle_comes(user, monkeypatch, capsys):
    monkeypatch.setattr(record_cycle, "POLL_S", 0)
    monkeypatch.setattr(record_cycle.clock, "monotonic_s", itertools.count().__next__)
    call_command("record_cycle", "--wait-s", "1")
    assert "none within 1 s" in capsys.readouterr().out


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.MEMBER])
def test_only_admins_wish(db, role):
    api = api_of(role)
    assert api.post(NEXT, {}, format="json").status_code == 403
    assert api.get(NEXT).status_code == (200 if role == Role.OPERATOR else 403)
