"""When memory is near its booking or leaks, and what a job uses of host and devices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.guard import Guard, Watched
from agent.known_devices import memories_of
from agent.protocol import (
    AssignedDevice,
    Check,
    CheckResult,
    DeviceFacts,
    DeviceSample,
    DeviceUse,
    GuardRules,
    Partition,
    PressureKind,
    Vendor,
)
from agent.runners.memory import DeviceMemory, MemoryWatch
from agent.runners.usage import group_memory_mib, memory_now_mib
from agent.task import Record
from agent.vendors.base import Process, Reading
from tests.agent.server import assignment

RULES = GuardRules(90, 97, 90, 5, leak_window_s=400, leak_within_s=3600)


def kinds(guard: Guard, used_mib: int | None, *, now_s: float = 0, booked_mib: int = 1000) -> list[str]:
    found = guard.judge([Watched(None, booked_mib, 90, used_mib)], RULES, now_s=now_s)
    return [pressure.kind.value for pressure in found]


def test_near_begins_at_its_share_and_ends_some_points_below() -> None:
    guard = Guard()
    seen = [bool(kinds(guard, used)) for used in (899, 900, 860, 850, 849, 860, 900)]
    assert seen == [False, True, True, True, False, False, True]


def test_a_pressure_keeps_the_figures_of_its_beginning() -> None:
    guard = Guard()
    kinds(guard, 910)
    (now,) = guard.judge([Watched(None, 1000, 90, 990)], RULES, now_s=1)
    assert (now.used_mib, now.booked_mib, now.device) == (910, 1000, None)


def test_unknown_use_concludes_nothing() -> None:
    guard = Guard()
    assert kinds(guard, None) == []
    kinds(guard, 950)
    assert kinds(guard, None) == ["near"]


def grow(guard: Guard, uses: list[int], *, booked_mib: int) -> list[list[str]]:
    """One look every 10 s."""
    return [kinds(guard, used, now_s=10.0 * n, booked_mib=booked_mib) for n, used in enumerate(uses)]


def test_steady_growth_that_fills_the_booking_soon_is_a_leak() -> None:
    steady = [100 + n for n in range(60)]
    found = grow(Guard(), steady, booked_mib=400)
    assert found[39] == [] and found[-1] == ["leak"]
    guard = Guard()
    grow(guard, steady, booked_mib=400)
    (pressure,) = guard.judge([Watched(None, 400, 90, 160)], RULES, now_s=600)
    assert pressure.kind is PressureKind.LEAK and pressure.mib_per_hour == 360


def test_growth_that_ends_long_before_the_limit_or_is_given_back_is_none() -> None:
    slow = [100 + n // 10 for n in range(60)]
    assert grow(Guard(), slow, booked_mib=100_000)[-1] == []
    saws = [100 + (n % 10) * 20 for n in range(60)]
    assert grow(Guard(), saws, booked_mib=400)[-1] == []
    guard = Guard()
    grow(guard, [100 + n for n in range(60)], booked_mib=400)
    assert kinds(guard, 100, now_s=600, booked_mib=400) == []


SHARED = AssignedDevice(Vendor.NVIDIA, 0, "GPU-a", None, memory_mib=1000, compute_milli=500)
WHOLE = AssignedDevice(Vendor.NVIDIA, 1, "GPU-b", None, memory_mib=1000, compute_milli=1000)


def watching(*devices: AssignedDevice) -> tuple[MemoryWatch, Record]:
    record = Record(
        assignment=assignment(1, "true", devices=list(devices), memory_mib=10**6),
        boot_id="b",
        created_at_ms=1,
    )
    watch = MemoryWatch(lambda key: None, look_s=3600)
    watch.follow(record)
    return watch, record


@pytest.mark.parametrize(
    "device, seen, used_mib",
    [
        (SHARED, DeviceMemory(900, 0, {1: 700, 2: 200}), 200),
        (SHARED, DeviceMemory(900, 0, {1: 700}), None),
        (SHARED, DeviceMemory(900, 0, {2: None}), None),
        (WHOLE, DeviceMemory(900, 100, {}), 800),
        (WHOLE, DeviceMemory(None, 100, {}), None),
        (WHOLE, None, None),
    ],
)
def test_what_a_job_uses_of_a_device_is_known_or_unknown_and_never_guessed(
    device: AssignedDevice, seen: DeviceMemory | None, used_mib: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, record = watching(device)
    monkeypatch.setattr(watch, "_pids", lambda key: frozenset({2, 3}))
    watch.set(RULES, {} if seen is None else {device.uuid or "": seen})
    assert watch.device_use(record.key) == (DeviceUse(device.uuid or "", used_mib),)
    watch.close()


def test_a_device_above_its_share_is_a_pressure_of_its_job_with_the_next_look() -> None:
    watch, record = watching(WHOLE)
    watch.set(RULES, {"GPU-b": DeviceMemory(980)})
    watch.measure({record.key: os.getpid()}, {})
    (pressure,) = watch.pressures(record.key)
    assert (pressure.device, pressure.used_mib, pressure.kind) == ("GPU-b", 980, PressureKind.NEAR)
    watch.forget(record.key)
    assert watch.pressures(record.key) == ()
    watch.close()


def test_processes_and_slices_of_a_reading_have_their_memory_by_name() -> None:
    reading = Reading(
        DeviceFacts(Vendor.NVIDIA, 0, uuid="GPU-a", memory_reserved_mib=5),
        DeviceSample("GPU-a", memory_used_mib=70),
        Check("GPU-a", CheckResult.OK),
        partitions=[Partition(uuid="MIG-1", memory_used_mib=7), Partition(uuid=None)],
        processes=[Process(pid=7, memory_used_mib=60), Process(pid=8)],
    )
    assert memories_of(reading) == {
        "GPU-a": DeviceMemory(70, 5, {7: 60, 8: None}),
        "MIG-1": DeviceMemory(7),
    }


def tree(root: Path, group: str, files: dict[str, str]) -> Path:
    for name, text in {
        "proc/self/cgroup": "0::/agent\n4:memory:/agent\n",
        "proc/77/cgroup": group,
        **files,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MIB = 1 << 20


@pytest.mark.parametrize(
    "group, files, used_mib",
    [
        (
            "0::/pod/x\n",
            {
                "sys/fs/cgroup/pod/x/memory.current": str(90 * MIB),
                "sys/fs/cgroup/pod/x/memory.stat": f"anon 1\ninactive_file {30 * MIB}\n",
            },
            60,
        ),
        (
            "5:cpu,cpuacct:/pod/x\n4:memory:/pod/x\n0::/agent\n",
            {
                "sys/fs/cgroup/memory/pod/x/memory.usage_in_bytes": str(90 * MIB),
                "sys/fs/cgroup/memory/pod/x/memory.stat": f"total_inactive_file {20 * MIB}\n",
            },
            70,
        ),
        ("0::/agent\n4:memory:/agent\n", {"sys/fs/cgroup/agent/memory.current": str(90 * MIB)}, None),
        ("0::/pod/x\n", {}, None),
    ],
)
def test_a_group_of_its_own_tells_a_jobs_memory_without_the_cache(
    tmp_path: Path, group: str, files: dict[str, str], used_mib: int | None
) -> None:
    assert group_memory_mib(77, tree(tmp_path, group, files)) == used_mib


def test_known_processes_are_asked_again_and_those_gone_are_no_zero() -> None:
    used_mib = memory_now_mib({os.getpid()}, None)
    assert used_mib is not None and used_mib > 5
    assert memory_now_mib({2**22 + 1}, None) is None
