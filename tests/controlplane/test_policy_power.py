"""The power section: which cap is in force when, also on days of 23 and 25 hours, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.policy.hours import minutes_between, power_cap_w
from controlplane.policy.reading import PolicyError, read_document

NIGHT = """
scheduler:
  power:
    cap-w: 9000
    time-zone: Europe/Berlin
    hours:
      - {from: "22:00", to: "06:00", cap-w: null}
      - {from: "10:00", to: "14:30", cap-w: 4000}
"""
SKIPPED = """
scheduler:
  power: {time-zone: Europe/Berlin, hours: [{from: "02:00", to: "03:00", cap-w: 5}]}
"""


def cap_at(text: str, moment: str) -> int | None:
    return power_cap_w(read_document(text).power, datetime.fromisoformat(moment).replace(tzinfo=UTC))


def test_no_cap_by_default() -> None:
    assert cap_at("scheduler: {}", "2026-07-01T12:00") is None


@pytest.mark.parametrize(
    ("moment", "cap"),
    [
        ("2026-01-15T21:00", None),
        ("2026-01-15T20:59:59", 9000),
        ("2026-01-16T04:59", None),
        ("2026-01-16T05:00", 9000),
        ("2026-01-16T09:00", 4000),
        ("2026-01-16T13:29:59", 4000),
        ("2026-01-16T13:30", 9000),
        ("2026-07-15T08:00", 4000),
        ("2026-07-15T12:30", 9000),
    ],
)
def test_the_hour_by_the_clocks_of_the_zone(moment: str, cap: int | None) -> None:
    assert cap_at(NIGHT, moment) == cap


@pytest.mark.parametrize(("day", "minutes"), [("2026-03-29", 0), ("2026-10-25", 120), ("2026-06-01", 60)])
def test_an_hour_that_is_skipped_or_shown_twice(day: str, minutes: int) -> None:
    power, start = read_document(SKIPPED).power, datetime.fromisoformat(f"{day}T00:00+00:00")
    found = [power_cap_w(power, start + timedelta(minutes=passed)) for passed in range(240)]
    assert found.count(5) == minutes


def test_minutes_over_midnight() -> None:
    assert minutes_between("23:59", "00:01") == {1439, 0}
    assert minutes_between("00:00", "00:00") == frozenset()


@pytest.mark.parametrize(
    ("power", "line", "field"),
    [
        ("cap-w: 0", 3, "power.cap-w"),
        ("cap-w: 1.5", 3, "power.cap-w"),
        ("watts: 5", 3, "power.watts"),
        ("time-zone: Mars/Base", 3, "power.time-zone"),
        ('hours: [{from: "10:00", to: "10:00", cap-w: 5}]', 3, "power.hours[0].to"),
        ('hours: [{from: "10:00", to: "24:00", cap-w: 5}]', 3, "power.hours[0].to"),
        ('hours: [{from: "10:00", to: "12:00"}]', 3, "power.hours[0]"),
        (
            'hours: [{from: "22:00", to: "06:00", cap-w: 5}, {from: "05:00", to: "07:00", cap-w: 5}]',
            3,
            "power.hours[1].from",
        ),
    ],
)
def test_bad_sections_name_line_and_field(power: str, line: int, field: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_document(f"scheduler:\n  power:\n    {power}\n")
    assert (caught.value.line, caught.value.field) == (line, field), caught.value.reason
