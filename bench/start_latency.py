"""B5: from POST /jobs/submit to the first instruction on the idle local node, one job after the other."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from bench.instance import own_instance
from bench.statistics import summary
from client import Client
from client.follow import FINAL

TARGET_P95_MS = 1500
JOB_LIMIT_S = 60


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--jobs", type=int, default=50, help="how many jobs (default 50)")
    parser.add_argument(
        "--url", help="measure a running instance with the stored token instead of an own one"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds since the POST until accepted (answer), placed (decision), started (first instruction).

    The first job after a start may still wait for the workers to load; it is told apart.
    """
    parts: dict[str, list[float]] = {"accepted_ms": [], "placed_ms": [], "started_ms": []}
    with nullcontext(Client(url=options.url)) if options.url else own_instance() as target:
        client = target if isinstance(target, Client) else target.client
        first = _one(client)
        for number in range(options.jobs):
            for name, value in _one(client).items():
                parts[name].append(value)
            sys.stderr.write(f"\r{number + 1}/{options.jobs} jobs")
    sys.stderr.write("\n")
    figures = {name: summary(values) for name, values in parts.items()}
    return {"jobs": options.jobs, "target_p95_ms": TARGET_P95_MS, **figures, "first_job_ms": first}


def _one(client: Client) -> dict[str, float]:
    sent_ns = time.time_ns()
    spec = {"queue": "training", "command": ["/bin/date", "+%s%N"], "resources": {"cores": 1}}
    job = client.submit(spec)
    accepted_ns = time.time_ns()
    deadline = time.monotonic() + JOB_LIMIT_S
    while (row := client.job(job["id"]))["status"] not in FINAL:
        if time.monotonic() > deadline:
            raise TimeoutError(f"job {job['id']} did not end within {JOB_LIMIT_S} s")
        time.sleep(0.02)
    if row["status"] != "succeeded":
        raise RuntimeError(f"job {job['id']} {row['status']}: {row['exit_message']}")
    started_ns = int(client.log(job["id"], attempt=row["attempt"]).data)
    placement = client.placements(job["id"])[-1]
    placed_ms = datetime.fromisoformat(placement["assigned_at"]).timestamp() * 1000 - sent_ns / 1e6
    return {
        "accepted_ms": (accepted_ns - sent_ns) / 1e6,
        "placed_ms": placed_ms,
        "started_ms": (started_ns - sent_ns) / 1e6,
    }
