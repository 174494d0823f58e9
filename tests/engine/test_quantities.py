"""Rounding rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine import quantities as q
from scheduling.engine.types import PPM, UNKNOWN
from tests.engine.build import device


@pytest.mark.parametrize(
    ("request_mib", "need_mib"),
    [
        (1, 2),
        (4, 5),
        (5, 6),
        (6, 8),
        (10, 12),
        (12_288, 14_746),
        (13_654, 16_385),
        (35_840, 43_008),
        (40_960, 49_152),
    ],
)
def test_precheck_is_six_fifths_rounded_up(request_mib: int, need_mib: int) -> None:
    assert q.precheck_need_mib(request_mib) == need_mib == (6 * request_mib + 4) // 5


@given(st.integers(1, 10**9))
def test_precheck_is_exact_where_floats_are_not(request_mib: int) -> None:
    need = q.precheck_need_mib(request_mib)
    assert 5 * need >= 6 * request_mib > 5 * (need - 1)


def test_factor_one_asks_for_the_request_itself() -> None:
    assert q.precheck_need_mib(12_288, num=1, den=1) == 12_288


def test_allocatable_is_total_less_reserved_and_unknown_stays_unknown() -> None:
    assert q.allocatable_mib(15_360, 388) == 14_972
    assert q.allocatable_mib(100, 200) == 0
    assert q.allocatable_mib(None, 0) == UNKNOWN


@pytest.mark.parametrize(
    ("fields", "free"),
    [
        ({}, 1000),
        ({"memory_reserved_mib": 100}, 900),
        ({"memory_booked_mib": 300}, 700),
        ({"memory_booked_mib": 300, "memory_used_mib": 200}, 700),
        ({"memory_booked_mib": 300, "memory_used_mib": 450}, 550),
        ({"memory_booked_mib": 300, "memory_used_mib": 450, "foreign_mib": 200}, 500),
        ({"foreign_mib": 800, "memory_used_mib": 800}, 200),
        ({"memory_used_mib": 3}, 1000),
        ({"compute_booked_milli": 250, "memory_used_mib": 300}, 700),
        ({"memory_booked_mib": 2000}, 0),
    ],
)
def test_free_counts_bookings_or_what_is_used_beyond_them(fields: dict[str, int], free: int) -> None:
    assert q.free_mib(device(1, 1000, **fields)) == free


def test_booked_memory_without_compute_still_blocks_the_whole_device() -> None:
    assert q.free_compute_milli(device(1, memory_booked_mib=1)) == 999
    assert q.free_compute_milli(device(1)) == 1000
    assert q.free_compute_milli(device(1, compute_booked_milli=1200)) == 0


@pytest.mark.parametrize(
    ("memory", "of", "milli"), [(1, 81_920, 1), (40_960, 81_920, 500), (3840, 14_972, 257), (9, 8, 1000)]
)
def test_compute_share_of_a_memory_only_slice(memory: int, of: int, milli: int) -> None:
    assert q.memory_share_milli(memory, of) == milli
    assert q.memory_share_milli_column(memory, np.array([of])).tolist() == [milli]


@given(st.integers(1, 10**7), st.integers(1, 64))
def test_pieces_never_fall_short(total: int, pieces: int) -> None:
    piece = q.piece_mib(total, pieces)
    assert pieces * piece >= total > pieces * (piece - 1)


@pytest.mark.parametrize(("cards", "milli"), [(7, (2100, 3500, 1400)), (10, (3000, 5000, 2000))])
def test_c29_quota_shares_of_seven_and_ten_cards(cards: int, milli: tuple[int, ...]) -> None:
    assert q.split_by_largest_remainder(cards * 1000, (300_000, 500_000, 200_000)) == milli


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.integers(0, PPM), min_size=1, max_size=6))
def test_c29_shares_sum_up_and_keep_their_floors(total: int, shares: list[int]) -> None:
    parts = q.split_by_largest_remainder(total, shares)
    assert sum(parts) == total * sum(shares) // PPM
    assert all(
        total * s // PPM <= part <= total * s // PPM + 1 for s, part in zip(shares, parts, strict=True)
    )
