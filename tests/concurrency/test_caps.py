"""Caps hold whoever submits and whoever schedules, all at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from django.db import connection
from django.db.models import Sum

from queues.models import Job, JobStatus, Queue
from queues.operations import note_changed_caps
from scheduling.models import Slice
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = """
import sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from scheduling import cycle
print("ready", flush=True)
for line in sys.stdin:
    cycle.run_cycles(sys.argv[2])
    print("looked", flush=True)
"""
CARDS, SUBMITTERS, EACH = 12, 6, 8


def worker(name: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, connection.settings_dict["NAME"], name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings.test"},
        text=True,
    )


def look(process: subprocess.Popen) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "looked\n"


def booked() -> int:
    return Slice.objects.aggregate(total=Sum("compute_milli"))["total"] or 0


@pytest.fixture
def user():
    make.make_queues(capped=True)
    for _ in range(CARDS):
        make.make_device(make.make_node(cores=4))
    return make.make_user(team=make.make_team())


def test_many_submits_at_once_and_two_workers_fill_exactly_the_cap(user, at_once):
    """50 % of twelve cards are six, while people submit and two processes schedule."""
    workers = [worker("one"), worker("two")]
    try:
        for process in workers:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"

        def submits() -> None:
            for _ in range(EACH):
                make.make_job(user, resources={"device_compute_milli": 400, "shareable": True, "devices": 1})

        def looks(process: subprocess.Popen) -> None:
            for _ in range(6):
                look(process)
                assert booked() <= 6000

        at_once(*[submits] * SUBMITTERS, *[lambda p=p: looks(p) for p in workers])
        deadline = time.monotonic() + 30
        while booked() < 6000 and time.monotonic() < deadline:
            look(workers[0])
    finally:
        for process in workers:
            process.stdin.close()
            process.wait(timeout=20)
            process.stdout.close()
    assert booked() == 6000 == 15 * 400
    assert Job.objects.filter(status=JobStatus.STARTING).count() == 15
    assert Job.objects.filter(status=JobStatus.PENDING).count() == SUBMITTERS * EACH - 15


def test_a_quota_that_falls_while_cycles_run_is_never_passed_again(user, at_once):
    """Once the edit is committed nothing starts by the old quota, however the transactions lie."""
    for _ in range(CARDS):
        make.make_job(user, resources={"devices": 1})
    seen: list[int] = []

    def lower() -> None:
        Queue.objects.filter(name="training").update(quota_ppm=250_000)
        note_changed_caps()
        seen.append(Slice.objects.count())

    at_once(make.run_cycle, lower, make.run_cycle)
    for _ in range(3):
        make.run_cycle()
    assert Slice.objects.count() == max(3, seen[0])
