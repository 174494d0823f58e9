"""Past jobs of another scheduler come in whole or not at all, beside the cluster's own, and leave as a history."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from controlplane.base import clock
from queues.models import Job
from scheduling import expected
from scheduling.models import ImportedJob
from scheduling.simulator.__main__ import main
from scheduling.simulator.traces.history import read_history
from tests.scheduling.factories import make_device, make_job, make_node, make_queues, make_team, make_user

pytestmark = pytest.mark.django_db

HEAD = "JobID|Partition|Account|State|Submit|Start|Elapsed|AllocTRES\n"
ROW = "{job}|{queue}|vision|COMPLETED|2025-03-0{day}T10:00:00|2025-03-0{day}T10:00:05|01:00:00|cpu=4,gres/gpu=1\n"


@pytest.fixture(autouse=True)
def queues() -> None:
    make_queues()


def file(folder: Path, *rows: str, name: str = "past.txt", head: str = HEAD) -> Path:
    path = folder / name
    path.write_text(head + "".join(rows))
    return path


def row(job: int, *, day: int = 4, queue: str = "training") -> str:
    return ROW.format(job=job, day=day, queue=queue)


def load(path: Path | None, **options: object) -> None:
    call_command("import_history", *([] if path is None else [str(path)]), verbosity=0, **options)


def test_jobs_are_stored_apart_and_importing_them_again_renews_them(tmp_path, capsys):
    running = row(2).replace("COMPLETED", "RUNNING").replace("01:00:00", "00:10:00")
    load(file(tmp_path, row(1), running))
    load(file(tmp_path, row(1), row(2), row(3)))
    found = ImportedJob.objects.order_by("name")
    assert [(job.source, job.name, job.duration_ms) for job in found] == [
        ("past.txt", name, 3_600_000) for name in "123"
    ]
    first = found[0]
    assert (first.queue.name, first.team, first.waited_ms) == ("training", "vision", 5000)
    assert first.submitted_at.isoformat() == "2025-03-04T10:00:00+00:00"
    assert not Job.objects.exists()
    load(file(tmp_path, row(1)), source="other", time_zone="Asia/Shanghai")
    assert ImportedJob.objects.count() == 4
    assert ImportedJob.objects.get(source="other").submitted_at.hour == 2


def test_nothing_is_imported_where_one_row_is_wrong(tmp_path):
    bad = row(2).replace("gres/gpu=1", "gres/gpu=x")
    with pytest.raises(CommandError, match=r"past\.txt, line 3, column 'AllocTRES': 'x' is no whole number"):
        load(file(tmp_path, row(1), bad, row(3)))
    assert not ImportedJob.objects.exists()


def test_a_partition_that_is_no_queue_must_be_named(tmp_path):
    path = file(tmp_path, row(1, queue="gpu"), row(2, queue="night"), row(3))
    with pytest.raises(CommandError, match=r"line 2: job '1' is of 'gpu'.*--map gpu=QUEUE, or --queue"):
        load(path)
    load(path, map=["gpu=inference"], queue="offline")
    named = dict(ImportedJob.objects.values_list("name", "queue__name"))
    assert named == {"1": "inference", "2": "offline", "3": "training"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"map": ["gpu"]}, "--map: 'gpu' is not THEIRS=OURS"),
        ({"map": ["gpu=none"]}, "--map: 'none' is no open queue .there is: inference, offline, training"),
        ({"queue": "none"}, "--queue: 'none' is no open queue"),
        ({"time_zone": "Nowhere"}, "--time-zone: 'Nowhere' is no time zone"),
        ({"source": "s" * 101}, "--source: must have 1 to 100 characters"),
        ({"remove": "s"}, "--remove: 's' was not imported .there is: nothing"),
    ],
)
def test_a_wrong_option_says_what_is_wrong(options, problem, tmp_path):
    with pytest.raises(CommandError, match=problem):
        load(file(tmp_path, row(1)), **options)
    assert not ImportedJob.objects.exists()


def test_the_file_must_be_there_and_is_told_apart_by_its_first_line(tmp_path):
    with pytest.raises(CommandError, match="FILE: name the file"):
        load(None)
    with pytest.raises(CommandError, match=r"none\.csv: cannot be read"):
        load(tmp_path / "none.csv")
    load(
        file(
            tmp_path,
            "j1,2025-03-04T10:00:00,training,2\n",
            head="job,submitted,queue,devices\n",
            name="a.csv",
        )
    )
    assert ImportedJob.objects.get().request["devices"] == 2
    with pytest.raises(CommandError, match="has no column JobID"):
        load(tmp_path / "a.csv", format="sacct")


def test_they_are_expected_less_and_less_as_the_cluster_gets_a_history_of_its_own(tmp_path):
    old = row(9).replace("2025-03-04", "2024-03-04").replace("cpu=4", "cpu=7")
    load(file(tmp_path, row(1), row(2, day=5), row(3).replace("gpu=1", "gpu=8"), old))
    found = [(s.request.devices, s.request.cores, s.weight) for s in expected.expected_jobs()]
    assert found == [(1, 4, 2), (8, 4, 1)]
    make_job(make_user(team=make_team()), resources={"cores": 3})
    for days, weights in ((0, {4: 3, 3: 1}), (7, {4: 1, 3: 1}), (13.9, {3: 1})):
        Job.objects.update(submitted_at=clock.now() - timedelta(days=days))
        expected.refresh_expected()
        counts = Counter[int]()
        for shape in expected.expected_jobs():
            counts[shape.request.cores] += shape.weight
        assert counts == weights


def test_a_source_is_removed_and_nothing_is_expected_of_it_any_more(tmp_path):
    load(file(tmp_path, row(1)))
    load(file(tmp_path, row(1)), source="other")
    load(None, remove="past.txt")
    load(None, remove="other")
    assert not ImportedJob.objects.exists() and expected.expected_jobs() == ()


def test_they_are_exported_alone_and_run_in_the_simulator(tmp_path, capsys):
    make_device(make_node("node-a", cores=8), index=0)
    make_job(make_user("ada", team=make_team("vision")))
    load(file(tmp_path, row(1, day=1), row(2, day=5), row(3, day=6)))
    out = tmp_path / "history.jsonl"
    call_command("export_history", days=2, out=out, imported="past.txt", verbosity=0)
    found = read_history(out)
    assert [(job.duration_ms, job.waited_ms, job.team) for job in found.jobs] == [(3_600_000, 5000, 1)] * 2
    assert "vision" not in out.read_text()
    assert main(["--trace", "history", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["completed"] == 2
    with pytest.raises(CommandError, match="--imported: 'none' was not imported"):
        call_command("export_history", days=2, out=out, imported="none", verbosity=0)
