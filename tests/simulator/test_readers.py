"""Readers: what they make of good files, and that a bad one is refused with file, line, column and a fix."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scheduling.engine.types import LinkInfo, Request, Term
from scheduling.simulator.policy import PRESETS, preset, read_policy
from scheduling.simulator.traces import history, openb, philly
from scheduling.simulator.traces.errors import TraceError
from tests.simulator.runs import nodes

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,8,G2\nn1,32500,131072,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,11400,16384,1,1000,,LS,Running,10,70,20\n"
    "p1,3152,12288,1,460,G2,BE,Running,5,65,\n"
    "p2,8000,8192,0,0,,BE,Running,0,30,0\n"
)
PHILLY = (
    "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,66.0,1,b\n2017-10-09 06:13:03,2951.5,16,a\n"
)


def write(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_openb_becomes_nodes_requests_and_jobs(tmp_path):
    found = openb.read_nodes(write(tmp_path, NODES))
    infos = openb.node_infos(found)
    assert [(len(i.cpus), len(i.devices)) for i in infos] == [(96, 8), (32, 0)]
    assert infos[0].devices[7].device == 8 and infos[0].devices[0].memory_total_mib is None
    pods = openb.read_pods(write(tmp_path, PODS, "pods.csv"), {"G2"})
    assert openb.request_of(pods[0]) == Request(devices=1, cores=12, host_memory_mib=16384)
    assert openb.request_of(pods[1]) == Request(
        devices=1, device_compute_milli=460, shareable=True, models=("G2",), cores=4, host_memory_mib=12288
    )
    assert not openb.request_of(pods[2]).devices
    jobs = openb.sim_jobs(pods)
    assert [(j.submitted_ms, j.duration_ms, j.queue) for j in jobs] == [
        (0, 30_000, 3),
        (5_000, 60_000, 3),
        (10_000, 50_000, 1),
    ]


def test_a_finer_cpu_unit_never_gives_more_than_there_is(tmp_path):
    node = openb.OpenbNode("n", 32_500, 1, 0, "")
    pod = openb.OpenbPod("p", 3_152, 1, 0, 0, (), "")
    assert len(openb.node_infos([node], cpu_unit_milli=100)[0].cpus) == 325
    assert openb.request_of(pod, cpu_unit_milli=100).cores == 32


def test_philly_is_sorted_cut_and_split_into_replicas(tmp_path):
    found = philly.read_jobs(write(tmp_path, PHILLY))
    assert [j.virtual_cluster for j in found] == ["a", "b"]
    jobs = philly.sim_jobs(found, devices_per_node=8)
    assert [(j.replicas, j.request.devices, j.duration_ms, j.team) for j in jobs] == [
        (2, 8, 2_951_500, 1),
        (1, 1, 66_000, 2),
    ]
    assert jobs[0].size_class == ">8" and jobs[1].size_class == "1"
    since = datetime(2017, 10, 9, 7, tzinfo=UTC)
    assert len(philly.read_jobs(write(tmp_path, PHILLY), since=since)) == 1


def test_byte_order_mark_windows_lines_gzip_and_blank_lines_change_nothing(tmp_path):
    plain = philly.read_jobs(write(tmp_path, PHILLY))
    crooked = "\ufeff" + PHILLY.replace("\n", "\r\n") + "\r\n , , , \r\n"
    assert philly.read_jobs(write(tmp_path, crooked, "b.csv")) == plain
    packed = tmp_path / "c.csv"
    packed.write_bytes(gzip.compress(crooked.encode()))
    assert philly.read_jobs(packed) == plain


BAD_PODS = [
    ("11400", "-1", 2, "cpu_milli", "less than 0"),
    ("11400", "nan", 2, "cpu_milli", "no number"),
    ("11400", "1_1", 2, "cpu_milli", "no number"),
    ("11400", "1e400", 2, "cpu_milli", "more than 655360"),
    ("11400", "12 cores", 2, "cpu_milli", "no number"),
    ("11400", "1.5", 2, "cpu_milli", "no whole number"),
    ("11400", "99999999", 2, "cpu_milli", "more than"),
    ("p0,", ",", 2, "name", "is empty"),
    ("p1,", "p0,", 3, "name", "'p0' stands twice"),
    (",460,G2", ",460,H100", 3, "gpu_spec", "no node has a 'H100'"),
    (",460,G2", ",0,G2", 3, "gpu_milli", "less than 1"),
    ("1,460", "2,460", 3, "gpu_milli", "each of 2 devices"),
    ("10,70,20", "70,10,20", 2, "deletion_time", "before creation_time"),
    ("10,70,20", "10,70,5", 2, "scheduled_time", "before creation_time"),
    ("10,70,20", "10,70,75", 2, "scheduled_time", "after deletion_time"),
    ("10,70,20", "10,1e300,20", 2, "deletion_time", "more than"),
]


@pytest.mark.parametrize(("old", "new", "line", "column", "problem"), BAD_PODS)
def test_a_bad_cell_is_named_with_its_line_and_a_fix(tmp_path, old, new, line, column, problem):
    path = write(tmp_path, PODS.replace(old, new, 1))
    with pytest.raises(TraceError) as caught:
        openb.read_pods(path, {"G2"})
    error = caught.value
    assert (error.file, error.line, error.column) == (str(path), line, column)
    assert problem in str(error) and error.fix


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("timestamp,duration,num_gpus\n", "has no column cluster"),
        ("timestamp,duration,num_gpus,cluster,duration\n", "names a column twice"),
        ("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,66.0,1\n", "has 3 cells, the header 4"),
        ("timestamp,duration,num_gpus,cluster\nyesterday,66.0,1,a\n", "is no time"),
        ("timestamp,duration,num_gpus,cluster\n1969-12-31 23:59:59,66.0,1,a\n", "line 2.*between 1970 and"),
        ("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,1e14,1,a\n", "is more than"),
        ("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,-1,1,a\n", "less than 0"),
        ("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,,1,a\n", "is empty"),
        ('timestamp,duration,num_gpus,cluster\n"2017-10-09 07:01:55,1,1,a\n', "is no CSV"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, text, problem):
    with pytest.raises(TraceError, match=problem):
        philly.read_jobs(write(tmp_path, text))


def test_unreadable_files_are_refused_not_thrown(tmp_path):
    latin = tmp_path / "latin.csv"
    latin.write_bytes("timestamp,duration,num_gpus,cluster\nä".encode("latin-1"))
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress((PHILLY + "2017-10-09 06:13:03,1,1,a\n" * 50).encode())[:-6])
    for path, problem in (
        (latin, "UTF-8"),
        (cut, "damaged gzip"),
        (tmp_path / "none.csv", "No such file"),
        (tmp_path, "directory"),
    ):
        with pytest.raises(TraceError, match=problem):
            philly.read_jobs(path)


def a_history(folder: Path, *lines: str) -> Path:
    head = history.line("head", history.HistoryHead(from_ms=0, until_ms=10))
    document = head + history.line("policy", read_policy_sample(folder)) + history.line("node", nodes(1)[0])
    return write(folder, document + "".join(lines), "history.jsonl")


def read_policy_sample(folder: Path):
    weights = "".join(f"    {term.value}: {ppm / 1_000_000}\n" for term, ppm in PRESETS["sample"].items())
    text = f"scheduler:\n  scoring-weights: # sum 1\n{weights}  cpu-policy: x\n"
    return read_policy(write(folder, text), preset("packing"))


def past_job(number: int, **more) -> str:
    job = history.HistoryJob(number, 2, 1, 0, 100 - number, Request(devices=1), **more)
    return history.line("job", job)


def _node_line(**changed: Any) -> str:
    return history.line("node", replace(nodes(2)[1], **{"devices": (), **changed}))


def test_a_history_reads_back_and_leaves_out_what_never_ran(tmp_path):
    found = history.read_history(
        a_history(tmp_path, past_job(1, duration_ms=5), past_job(2, duration_ms=6, waited_ms=7), past_job(3))
    )
    assert found.waited_ms() == {2: 7}
    assert [j.job for j in found.sim_jobs()] == [2, 1]
    assert found.nodes == nodes(1) and len(found.jobs) == 3
    assert found.policy.weights_ppm == PRESETS["sample"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            past_job(1, duration_ms=-5),
            "HistoryJob.duration_ms.*-5 is out of range; give a whole number from 0 to",
        ),
        (past_job(1, latest_start_ms=-1), "HistoryJob.latest_start_ms.*out of range"),
        (
            _node_line().replace('"memory_mib":65536', '"memory_mib":-1'),
            "line 4, column 'NodeInfo.memory_mib': must lie between 0",
        ),
        (
            _node_line().replace('"memory_mib":65536', f'"memory_mib":{2**63}'),
            "NodeInfo.memory_mib': must lie between 0",
        ),
        (_node_line(memory_mib=1, memory_booked_mib=2), "memory_booked_mib': is more than memory_mib"),
        (_node_line(cpus=nodes(1)[0].cpus[:1] * 2), "NodeInfo.cpus': 0 stands twice"),
        (_node_line(devices=nodes(1)[0].devices), "NodeInfo.devices': 1000 stands twice"),
        (_node_line(links=(LinkInfo(1, 2, "NV"),)), "NodeInfo.links': . is not of this node"),
        (_node_line(name="\ud800"), "NodeInfo.name': holds half a character"),
        (_node_line(name="n" * 5000), "NodeInfo.name': has 5000 characters"),
        (_node_line().replace('"name"', '"node":3,"name"'), "names a field twice"),
        (past_job(1, waited_ms=-1), "HistoryJob.waited_ms.*out of range"),
        (past_job(1, duty_ppm=1_000_001), "HistoryJob.duty_ppm.*out of range"),
        (past_job(1) + past_job(1), "line 5, column 'job': 1 stands twice"),
        (past_job(1, replicas=0), "HistoryJob.replicas.*out of range"),
        (history.line("node", nodes(1)[0]), "line 4, column 'node': 1 stands twice"),
        ('{"job":{}}\n', "HistoryJob.job': is missing"),
        (past_job(1).replace('"cores":1', '"cores":-1'), "must lie between 0"),
        (past_job(1).replace('"priority":0', '"priority":NaN'), "NaN is no number"),
        ('{"pod":{}}\n', "no kind of line"),
        ("[1]\n", "no object with one key"),
        ("{\n", "line 4: is no JSON"),
    ],
)
def test_a_bad_line_of_a_history_is_named(tmp_path, line, problem):
    with pytest.raises(TraceError, match=problem):
        history.read_history(a_history(tmp_path, line))


def test_a_history_ends_after_it_began(tmp_path):
    path = write(
        tmp_path, history.line("head", history.HistoryHead(from_ms=2, until_ms=1)) + '{"policy":{}}\n'
    )
    with pytest.raises(TraceError, match=r"line 1, column .HistoryHead.from_ms.: lies after until_ms"):
        history.read_history(path)


def test_another_file_is_no_history(tmp_path):
    for text in ("", PHILLY, '{"head":{"from_ms":0,"until_ms":1,"version":2}}\n'):
        with pytest.raises(TraceError, match="export_history"):
            history.read_history(write(tmp_path, text))


_QUEUE = {"queue": 7, "name": "q", "priority": 1, "quota_ppm": None, "preemptable": False}


def _policy_json(**changed: Any) -> str:
    return json.dumps({"weights_ppm": {"fragmentation-penalty": 80_000}, "queues": [], **changed})


def test_a_policy_is_weights_or_the_engines_json(tmp_path):
    sample = read_policy_sample(tmp_path)
    assert sample.weights_ppm == PRESETS["sample"]
    again = write(tmp_path, history.line("policy", sample)[len('{"policy":') : -2], "policy.json")
    assert read_policy(again, preset("packing")) == sample


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scheduler: {}\n", "names no scoring weights"),
        ("scoring-weights:\n  luck: 1\n", "line 2, column 'luck': is no score term"),
        ("scoring-weights:\n  balance: much\n", "line 2, column 'balance': 'much' is no weight"),
        ("scoring-weights:\n  balance: -1\n", "is no weight"),
        ("scoring-weights:\n  balance: nan\n", "is no weight"),
        ("scoring-weights:\n  balance: 1\n", "'fragmentation-penalty': has too little weight"),
        ("scoring-weights:\n  balance: 1\n  balance: 2\n", "line 3, column 'balance': stands twice"),
        (json.dumps({"weights_ppm": {}}), "column 'EnginePolicy.queues': is missing"),
        (json.dumps({"weights_ppm": {}, "queues": []}), "fragmentation-penalty': has too little weight"),
        (_policy_json(precheck_den=0), "precheck_den': must lie between 1"),
        (_policy_json(precheck_num=1), "factor less than 1"),
        (_policy_json(power_cap_mw=-1), "power_cap_mw': must lie between 0"),
        (_policy_json(queues=[_QUEUE, _QUEUE]), "queues': 7 stands twice"),
        (_policy_json(valley=[{"opens_at_ms": 2, "closes_at_ms": 1}]), "closes before it opens"),
        ("{" + '"weights_ppm":{' * 50_000, "is no JSON"),
        ('{"weights_ppm":' + "1" * 5000 + "}", "JSON"),
    ],
)
def test_a_bad_policy_is_refused(tmp_path, text, problem):
    with pytest.raises(TraceError, match=problem):
        read_policy(write(tmp_path, text), preset("sample"))


def test_the_weights_of_a_document_replace_weights_and_nothing_else(tmp_path):
    beside = replace(preset("sample"), queues=(), precheck_num=7, high_bandwidth_node_sets=("fast",))
    found = read_policy(write(tmp_path, "scoring-weights:\n  fragmentation-penalty: 0.5\n"), beside)
    assert found == replace(beside, weights_ppm={Term.FRAGMENTATION: 500_000})


def test_a_pod_without_times_is_refused_with_its_line(tmp_path):
    path = tmp_path / "pods.csv"
    columns = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos")
    times = ("creation_time", "deletion_time", "scheduled_time")
    rows = ["a,1000,10,0,0,,LS,1,9,", "b,1000,10,0,0,,LS,2,,"]
    path.write_text("\n".join([",".join((*columns, *times)), *rows]) + "\n")
    assert len(openb.read_pods(path, ())) == 2
    with pytest.raises(TraceError, match="line 3, column 'deletion_time': is empty"):
        openb.read_pods(path, (), timed=True)
