"""What AMD's tools say of errors, limits and neighbours: counters, sentences of none, and links that are off."""

import json
from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document
from agent.vendors.reading import documents

RAS = """\
=================================== RAS Info ===================================

GPU[0]: \tRAS INFO
         Block       Status    Correctable Error  Uncorrectable Error
           UMC      ENABLED                    4                    2
           GFX      ENABLED                    0                    3
         ATHUB     DISABLED

GPU[2]: \tRAS INFO
         Block       Status    Correctable Error  Uncorrectable Error
           UMC     DISABLED
================================================================================
"""


def devices(text: str) -> list[dict[str, Any]]:
    found = document(PARSERS["amd"](text))["devices"]
    assert isinstance(found, list)
    return found


def metric(**more: object) -> str:
    entry = {
        "gpu": 0,
        "usage": {"gfx_activity": {"value": 12, "unit": "%"}},
        "power": {"socket_power": {"value": 310, "unit": "W"}},
        "temperature": {"hotspot": {"value": 62, "unit": "C"}},
        "mem_usage": {
            "total_vram": {"value": 65520, "unit": "MB"},
            "used_vram": {"value": 512, "unit": "MB"},
        },
    }
    return json.dumps([entry | more])


def test_blocks_that_watch_for_errors() -> None:
    readout = PARSERS["amd"](RAS)
    assert [(one.facts.index, one.ecc, one.uncorrectable) for one in readout.readings] == [
        (0, True, 5),
        (2, False, None),
    ]
    assert {one["health"] for one in devices(RAS)} == {"unknown"}
    assert readout.warnings == []


@pytest.mark.parametrize(
    ("more", "health"),
    [
        ({}, "healthy"),
        ({"bad_pages": {"retired": "No bad pages found.", "pending": "No bad pages found."}}, "healthy"),
        ({"xgmi_err": "NO_ERRORS"}, "healthy"),
        ({"xgmi_err": "MULTIPLE_ERRORS"}, "unhealthy"),
        ({"throttle": {"hbm_thermal_violation_status": "NOT ACTIVE"}}, "healthy"),
        ({"throttle": {"hbm_thermal_violation_status": "ACTIVE"}}, "unhealthy"),
        ({"note": "no such device error"}, "unhealthy"),
    ],
)
def test_words_beside_the_figures(more: dict[str, object], health: str) -> None:
    (device,) = devices(metric(**more))
    assert device["health"] == health


def test_a_link_that_is_off_is_none() -> None:
    links = [
        {"gpu": 1, "link_type": "XGMI", "link_status": "ENABLED"},
        {"gpu": 2, "link_type": "XGMI", "link_status": "DISABLED"},
        {"gpu": 3, "link_type": "PCIE"},
    ]
    found = PARSERS["amd"](json.dumps([{"gpu": 0, "bdf": "0000:c1:00.0", "links": links}])).links
    assert [(link.a, link.b, link.kind) for link in found] == [(0, 1, "XGMI"), (0, 3, "PCIE")]


@pytest.mark.parametrize("as_list", [False, True])
def test_cpus_near_a_device(as_list: bool) -> None:
    lists = {"cpu_list_0": "8-11", "cpu_list_1": "N/A", "cpu_list_2": "136-137"}
    near = {name: {"bitmask": "0F00", "cpu_cores_affinity": text} for name, text in lists.items()}
    text = json.dumps([{"gpu": 0, "numa": {"node": 1, "affinity": 1, "cpu_affinity": near}}])
    if as_list:
        lines = [
            f"            {name.upper()}:\n                CPU_CORES_AFFINITY: {cpus}"
            for name, cpus in lists.items()
        ]
        text = "\n".join(
            ["GPU: 0", "    NUMA:", "        NODE: 1", "        AFFINITY: 1", "        CPU_AFFINITY:", *lines]
        )
    (device,) = devices(text)
    assert (device["numa_node"], device["cpu_affinity"]) == (1, [8, 9, 10, 11, 136, 137])


@pytest.mark.parametrize("line", ["[", '{"a": [', '[{"gpu": [1, 2,'])
def test_many_beginnings_of_documents_cost_no_more_than_their_length(line: str) -> None:
    text = "\n".join([line] * 400 + ["1, 2, 3,"] * 20_000)
    tried: list[int] = []
    decoder = json.JSONDecoder

    class Counting(decoder):  # type: ignore[misc, valid-type]
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            tried.append(idx)
            return super().raw_decode(s, idx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "JSONDecoder", Counting)
        assert documents.find_json(text)[0] == []
    assert len(tried) < 10
    assert devices(text) == []


def test_the_second_die_of_a_board_draws_not_nothing_but_unknown_power() -> None:
    found = PARSERS["amd"](
        "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
        "0    40.0c  91.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%\n"
        "1    47.0c  0.0W    800Mhz  1600Mhz  0%   auto  0.0W     95%   99%\n"
    )
    assert [one.sample.power_mw for one in found.readings] == [91_000, None]
    assert [one.facts.power_limit_w for one in found.readings] == [560, None]
