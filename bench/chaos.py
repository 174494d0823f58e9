"""B13: kill -9 of process kinds while jobs run; every job must finish exactly once, nothing be booked twice."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.instance import Instance, own_instance, wait_until
from bench.statistics import summary
from client import Client
from client.follow import FINAL

KINDS = ("cycle", "web", "agent", "postgres")
EVERY_KIND = (*KINDS, "valkey", "upkeep", "beat")
RECOVERY_LIMIT_S = 60.0
FINISH_LIMIT_S = 900.0
PATIENCE_S = 120.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--jobs", type=int, default=200, help="how many jobs (default 200)")
    parser.add_argument("--kills", type=int, default=5, help="kills per process kind (default 5)")
    parser.add_argument(
        "--kinds", nargs="+", choices=EVERY_KIND, default=list(KINDS), help="process kinds to kill"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order and instants of the kills")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Counts of lost, repeated and failed jobs and double bookings (all must be 0); recovery times in seconds."""
    with tempfile.TemporaryDirectory(prefix="headrace-chaos-") as folder, own_instance() as instance:
        Path(folder).chmod(0o755)
        ledger = Path(folder) / "started"
        ledger.touch()
        ledger.chmod(0o666)
        client = Client(url=instance.url, token=instance.client.token, patience_s=PATIENCE_S)
        jobs: list[int] = []
        feeder = threading.Thread(target=_submit_all, args=(client, options.jobs, ledger, jobs), daemon=True)
        feeder.start()
        recoveries = _kill_all(instance, options)
        feeder.join(FINISH_LIMIT_S)
        rows = _finished(client, jobs)
        return {
            "jobs": options.jobs,
            "kills_per_kind": options.kills,
            "seed": options.seed,
            **_verdict(client, rows, ledger, expected=options.jobs),
            "recovery_s": {kind: summary(times) for kind, times in recoveries.items()},
        }


def _submit_all(client: Client, count: int, ledger: Path, jobs: list[int]) -> None:
    script = f"echo $HEADRACE_JOB >> {ledger}; sleep 0.3"
    for number in range(count):
        spec = {"name": f"chaos-{number}", "queue": "training", "command": ["/bin/sh", "-c", script]}
        jobs.append(client.submit(spec)["id"])


def _kill_all(instance: Instance, options: argparse.Namespace) -> dict[str, list[float]]:
    dice = random.Random(options.seed)
    order = [kind for kind in options.kinds for _ in range(options.kills)]
    dice.shuffle(order)
    recoveries: dict[str, list[float]] = defaultdict(list)
    for number, kind in enumerate(order):
        time.sleep(dice.uniform(0.2, 2.0))
        pid = instance.pid_of(kind)
        if pid is None:
            continue
        os.kill(pid, signal.SIGKILL)
        took_s = wait_until(
            lambda kind=kind, pid=pid: instance.pid_of(kind) not in (None, pid) and instance.ready(),
            within_s=RECOVERY_LIMIT_S,
            what=f"{kind} to come back",
        )
        recoveries[kind].append(round(took_s, 3))
        sys.stderr.write(f"\r{number + 1}/{len(order)} kills ({kind} back after {took_s:.1f} s)   ")
    sys.stderr.write("\n")
    return recoveries


def _finished(client: Client, jobs: list[int]) -> list[dict[str, Any]]:
    deadline = time.monotonic() + FINISH_LIMIT_S
    rows: dict[int, dict[str, Any]] = {}
    while len(rows) < len(jobs) and time.monotonic() < deadline:
        for job in jobs:
            if job not in rows and (row := client.job(job))["status"] in FINAL:
                rows[job] = row
        sys.stderr.write(f"\r{len(rows)}/{len(jobs)} jobs ended")
        time.sleep(0.5)
    sys.stderr.write("\n")
    return list(rows.values())


def _verdict(client: Client, rows: list[dict[str, Any]], ledger: Path, *, expected: int) -> dict[str, Any]:
    starts = Counter(int(line) for line in ledger.read_text().split())
    placements = [placement for row in rows for placement in client.placements(row["id"])]
    return {
        "submitted_once": len({row["id"] for row in rows}) == expected,
        "ended": len(rows),
        "succeeded": sum(row["status"] == "succeeded" for row in rows),
        "not_succeeded": [
            {
                "job": row["id"],
                "status": row["status"],
                "class": row["exit_class"],
                "message": row["exit_message"],
            }
            for row in rows
            if row["status"] != "succeeded"
        ],
        "never_started": sum(starts[row["id"]] == 0 for row in rows),
        "started_twice": sorted(job for job, count in starts.items() if count > 1),
        "attempts_above_one": sum(row["attempt"] > 1 for row in rows),
        "double_bookings": _overlaps(placements),
    }


def _overlaps(placements: list[dict[str, Any]]) -> int:
    """Pairs of placements that held one core of one node at the same time, by the server's clock."""
    held: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for placement in placements:
        for cpu in placement["cpus"]:
            held[placement["node"]["id"], cpu].append((placement["assigned_at"], placement["ended_at"]))
    return sum(
        earlier[1] > later[0]
        for spans in held.values()
        for earlier, later in zip(sorted(spans), sorted(spans)[1:], strict=False)
    )
