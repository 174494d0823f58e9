"""Rules of the policy over readings: how long, back again, unknown, narrowed, gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from controlplane.alerts.models import Alert, Breach
from controlplane.base import clock
from controlplane.policy.document import AlertMetric, AlertRule
from inventory.alert_rules import watch
from inventory.models import Device, DeviceHealth, DeviceReading, NodeReading, NodeSet
from tests.inventory.factories import make_device, make_node

pytestmark = pytest.mark.django_db
HOT = AlertRule(name="hot", metric=AlertMetric.DEVICE_TEMPERATURE, above=85, clear=80, for_s=30)
FULL = AlertRule(name="full", metric=AlertMetric.DEVICE_MEMORY, above=50)


@pytest.fixture
def moving() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(datetime(2026, 1, 1, tzinfo=UTC), tick=False) as traveller:
        yield traveller


def test_models_are_named_as_in_jobs(device: Device) -> None:
    read(device, temperature_c=95)
    for models, found in ((("h100",), []), (("a100",), ["rule:hot"]), ((device.model or "",), ["rule:hot"])):
        watch([AlertRule(name="hot", metric=HOT.metric, above=85, models=models)])
        assert open_codes() == found
        Alert.objects.all().delete()
        Breach.objects.all().delete()


@pytest.fixture
def device(moving: time_machine.Traveller) -> Device:
    return make_device(make_node())


def read(device: Device, **values: int | None) -> None:
    DeviceReading.objects.update_or_create(device=device, defaults={"at": clock.now(), **values})


def open_codes() -> list[str]:
    return list(Alert.objects.filter(cleared_at=None).values_list("code", flat=True))


def look(device: Device, traveller: time_machine.Traveller, *temperatures: int | None) -> list[list[str]]:
    seen = []
    for temperature in temperatures:
        read(device, temperature_c=temperature)
        watch([HOT])
        seen.append(open_codes())
        traveller.shift(timedelta(seconds=15))
    return seen


def test_a_reading_must_stay_beyond_the_limit(device: Device, moving: time_machine.Traveller) -> None:
    assert look(device, moving, 90, 91, 92) == [[], [], ["rule:hot"]]
    alert = Alert.objects.get()
    assert (alert.subject_type, alert.subject_id, alert.severity) == ("device", str(device.pk), "warning")
    told = {"node": device.node_id, "name": "machine-1", "index": 0, "value": 92, "limit": 85}
    assert alert.details == told | {"rule": "hot", "metric": "device-temperature-c"}


@pytest.mark.parametrize("gap", [85, 20, None])
def test_a_break_begins_anew(device: Device, moving: time_machine.Traveller, gap: int | None) -> None:
    assert look(device, moving, 90, gap, 90, 90) == [[], [], [], []]


def test_an_alert_clears_only_at_its_lower_mark(device: Device, moving: time_machine.Traveller) -> None:
    seen = look(device, moving, 90, 90, 90, 83, None, 81, 80)
    assert seen[2:] == [["rule:hot"], ["rule:hot"], ["rule:hot"], ["rule:hot"], []]


def test_old_readings_say_nothing(device: Device, moving: time_machine.Traveller) -> None:
    read(device, temperature_c=99)
    watch([HOT])
    moving.shift(timedelta(seconds=61))
    watch([HOT])
    assert open_codes() == []
    assert not Breach.objects.exists()


def test_shares_are_exact_and_unknown_totals_have_none(device: Device) -> None:
    half = device.memory_total_mib // 2
    read(device, memory_used_mib=half)
    assert watch([FULL]) == 0
    read(device, memory_used_mib=half + 1)
    assert watch([FULL]) == 1
    assert Alert.objects.get().details["value"] == 50
    unknown = make_device(device.node, 1, memory_total_mib=None)
    read(unknown, memory_used_mib=half)
    zero = make_device(device.node, 2, memory_total_mib=0)
    read(zero, memory_used_mib=half)
    assert watch([FULL]) == 0


@pytest.mark.parametrize(
    ("metric", "columns", "values", "share"),
    [
        (AlertMetric.DEVICE_POWER, {"power_limit_w": 400}, {"power_mw": 380_500}, 95),
        (AlertMetric.DEVICE_UTILIZATION, {}, {"utilization_pct": 7}, 7),
    ],
)
def test_metrics_of_devices(
    moving: object, metric: AlertMetric, columns: dict[str, int], values: dict[str, int], share: int
) -> None:
    read(make_device(make_node(), **columns), **values)
    assert watch([AlertRule(name="low", metric=metric, below=share)]) == 0
    assert watch([AlertRule(name="high", metric=metric, above=share - 1)]) == 1
    assert Alert.objects.get(cleared_at=None).details["value"] == share


def test_metrics_of_nodes(moving: object) -> None:
    node = make_node(cpu_count=8, memory_mib=1000)
    NodeReading.objects.create(node=node, at=clock.now(), cpu_used_milli=7600, memory_used_mib=990)
    rules = [
        AlertRule(name="cpu", metric=AlertMetric.NODE_CPU, above=94),
        AlertRule(name="memory", metric=AlertMetric.NODE_MEMORY, above=99),
    ]
    assert watch(rules) == 1
    alert = Alert.objects.get()
    assert (alert.code, alert.subject_type, alert.details["value"]) == ("rule:cpu", "node", 95)


def test_rules_are_narrowed_by_node_set_and_model(moving: object) -> None:
    west = NodeSet.objects.create(name="west")
    inside = make_device(make_node("a", node_set=west))
    outside = make_device(make_node("b"))
    other = make_device(inside.node, 1, model="L40S")
    for one in (inside, outside, other):
        read(one, temperature_c=99)
    narrow = AlertRule(
        name="hot", metric=HOT.metric, above=85, node_sets=("west",), models=("NVIDIA A100-SXM4-80GB",)
    )
    assert watch([narrow]) == 1
    assert Alert.objects.get().subject_id == str(inside.pk)


def test_a_rule_that_is_no_more_leaves_no_alert(device: Device) -> None:
    read(device, memory_used_mib=device.memory_total_mib)
    watch([FULL, HOT])
    assert open_codes() == ["rule:full"]
    watch([HOT])
    assert open_codes() == []
    assert not Breach.objects.exists()


def test_what_the_rule_no_longer_speaks_of_is_cleared(device: Device) -> None:
    read(device, memory_used_mib=device.memory_total_mib)
    watch([FULL])
    assert open_codes() == ["rule:full"]
    elsewhere = AlertRule(name="full", metric=FULL.metric, above=50, node_sets=("west",))
    watch([elsewhere])
    assert open_codes() == []


def test_a_device_that_is_gone_leaves_no_alert(device: Device) -> None:
    read(device, memory_used_mib=device.memory_total_mib)
    watch([FULL])
    Device.objects.filter(pk=device.pk).update(health=DeviceHealth.MISSING)
    watch([FULL])
    assert open_codes() == []


def test_node_and_device_of_one_number_are_two(moving: object) -> None:
    node = make_node(cpu_count=8, memory_mib=1000)
    device = make_device(node, pk=node.pk)
    read(device, memory_used_mib=device.memory_total_mib)
    NodeReading.objects.create(node=node, at=clock.now(), memory_used_mib=990)
    watch([FULL])
    of_node = AlertRule(name="full", metric=AlertMetric.NODE_MEMORY, above=50)
    assert watch([of_node]) == 1
    assert list(Alert.objects.filter(cleared_at=None).values_list("subject_type", flat=True)) == ["node"]
