"""Past jobs of another scheduler: what sacct and the CSV say, and that a wrong cell is named."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.types import Request
from scheduling.simulator.traces.errors import TraceError
from scheduling.simulator.traces.past import read_past
from scheduling.simulator.traces.sacct import read_sacct
from tests.engine.profiles import property_test
from tests.simulator.test_readers import write

BERLIN, UTC = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
HEAD = "JobID|JobIDRaw|JobName|Partition|Account|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES|ExitCode"
TRES = "billing=1234,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=2"
ROWS = (
    f"71|71|fit|gpu|vision|COMPLETED|2025-03-04T10:00:00|2025-03-04T10:00:30|x|1-02:03:04|cpu=1|{TRES}|0:0",
    "71.batch|71.batch|batch||vision|COMPLETED|2025-03-04T10:00:00|x|x|1-02:03:04||cpu=8|0:0",
    "71.extern|71.extern|extern||vision|COMPLETED|x|x|x|x|||0:0",
    "72_3|75|sweep|cpu,long|nlp|CANCELLED by 1007|1741082400|Unknown|Unknown|00:00:00|cpu=3,mem=500M,node=1||0:0",
    "72_[4-9%2]|72|sweep|cpu|nlp|PENDING|2025-03-04T10:00:00|Unknown|Unknown|00:00:00|cpu=3||0:0",
    "76+1|77|het|gpu|nlp|RUNNING|2025-03-04T10:00:00|2025-03-04T10:00:00|Unknown|02:03|cpu=1|gres/npu=8,node=1|0:0",
)


def sacct(*rows: str, head: str = HEAD) -> str:
    return "\n".join([head, *rows]) + "\n"


def test_sacct_gives_jobs_and_passes_over_steps_and_unsplit_arrays(tmp_path):
    fit, sweep, het = read_sacct(write(tmp_path, sacct(*ROWS)), UTC)
    assert fit.request == Request(devices=2, models=("a100",), cores=8, host_memory_mib=32_768)
    assert (fit.job, fit.queue, fit.team, fit.replicas) == ("71", "gpu", "vision", 2)
    assert (fit.submitted_ms, fit.waited_ms, fit.duration_ms) == (1_741_082_400_000, 30_000, 93_784_000)
    assert (sweep.job, sweep.queue, sweep.submitted_ms) == ("72_3", "cpu", fit.submitted_ms)
    assert (sweep.waited_ms, sweep.duration_ms) == (None, None)
    assert sweep.request == Request(cores=3, host_memory_mib=500)
    assert (het.job, het.request.devices, het.request.models, het.duration_ms) == ("76+1", 8, (), 123_000)


def test_times_without_a_zone_are_of_the_zone_given(tmp_path):
    path = write(tmp_path, sacct(*ROWS[:4]))
    here, epoch = read_sacct(path, BERLIN)
    assert here.submitted_ms == 1_741_082_400_000 - 3_600_000 and epoch.submitted_ms == 1_741_082_400_000


def test_older_columns_and_lines_that_end_with_a_bar_do_as_well(tmp_path):
    head = "JobID|State|Submit|Start|ElapsedRaw|AllocCPUS|NNodes|ReqMem|AllocGRES|"
    row = "9|OUT_OF_ME+|2025-03-04T10:00:00|2025-03-04T10:00:00|90|8|2|2000Mc|gpu:v100:2(S:0),mps:100|"
    (job,) = read_sacct(write(tmp_path, sacct(row, head=head)), UTC)
    assert job.request == Request(devices=2, models=("v100",), cores=4, host_memory_mib=8_000)
    assert (job.replicas, job.duration_ms, job.queue) == (2, 90_000, "")


@pytest.mark.parametrize(
    ("tres", "devices", "models"),
    [
        ("cpu=1,gres/gpu=3", 3, ()),
        ("cpu=1,gres/gpu:a100=2,gres/gpu:v100=1,gres/gpu=3", 3, ()),
        ("cpu=1,gres/gpu:a100=2,gres/gpu=3", 3, ()),
        ("cpu=1,gres/gpu:a100=2", 2, ("a100",)),
        ("cpu=1,gres/shard=2,gres/gpumem=40G,license/x=1,energy=5", 0, ()),
        ("cpu=1,gres/gpu:a100=0,gres/gpu=0", 0, ()),
    ],
)
def test_devices_and_their_model_are_read_from_the_resources(tmp_path, tres, devices, models):
    row = ROWS[0].replace(TRES, tres)
    (job,) = read_sacct(write(tmp_path, sacct(row)), UTC)
    assert (job.request.devices, job.request.models) == (devices, models)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("COMPLETED", "DONE", "line 2, column 'State': 'DONE' is no state"),
        ("1-02:03:04", "25h", "line 2, column 'Elapsed': '25h' is no time span"),
        ("1-02:03:04", "1-02:63:04", "is no time span"),
        ("T10:00:00|2025", "T26:00:00|2025", "line 2, column 'Submit'.*is no time"),
        ("2025-03-04T10:00:00|2025", "1025-03-04T10:00:00|2025", "between 1970 and 2200"),
        ("gres/gpu=4", "gres/gpu=four", "line 2, column 'AllocTRES': 'four' is no whole number"),
        ("gres/gpu=4", "gres/gpu=-4", "is no whole number from 0"),
        ("gres/gpu=4", "gres/gpu=40000", "gives no request .devices: must lie between 0 and 1024"),
        ("mem=64G", "mem=64Q", "'64Q' is no amount of memory"),
        ("mem=64G", "mem", "'mem' is no name=amount"),
        ("node=2", "node=0", "is no whole number from 1"),
        ("|fit|", "|f|t|", "line 2, column 'ExitCode': has 14 cells, the header 13"),
        ("71|71|", "|71|", "column 'JobID': is empty"),
    ],
)
def test_a_wrong_cell_of_sacct_is_named(tmp_path, old, new, problem):
    with pytest.raises(TraceError, match=problem):
        list(read_sacct(write(tmp_path, sacct(ROWS[0].replace(old, new, 1))), UTC))


def test_a_job_that_stands_twice_and_a_table_without_amounts_are_refused(tmp_path):
    with pytest.raises(TraceError, match=r"line 3, column 'JobID': '71' stands twice"):
        list(read_sacct(write(tmp_path, sacct(ROWS[0], ROWS[0])), UTC))
    with pytest.raises(TraceError, match=r"none of the columns AllocTRES.*sacct --parsable2"):
        text = sacct("1|RUNNING|2025-03-04|1:00", head="JobID|State|Submit|Elapsed")
        list(read_sacct(write(tmp_path, text), UTC))
    with pytest.raises(TraceError, match="has no column Submit"):
        list(read_sacct(write(tmp_path, sacct("1|RUNNING", head="JobID|State")), UTC))


CSV = (
    "job,submitted,started,ended,duration_s,queue,team,devices,models,device_milli,device_memory_mib,cores,replicas\n"
    "a,2025-03-04T10:00:00,2025-03-04T10:01:00,2025-03-04T11:00:00,,training,x,2,A100|H100,,40000,8,3\n"
    "b,1741082400,,,1.5,,,1,,250,,,\n"
    "c,2025-03-04T10:00:00+08:00,,,,,,0,,,,,\n"
)


def test_the_csv_gives_jobs(tmp_path):
    a, b, c = read_past(write(tmp_path, CSV), UTC)
    assert a.request == Request(devices=2, models=("A100", "H100"), device_memory_mib=40_000, cores=8)
    assert (a.waited_ms, a.duration_ms, a.replicas, a.queue, a.team) == (
        60_000,
        3_540_000,
        3,
        "training",
        "x",
    )
    assert b.request == Request(devices=1, device_compute_milli=250, shareable=True)
    assert (b.waited_ms, b.duration_ms) == (None, 1500)
    assert a.submitted_ms - c.submitted_ms == 8 * 3_600_000 and c.duration_ms is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("10:01:00", "09:01:00", "line 2, column 'started': lies before submitted"),
        ("11:00:00", "10:00:30", "line 2, column 'ended': lies before started"),
        (",2,A100", ",x,A100", "line 2, column 'devices': 'x' is no number"),
        (",2,A100", ",2000,A100", "is more than 1024"),
        ("1,,250", "1,,1250", "line 3, column 'device_milli'.*more than 1000"),
        ("\nb,", "\na,", "line 3, column 'job': 'a' stands twice"),
        (",8,3", ",8,0", "line 2, column 'replicas'"),
        ("A100|H100", "A" * 300, "is no name; use 200 characters"),
        ("training", "train\0ing", "line 2, column 'queue': holds a zero byte"),
    ],
)
def test_a_wrong_cell_of_the_csv_is_named(tmp_path, old, new, problem):
    with pytest.raises(TraceError, match=problem):
        list(read_past(write(tmp_path, CSV.replace(old, new, 1)), UTC))


@property_test
@given(st.integers(0, 1000), st.integers(0, 12), st.text(max_size=6), st.booleans())
def test_any_other_bytes_are_jobs_or_a_trace_error(tmp_path_factory, at, gone, new, bars):
    text = sacct(*ROWS) if bars else CSV
    at %= len(text)
    path = tmp_path_factory.getbasetemp() / "fuzzed.txt"
    path.write_text(text[:at] + new + text[at + gone :], encoding="utf-8", newline="")
    try:
        list((read_sacct if bars else read_past)(path, BERLIN))
    except TraceError as error:
        assert str(path) in str(error) and error.fix
