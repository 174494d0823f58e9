"""What a device went through: evidence that is kept, failures that come again and again, and what people read of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from agent.protocol import Check, CheckResult
from controlplane.accounts.models import Role, User
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.policy.reading import read_document
from inventory import probing
from inventory.device_health import note_calm, observe_checks, thresholds_of
from inventory.ingest import apply_facts
from inventory.models import Device, DeviceEvent, DeviceHealth
from tests.inventory.factories import THRESHOLDS, device_facts, facts, make_device, make_node

pytestmark = pytest.mark.django_db
FLAPPY = replace(THRESHOLDS, flaps=3, flap_window_s=600)
OK, FAILED, FATAL, UNKNOWN = CheckResult.OK, CheckResult.FAILED, CheckResult.FATAL, CheckResult.UNKNOWN


@pytest.fixture
def device() -> Device:
    return make_device(make_node())


@pytest.fixture
def now():
    with time_machine.travel(clock.now(), tick=False) as travelling:
        yield travelling


def check(device: Device, *results: CheckResult, thresholds=FLAPPY) -> Device:
    for number, result in enumerate(results):
        device = Device.objects.get(pk=device.pk)
        observe_checks([device], [Check(device.identity, result, "ecc", f"raw {number}")], thresholds)
    return Device.objects.get(pk=device.pk)


def is_alerted() -> bool:
    return Alert.objects.filter(code="device-flapping", cleared_at=None).exists()


def test_a_device_that_fails_time_and_again_is_flapping_and_still_takes_jobs(device, now):
    device = check(device, FAILED, OK, FAILED, OK)
    assert not device.flapping and not is_alerted()
    device = check(device, FAILED)
    assert (device.flapping, device.health) == (True, DeviceHealth.SUSPECT) and is_alerted()
    assert Alert.objects.get(code="device-flapping").details["times"] == 3


def test_failures_that_lie_apart_do_not_count_together(device, now):
    for _ in range(5):
        device = check(device, FAILED, OK)
        now.shift(timedelta(seconds=301))
    assert not device.flapping


def test_no_good_check_but_a_person_releases_a_flapping_device(device, now):
    auto = replace(FLAPPY, auto_release=True)
    device = check(device, FATAL, *[OK] * 5, thresholds=auto)
    assert device.health == DeviceHealth.HEALTHY
    device = check(device, FATAL, *[OK] * 5, FATAL, *[OK] * 50, thresholds=auto)
    assert (device.flapping, device.health) == (True, DeviceHealth.RECOVERED)
    now.shift(timedelta(seconds=601))
    assert note_calm(auto) == 1
    assert check(device, OK, thresholds=auto).health == DeviceHealth.HEALTHY


def test_after_a_calm_window_it_no_longer_flaps(device, now):
    check(device, FAILED, OK, FAILED, OK, FAILED, OK)
    now.shift(timedelta(seconds=599))
    assert note_calm(FLAPPY) == 0 and is_alerted()
    now.shift(timedelta(seconds=2))
    assert note_calm(FLAPPY) == 1
    assert not Device.objects.get().flapping and not is_alerted()


def test_leaving_and_returning_counts_as_well(now):
    node = make_node()
    for _ in range(3):
        apply_facts(node, facts(device_facts(0)), digest="d", thresholds=FLAPPY)
        check(Device.objects.get(), *[OK] * 5)
        apply_facts(node, facts(), digest="d", thresholds=FLAPPY)
    assert Device.objects.get().flapping


def test_how_often_and_how_long_are_policy():
    health = read_document("scheduler: {health: {flaps: 7, flap-window-s: 60}}").health
    thresholds = thresholds_of(health)
    assert (thresholds.flaps, thresholds.flap_window_s) == (7, 60)
    defaults = thresholds_of(read_document("scheduler: {}").health)
    assert (defaults.flaps, defaults.flap_window_s) == (5, 3600)


def test_the_probe_cycle_notices_calm(device, now):
    Device.objects.update(flapping=True)
    probing.probe(read_document("scheduler: {}").health)
    assert not Device.objects.get().flapping


def test_people_read_every_change_with_its_raw_evidence_page_by_page(device):
    check(device, FAILED, FAILED, FAILED, *[OK] * 5)
    client = Client()
    client.force_login(
        User.objects.create_user("m", email="m@example.org", password="long enough", role=Role.MEMBER)
    )
    address = f"/api/v1/devices/{device.pk}/events"
    first = client.get(f"{address}?limit=2").json()
    rest = client.get(first["next"]).json()
    events = [*first["results"], *rest["results"]]
    assert [(one["from_health"], one["to_health"]) for one in events] == [
        ("quarantined", "recovered"),
        ("suspect", "quarantined"),
        ("healthy", "suspect"),
    ]
    assert (events[1]["reason"], events[1]["evidence"]) == ("ecc", "raw 2")
    assert client.get("/api/v1/devices/999999/events").status_code == 404
    assert Client().get(address).status_code == 401


def test_evidence_stays_when_the_device_is_well_again(device):
    device = check(device, FATAL, *[OK] * 5)
    assert device.health_evidence == "raw 0"
    assert DeviceEvent.objects.get(to_health="quarantined").evidence == "raw 0"
