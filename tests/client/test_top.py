"""`headrace top`: one look or many, sorted, and unknown said as unknown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from client.top import Sort, age, ordered
from tests.client.server import Answer, Asked, scripted
from tests.client.test_cli import ROOT, headrace


def use(number: int, **changes):
    row = {
        "id": number,
        "name": "train\x1b[2J",
        "status": "running",
        "queue": "training",
        "team": "vision",
        "owner": "ada",
        "attempt": 1,
        "nodes": ["here-01"],
        "running_s": 3700,
        "cores": 8,
        "cpu_used_milli": 2500,
        "host_memory_booked_mib": 4096,
        "host_memory_used_mib": 1024,
        "devices": 2,
        "shares_devices": False,
        "device_use_pct": 40,
        "device_memory_booked_mib": 2048,
        "device_memory_used_mib": None,
    }
    return {**row, **changes}


def serving(*rows: dict):
    def respond(request: Asked) -> Answer:
        if request.path.endswith("/me"):
            return Answer(200, {"username": "ada"})
        return Answer(200, {"next": None, "previous": None, "results": list(rows)})

    return respond


def test_one_look_is_a_table_of_lines_without_a_terminal():
    shared = use(9, shares_devices=True, device_use_pct=80, nodes=["a", "b", "c"], host_memory_booked_mib=0)
    bare = use(3, devices=0, device_use_pct=None, running_s=None, cpu_used_milli=None)
    with scripted(serving(use(7), shared, bare)) as server:
        ended = headrace("top", "--once", "--mine", url=server.url)
    lines = [line.split("\t") for line in ended.stdout.decode().splitlines()]
    assert lines[0][:2] == ["id", "name"]
    assert lines[1][4:8] == ["a +2", "2", "≤80 %", "unknown / 2.0"] and lines[1][8] == "1.0 / none"
    assert lines[2] == [
        "7", "train\\x1b[2J", "ada", "running", "here-01", "2", "40 %", "unknown / 2.0", "1.0 / 4.0", "2.5 / 8",
        "1h01m",
    ]  # fmt: skip
    assert lines[3][6:] == ["-", "-", "1.0 / 4.0", "unknown / 8", "unknown"]
    assert server.asked[-1].query["owner"] == ["ada"]


def test_json_once_and_chinese():
    with scripted(serving(use(7))) as server:
        assert json.loads(headrace("top", "--once", "--json", url=server.url).stdout)[0]["id"] == 7
        said = headrace("top", "--once", url=server.url, lang="zh_CN.UTF-8").stdout.decode()
    assert "设备使用率" in said and "未知 / 2.0" in said


def test_it_looks_again_until_it_is_interrupted():
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "en"}
    with (
        scripted(serving(use(7))) as server,
        subprocess.Popen(
            [sys.executable, "-m", "client", "top", "--json", "-n", "1"],
            cwd=ROOT,
            env={**environment, "HEADRACE_URL": server.url},
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        looks = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(timeout=60) == 0
    assert looks[0] == looks[1] and looks[0][0]["id"] == 7


def test_the_largest_is_first_and_unknown_last():
    rows = [
        use(1, device_use_pct=None),
        use(2, device_use_pct=5),
        use(3, device_use_pct=90),
        use(4, device_use_pct=5),
    ]
    assert [row["id"] for row in ordered(rows, Sort.DEVICE)] == [3, 4, 2, 1]
    assert [row["id"] for row in ordered(rows, Sort.ID)] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "seconds, text", [(None, None), (0, "0s"), (59, "59s"), (61, "1m01s"), (3700, "1h01m"), (90000, "1d01h")]
)
def test_ages(seconds, text):
    assert age(seconds) == text
