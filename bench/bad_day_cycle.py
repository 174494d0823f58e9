"""B4 through the real cycle: the same queue in PostgreSQL, read, planned and applied by `run_cycles`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Any

from django.apps import apps

from bench import fleet
from bench.data import show_progress
from bench.servers import servers

_SEED = 42
_CPUS = 32
_CHUNK = 5000


def measure(*, nodes: int, jobs: int, runnable: int, shapes: int) -> dict[str, Any]:
    """Two cycles of a worker that knows nothing yet: an empty cluster, and jobs that no node is made for."""
    with servers(web_workers=1, threads=1, with_workers=False) as found:
        fleet.connect(found.env)
        fleet.make_nodes(nodes, sizes=(8,))
        _give_cores()
        _make_jobs(jobs, runnable=runnable, shapes=shapes)
        fleet.analyze()
        return _cycles()


def _cycles() -> dict[str, Any]:
    # Only now do settings and models have a database.
    from scheduling.cycle import Worker, run_cycles
    from scheduling.models import Cycle, Placement

    worker = Worker()
    found: dict[str, Any] = {}
    for name in ("first_cycle", "second_cycle"):
        started_ms, started_s, cpu_s = time.time_ns() // 1_000_000, time.perf_counter(), time.process_time()
        before = Placement.objects.count()
        runs = run_cycles("bench", worker=worker)
        last = Placement.objects.order_by("-fence").values_list("fence", flat=True).first()
        placed = Placement.objects.count() - before
        cycle = Cycle.objects.order_by("-id").first()
        found[name] = {
            # A cycle that outlives its lease is given up.
            "lease_kept": runs > 0,
            "placed": placed,
            "last_runnable_placed_s": round((last - started_ms) / 1000, 3) if placed and last else None,
            "wall_s": round(time.perf_counter() - started_s, 3),
            "cpu_s": round(time.process_time() - cpu_s, 3),
            "considered": None if cycle is None else cycle.considered,
            "refused_shapes": None if cycle is None else cycle.refused,
        }
    return found


def _give_cores() -> None:
    cpus = [
        {"id": n, "core": n, "socket": 0, "numa": 0, "max_mhz": None, "online": True} for n in range(_CPUS)
    ]
    apps.get_model("inventory.Node").objects.update(facts={**fleet.FACTS, "cpus": cpus})


def _make_jobs(count: int, *, runnable: int, shapes: int) -> None:
    from queues.submission import Submission, accept, unsaved_job

    admin = apps.get_model("accounts.User").objects.get(username="admin")
    dice = Random(_SEED)

    def template(queue: str, resources: dict[str, Any], **more: Any) -> Any:
        body = {"name": "bench", "queue": queue, "command": ["/bin/true"], "resources": resources, **more}
        return unsaved_job(accept(Submission(admin, body)), admin)

    start = template("offline", {"devices": 1, "cores": 1})
    never = [template("training", resources, **more) for resources, more in _impossible(shapes)]
    places = set(dice.sample(range(count), min(runnable, count)))
    model = apps.get_model("queues.Job")
    fields = [field.attname for field in model._meta.concrete_fields if field.attname != "id"]
    for first in range(0, count, _CHUNK):
        rows = []
        for number in range(first, min(count, first + _CHUNK)):
            like = start if number in places else dice.choice(never)
            rows.append(model(**{name: getattr(like, name) for name in fields}))
        model.objects.bulk_create(rows)
        show_progress(min(count, first + _CHUNK), count, "jobs")


def _impossible(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for number in range(count):
        memory_mib = 1024 + number
        yield (
            ({"devices": 1, "device_models": ["B200"], "memory": memory_mib}, {}),
            ({"devices": 1, "device_memory": 90_000 + number}, {}),
            ({"devices": 16, "memory": memory_mib}, {}),
            ({"cores": 64 + number}, {}),
            ({"devices": 1, "memory": memory_mib}, {"node_labels": {"shift": "night"}}),
        )[number % 5]
