"""Sentences: complete, exact, and in two languages."""

from __future__ import annotations

import pytest
from django.utils import translation

from scheduling.cap_wording import Names, cap_sentence
from scheduling.engine.changes import Change, ChangeKind
from scheduling.engine.types import CapKind, CapMiss, NearMiss, ReasonCode, Refusal, Request
from scheduling.wording import CHANGES, LABELS, SENTENCES, change_text, memory_text, reason_sentence

NAMES = {7: "tb-007"}


def sentence(near: NearMiss | None, request: Request | None = None, code: ReasonCode | None = None) -> str:
    found = near.code if near else code
    assert found is not None
    return reason_sentence(Refusal(1, found, 9, (), (near,) if near else ()), request, NAMES).text


def test_every_reason_and_change_has_words():
    assert set(LABELS) == set(SENTENCES) == set(ReasonCode)
    assert set(CHANGES) == {kind.value for kind in ChangeKind}


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_can_be_said_with_and_without_a_nearest_node(code):
    near = NearMiss(7, code, needed=4, available=2, pieces=(2, 1))
    for request in (None, Request(devices=1, device_memory_mib=4)):
        for miss in (near, None):
            text = sentence(miss, request, code)
            assert text and "%(" not in text


def test_a_cluster_without_nodes_is_told_as_such():
    found = reason_sentence(Refusal(1, ReasonCode.NODE_NOT_READY, 0, (), ()), None, {})
    assert (found.code, "Enrol a node" in found.text) == ("no-nodes", True)
    with translation.override("zh-hans"):
        assert "登记节点" in reason_sentence(Refusal(1, ReasonCode.NODE_NOT_READY, 0, (), ()), None, {}).text
    capped = reason_sentence(Refusal(1, ReasonCode.POWER_CAP, 0, (), ()), None, {})
    assert capped.code == "power-cap"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (CapKind.QUEUE, "may start one job of any size"),
        (CapKind.TEAM, "lowered"),
        (CapKind.MEMBER, "lowered"),
    ],
)
def test_who_holds_more_than_the_cap_is_told_why(kind, why):
    def said(held_milli: int) -> str:
        miss = CapMiss(kind, 1, 2, 3, None, False, 1000, held_milli, 1000)
        return cap_sentence(miss, Names("training", "vision", "ada")).text

    assert why in said(2000) and why not in said(1000)
    with translation.override("zh-hans"):
        assert said(2000).startswith(said(1000)[:4]) and "。占用多于上限" in said(2000)


@pytest.mark.parametrize(
    "mib,text",
    [
        (1, "1 MiB"),
        (1023, "1023 MiB"),
        (1024, "1 GiB"),
        (1536, "1.5 GiB"),
        (20480, "20 GiB"),
        (20479, "19.9 GiB"),
    ],
)
def test_memory_is_never_rounded_up(mib, text):
    assert memory_text(mib) == text


def test_much_power_is_told_in_kilowatts():
    near = NearMiss(7, ReasonCode.POWER_CAP, 1_200_000_000, 9_999_500)
    assert sentence(near) == (
        "This job may draw 1200 kW more; under the power cap of this hour 9999.5 W is left."
    )


def test_fragments_are_told_apart():
    equal = NearMiss(7, ReasonCode.DEVICE_MEMORY_PIECE, 40960, 20480, (20480,) * 4)
    request = Request(devices=1, device_memory_mib=40960)
    assert sentence(equal, request) == (
        "80 GiB is free on tb-007, but in four pieces of 20 GiB. This job needs 40 GiB on one device."
    )
    uneven = NearMiss(7, ReasonCode.DEVICE_MEMORY_PIECE, 49152, 30720, (30720, 10240))
    assert sentence(uneven, Request(devices=1, device_memory_mib=40960, shareable=True)) == (
        "40 GiB is free on tb-007, but in two pieces, the largest of 30 GiB. This job needs 40 GiB on one device. "
        "A shared device must have 1.2 times that free: 48 GiB."
    )


def test_the_same_in_chinese():
    near = NearMiss(7, ReasonCode.CORES_FREE, 16, 3)
    with translation.override("zh-hans"):
        assert sentence(near) == "此作业需要单个节点有 16 个空闲 CPU 核；tb-007 上空闲 3 个。"


@pytest.mark.parametrize(
    ("near", "english", "chinese"),
    [
        (NearMiss(7, ReasonCode.DEVICE_TOO_SMALL, 81921, 81920), "81921 MiB", "81921 MiB"),
        (NearMiss(7, ReasonCode.HOST_MEMORY_TOTAL, 102401, 102400), "102401 MiB", "102401 MiB"),
        (NearMiss(7, ReasonCode.POWER_CAP, 1_200_000_001, 1_200_000_000), "1200000.001 W", "1200000.001 W"),
    ],
)
def test_a_shortfall_that_rounding_would_hide_is_told_exactly(near, english, chinese):
    assert near.available is not None
    assert english in sentence(near) and str(near.available // 1000)[:4] in sentence(near)
    assert "GiB" not in sentence(near) and "kW" not in sentence(near)
    with translation.override("zh-hans"):
        assert chinese in sentence(near) and "GiB" not in sentence(near)


def test_a_piece_that_is_just_too_small_is_told_exactly():
    near = NearMiss(7, ReasonCode.DEVICE_MEMORY_PIECE, 40961, 40960, (40960, 40960))
    text = sentence(near, Request(devices=1, device_memory_mib=40961))
    assert text == (
        "81920 MiB is free on tb-007, but in two pieces of 40960 MiB. This job needs 40961 MiB on one device."
    )


def test_one_core_is_told_as_one():
    new = Request(cores=1)
    one = Change(ChangeKind.LESS_CORES, "cores", 4, 1, new, 7)
    assert change_text(one, "tb-007") == "With 1 core it starts at once on tb-007."
    both = Change(ChangeKind.LESS_OF_TWO, "cores+host_memory_mib", (4, 4096), (1, 1024), new, 7)
    assert change_text(both, "tb-007") == "With 1 core and 1 GiB of memory it starts at once on tb-007."


def test_a_change_is_not_told_as_what_was_asked():
    old, new = Request(devices=1, device_memory_mib=81921), Request(devices=1, device_memory_mib=81920)
    change = Change(
        ChangeKind.LESS_DEVICE_MEMORY,
        "device_memory_mib",
        old.device_memory_mib,
        new.device_memory_mib,
        new,
        7,
    )
    assert change_text(change, "tb-007") == "With 81920 MiB of device memory it starts at once on tb-007."


def test_shares_of_compute_are_told_in_tenths_of_a_per_cent():
    near = NearMiss(7, ReasonCode.DEVICE_COMPUTE, 705, 500)
    assert sentence(near) == (
        "This job needs 70.5 % of the compute of one device; on tb-007 at most 50 % is free."
    )
    with translation.override("zh-hans"):
        assert sentence(near) == "此作业需要单台设备 70.5 % 的算力；tb-007 上单台最多空闲 50 %。"


def test_a_change_of_two_amounts_names_both():
    new = Request(cores=8, host_memory_mib=102400)
    change = Change(ChangeKind.LESS_OF_TWO, "cores+host_memory_mib", (9, 102401), (8, 102400), new, 7)
    assert (
        change_text(change, "tb-007") == "With 8 cores and 102400 MiB of memory it starts at once on tb-007."
    )
    share = Change(ChangeKind.LESS_COMPUTE, "device_compute_milli", 700, 505, new, 7)
    assert change_text(share, "tb-007") == "With 50.5 % of a device's compute it starts at once on tb-007."
    with translation.override("zh-hans"):
        assert "8 个 CPU 核" in change_text(change, "tb-007")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ReasonCode.DEVICE_TOO_SMALL, "how much memory those of tb-007 have is not known"),
        (ReasonCode.DEVICE_MEMORY_TOTAL, "how much tb-007 has is not known"),
        (ReasonCode.HOST_MEMORY_TOTAL, "how much tb-007 has is not known"),
        (ReasonCode.CORES_TOTAL, "No suitable node"),
    ],
)
def test_unknown_is_not_told_as_nothing(code, text):
    near = NearMiss(7, code, 1000, None)
    assert text in sentence(near) and "0 MiB" not in sentence(near).replace("1000 MiB", "")
