"""The cluster's past leaves the database, runs in the simulator, and names nobody."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.base import clock
from inventory.models import Image
from queues.models import Job
from scheduling.models import Phase, Placement
from scheduling.simulator.__main__ import main
from scheduling.simulator.traces.history import read_history
from tests.scheduling.factories import (
    make_device,
    make_job,
    make_node,
    make_queues,
    make_team,
    make_user,
    run_cycle,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def past() -> list[Job]:
    """Two devices and three jobs: one ran for ten minutes, one has run for five, one waits."""
    make_queues()
    node = make_node("node-a", cores=8)
    make_device(node, index=0)
    make_device(node, index=1)
    user = make_user("ada", team=make_team("vision"))
    jobs = [make_job(user, name=f"secret-{n}", resources={"devices": 1}) for n in range(3)]
    run_cycle()
    first, second = Placement.objects.order_by("id")
    now = clock.now()
    ended = {"phase": Phase.RELEASED, "ended_at": now - timedelta(minutes=5)}
    Placement.objects.filter(pk=first.pk).update(running_at=now - timedelta(minutes=15), **ended)
    Placement.objects.filter(pk=second.pk).update(running_at=now - timedelta(minutes=5))
    return jobs


def export(folder: Path, *, days: int = 7) -> Path:
    out = folder / "history.jsonl"
    call_command("export_history", days=days, out=out, verbosity=0)
    return out


def test_what_is_written_can_be_read_and_run(past, tmp_path, capsys):
    found = read_history(export(tmp_path))
    assert [job.job for job in found.jobs] == [job.pk for job in past]
    assert found.jobs[0].duration_ms == 600_000
    assert 300_000 <= found.jobs[1].duration_ms < 400_000
    assert found.jobs[2].duration_ms is None
    assert all(device.compute_booked_milli == 0 for node in found.nodes for device in node.devices)
    assert not any(cpu.booked for node in found.nodes for cpu in node.cpus)
    assert main(["--trace", "history", str(tmp_path / "history.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["completed"] == 2


def test_what_may_wait_and_what_must_be_fetched_stays_known(past, tmp_path, django_assert_num_queries):
    latest = clock.now().replace(microsecond=0) + timedelta(hours=5)
    user = past[0].owner
    Image.objects.create(name="example.com/train:1", size_mib=9000)
    with CaptureQueriesContext(connection) as before:
        export(tmp_path)
    wish = {"deferrable": True, "latest_start": latest.isoformat(), "image": "example.com/train:1"}
    for _ in range(3):
        make_job(user, resources={"devices": 1}, **wish)
    make_job(user, resources={"devices": 1}, image="example.com/other:1")
    with django_assert_num_queries(len(before) + 1):
        found = read_history(export(tmp_path)).jobs
    assert [job.deferrable for job in found] == [False] * 3 + [True] * 3 + [False]
    assert [job.latest_start_ms for job in found] == [None] * 3 + [clock.to_ms(latest)] * 3 + [None]
    assert [job.request.image_mib for job in found] == [None] * 3 + [9000] * 3 + [None]


def test_it_names_no_people_teams_or_jobs(past, tmp_path):
    text = export(tmp_path).read_text()
    assert not [name for name in ("ada", "vision", "secret", "/bin/true") if name in text]


def test_older_jobs_stay_out_and_the_number_of_queries_does_not_grow(
    past, tmp_path, django_assert_max_num_queries
):
    Job.objects.filter(pk=past[0].pk).update(submitted_at=clock.now() - timedelta(days=8))
    with django_assert_max_num_queries(14):
        found = read_history(export(tmp_path))
    assert [job.job for job in found.jobs] == [job.pk for job in past[1:]]


@pytest.mark.parametrize("days", [0, -1, 100_000])
def test_a_bad_number_of_days_is_refused(days, tmp_path):
    with pytest.raises(CommandError, match="--days: must lie between 1 and 3650"):
        export(tmp_path, days=days)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(past, tmp_path):
    with pytest.raises(CommandError, match="nowhere"):
        export(tmp_path / "nowhere")


def test_a_folder_is_refused_and_left_as_it_was(past, tmp_path):
    with pytest.raises(CommandError, match="directory"):
        call_command("export_history", days=7, out=tmp_path, verbosity=0)
    assert not list(tmp_path.iterdir()) and not tmp_path.with_name(tmp_path.name + ".part").exists()


def test_a_pipe_is_written_to_and_stays_a_pipe(past, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    call_command("export_history", days=7, out=link, verbosity=0)
    assert os.read(reader, 1 << 16).startswith(b"{") and pipe.is_fifo() and link.is_symlink()
    os.close(reader)
