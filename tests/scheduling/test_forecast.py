"""How much should be free when: what is known, what is not, and that both are kept apart."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.types import DeviceHealth, Reservation, SliceChoice
from scheduling.forecast import HOUR_MS, Start, forecast, moments
from tests.engine.build import cpus, device, node

HOUR = HOUR_MS


def two_of_four():
    """Four devices on one node of four cores; devices 1 and 2 and CPUs 0 and 1 are booked."""
    devices = tuple(
        device(number, index=number, compute_booked_milli=1000 if number < 3 else 0)
        for number in (1, 2, 3, 4)
    )
    cores = tuple(replace(one, booked=one.cpu < 2) for one in cpus(4))
    return node(1, devices=devices, cpus=cores)


def place(*devices: int, cpus: tuple[int, ...] = (), job: int = 1, milli: int = 1000) -> Reservation:
    slices = tuple(SliceChoice(number, 1, milli) for number in devices)
    return Reservation(job, 1, 0, slices, cpus)


def figures(point):
    return (point.free_devices, point.free_milli, point.free_cores, point.unknown_milli, point.unknown_cores)


def test_what_has_no_known_end_is_neither_free_nor_nothing():
    (now, later) = forecast([two_of_four()], [], [], at_ms=[0, 100 * HOUR])
    assert figures(now) == figures(later) == (2, 2000, 2, 2000, 2)


def test_known_ends_come_back_and_promises_are_taken():
    ends = [(2 * HOUR, place(1, cpus=(0,)))]
    starts = [Start(HOUR, place(3, 4, cpus=(2,)), 3 * HOUR), Start(4 * HOUR, place(3), None)]
    points = forecast([two_of_four()], ends, starts, at_ms=[HOUR * n for n in range(5)])
    assert [figures(point) for point in points] == [
        (2, 2000, 2, 1000, 1),
        (0, 0, 1, 1000, 1),
        (1, 1000, 2, 1000, 1),
        (3, 3000, 3, 1000, 1),
        (2, 2000, 3, 2000, 1),
    ]


def test_a_promise_of_what_still_runs_takes_no_more_than_there_is():
    """The job before it runs longer than its promise assumed."""
    points = forecast(
        [two_of_four()],
        [(3 * HOUR, place(1))],
        [Start(HOUR, place(1), 4 * HOUR)],
        at_ms=[HOUR, 3 * HOUR, 4 * HOUR],
    )
    assert [point.free_milli for point in points] == [2000, 2000, 3000]


def test_only_what_takes_jobs_and_has_the_model_counts():
    sick = replace(two_of_four(), node=2, not_ready="silent")
    quarantined = device(9, health=DeviceHealth.QUARANTINED)
    foreign = device(10, foreign_mib=100)
    third = node(3, devices=(quarantined, foreign))
    (point,) = forecast([two_of_four(), sick, third], [], [], at_ms=[0])
    assert (point.free_devices, point.free_milli) == (2, 3000)
    (point,) = forecast([two_of_four()], [], [], at_ms=[0], model=lambda model: False)
    assert figures(point)[:2] == (0, 0) and point.unknown_milli == 0


def test_moments_are_now_and_the_full_hours():
    assert moments(HOUR + 1, 2) == [HOUR + 1, 2 * HOUR, 3 * HOUR]
    assert moments(HOUR, 1) == [HOUR, 2 * HOUR]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=4, unique_by=lambda end: end[1]),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.none() | st.integers(1, 5)), max_size=4),
)
def test_free_and_unknown_are_never_more_than_there_is(ends, starts):
    booked = {number for _at, number in ends}
    devices = tuple(
        device(number, compute_booked_milli=1000 if number in booked else 0) for number in (1, 2, 3, 4)
    )
    known = [(at * HOUR, place(number)) for at, number in ends]
    coming = [
        Start(at * HOUR, place(number), None if runs is None else (at + runs) * HOUR)
        for at, number, runs in starts
    ]
    points = forecast([node(1, devices=devices)], known, coming, at_ms=[n * HOUR for n in range(16)])
    assert all(0 <= point.free_milli <= 4000 and point.unknown_milli >= 0 for point in points)
    forever = {number for _at, number, runs in starts if runs is None}
    assert points[-1].free_devices == 4 - len(forever)
