"""Exact integer arithmetic of memory and compute shares; every rounding rule of the engine stands here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduling.engine.types import PPM, UNKNOWN, WHOLE_MILLI, DeviceInfo

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def precheck_need_mib(request_mib: int, *, num: int = 6, den: int = 5) -> int:
    """Free memory that a shared slice must find: the request times num/den, rounded up to whole MiB."""
    return (num * request_mib + den - 1) // den


def allocatable_mib(total_mib: int | None, reserved_mib: int) -> int:
    """What jobs can book of one device; UNKNOWN when its total is unknown."""
    return UNKNOWN if total_mib is None else max(0, total_mib - reserved_mib)


def free_mib(device: DeviceInfo) -> int:
    """Allocatable memory that is neither booked, nor used beyond its booking, nor foreign; never negative, 0 when the
    total is unknown.

    Jobs that use more than they booked keep what they use: booked + foreign, or the whole measured use if that is more.
    Without a booking there is no job that could; what is used then counts only as far as it is foreign.
    """
    taken = device.memory_booked_mib + device.foreign_mib
    has_jobs = device.memory_booked_mib > 0 or device.compute_booked_milli > 0
    if has_jobs and device.memory_used_mib is not None:
        taken = max(taken, device.memory_used_mib)
    return max(0, allocatable_mib(device.memory_total_mib, device.memory_reserved_mib) - taken)


def free_compute_milli(device: DeviceInfo) -> int:
    """Unbooked compute; booked memory without booked compute still counts 1 milli, so that whole and shared exclude
    one another.
    """
    booked = device.compute_booked_milli
    if booked == 0 and device.memory_booked_mib > 0:
        booked = 1
    return max(0, WHOLE_MILLI - booked)


def free_mib_column(*, allocatable: Ints, booked: Ints, compute: Ints, used: Ints, foreign: Ints) -> Ints:
    """`free_mib` over columns; `used` is UNKNOWN where it was not measured."""
    taken = booked + foreign
    taken = np.where((booked > 0) | (compute > 0), np.maximum(taken, used), taken)
    free: Ints = np.maximum(np.maximum(allocatable, 0) - taken, 0)
    return free


def free_compute_milli_column(*, booked: Ints, compute: Ints) -> Ints:
    """`free_compute_milli` over columns."""
    counted = np.where((compute == 0) & (booked > 0), 1, compute)
    free: Ints = np.maximum(WHOLE_MILLI - counted, 0)
    return free


def memory_share_milli(memory_mib: int, allocatable: int) -> int:
    """Compute share of a memory-only slice: ceil(1000 * MiB / allocatable), at least 1, at most the whole."""
    if allocatable <= 0:
        return WHOLE_MILLI
    return min(WHOLE_MILLI, max(1, -(-WHOLE_MILLI * memory_mib // allocatable)))


def memory_share_milli_column(memory_mib: int, allocatable: Ints) -> Ints:
    """`memory_share_milli` over a column of allocatable sizes."""
    share = -(-WHOLE_MILLI * memory_mib // np.maximum(allocatable, 1))
    return np.where(allocatable > 0, np.clip(share, 1, WHOLE_MILLI), WHOLE_MILLI).astype(np.int64)


def drawn_uw(*, limits_mw: Ints, milli: Ints, core_mw: int, cores: int) -> int:
    """What a job adds to its node's draw at most, in microwatts (so that parts sum exactly): its share of each
    device's limit, and its cores.
    """
    return int((limits_mw * milli).sum()) + WHOLE_MILLI * core_mw * cores


def piece_mib(total_mib: int, pieces: int) -> int:
    """Size of one of `pieces` equal parts, rounded up so that together they never fall short."""
    return -(-total_mib // pieces)


def split_by_largest_remainder(total: int, shares_ppm: Sequence[int]) -> tuple[int, ...]:
    """Whole units per share: floors first, then one each to the largest remainders (ties: the earlier share).

    The result sums to total * sum(shares) // PPM and no share falls below its floor.
    """
    exact = [total * share for share in shares_ppm]
    parts = [value // PPM for value in exact]
    missing = sum(exact) // PPM - sum(parts)
    order = sorted(range(len(parts)), key=lambda i: (-(exact[i] % PPM), i))
    for i in order[:missing]:
        parts[i] += 1
    return tuple(parts)


def ratio_ppm(part: Ints, whole: Ints) -> Ints:
    """part / whole in ppm, limited to 0..PPM; PPM where there is no whole (nothing asked is nothing missing)."""
    safe = np.maximum(whole, 1)
    found: Ints = np.where(whole > 0, np.minimum(np.maximum(part, 0), safe) * PPM // safe, PPM)
    return found
