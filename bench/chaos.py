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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.instance import Instance, own_instance, wait_until
from bench.statistics import summary
from client import Client
from client.follow import FINAL

# What a kind is called, and the child of the launcher that it is.
CHILDREN = {
    "worker": "worker-cycle",
    "web": "web",
    "agent": "agent",
    "postgres": "postgres",
    "valkey": "valkey",
    "upkeep": "worker-upkeep",
    "beat": "beat",
}
KINDS = ("worker", "web", "agent", "postgres")
RECOVERY_LIMIT_S = 180.0
FINISH_LIMIT_S = 900.0
PATIENCE_S = 180.0


@dataclass(frozen=True)
class Storm:
    """How many jobs, and how often each kind is killed meanwhile."""

    jobs: int
    kills: int
    kinds: tuple[str, ...] = KINDS
    seed: int = 1
    job_s: float = 1.0


@dataclass
class Damage:
    """What a storm left behind; every count but `jobs`, `ended` and `succeeded` should be nought."""

    jobs: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    starts: Counter[int] = field(default_factory=Counter)
    placements: list[dict[str, Any]] = field(default_factory=list)
    recoveries_s: dict[str, list[float]] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "ended": len({row["id"] for row in self.rows}),
            "succeeded": sum(row["status"] == "succeeded" for row in self.rows),
            "not_succeeded": [self._short(row) for row in self.rows if row["status"] != "succeeded"],
            "never_started": sum(self.starts[row["id"]] == 0 for row in self.rows),
            "started_twice": sorted(job for job, count in self.starts.items() if count > 1),
            "attempts_above_one": sum(row["attempt"] > 1 for row in self.rows),
            "double_bookings": overlaps(self.placements),
            "recovery_s": {kind: summary(times) for kind, times in self.recoveries_s.items()},
        }

    def harmless(self) -> bool:
        """Whether every job ended well and ran exactly once, and nothing was booked twice."""
        once = set(self.starts.values()) == {1} and len(self.starts) == self.jobs
        well = sum(row["status"] == "succeeded" for row in self.rows) == self.jobs
        return once and well and overlaps(self.placements) == 0

    def _short(self, row: dict[str, Any]) -> dict[str, Any]:
        names = ("id", "status", "attempt", "exit_class", "exit_message")
        return {name: row[name] for name in names} | {"starts": self.starts[row["id"]]}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--jobs", type=int, default=200, help="how many jobs (default 200)")
    parser.add_argument("--kills", type=int, default=5, help="kills per process kind (default 5)")
    parser.add_argument("--job-seconds", type=float, default=1.0, help="how long each job runs (default 1)")
    parser.add_argument(
        "--kinds", nargs="+", choices=list(CHILDREN), default=list(KINDS), help="process kinds to kill"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the instants of the kills")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Counts of lost, repeated and failed jobs and double bookings (all must be 0); recovery times in seconds."""
    storm = Storm(options.jobs, options.kills, tuple(options.kinds), options.seed, options.job_seconds)
    with own_instance() as instance:
        started_s = time.monotonic()
        damage = weather(instance, storm)
        return {
            "jobs": storm.jobs,
            "kills_per_kind": storm.kills,
            "seed": storm.seed,
            "harmless": damage.harmless(),
            "took_s": round(time.monotonic() - started_s, 1),
            **damage.figures(),
        }


def weather(instance: Instance, storm: Storm) -> Damage:
    """Let the storm rage over a running instance and take stock once all is calm again."""
    damage = Damage(storm.jobs)
    with (
        Client(url=instance.url, token=instance.client.token, patience_s=PATIENCE_S) as client,
        _ledger() as ledger,
        ThreadPoolExecutor(max_workers=1 + len(storm.kinds)) as threads,
    ):
        feeding = threads.submit(_submit_all, client, storm, ledger)
        stop = threading.Event()
        killing = {kind: threads.submit(_kill, instance, storm, kind, stop) for kind in storm.kinds}
        try:
            damage.recoveries_s = {kind: future.result() for kind, future in killing.items()}
            jobs = feeding.result()
        finally:
            stop.set()
        damage.rows = _finished(client, jobs)
        damage.starts = Counter(int(line) for line in ledger.read_text().split())
        damage.placements = [row for job in jobs for row in client.placements(job)]
    return damage


@contextmanager
def _ledger() -> Iterator[Path]:
    """A file into which every job, under whatever account, writes that it started."""
    with tempfile.TemporaryDirectory(prefix="headrace-chaos-") as folder:
        Path(folder).chmod(0o755)
        ledger = Path(folder) / "started"
        ledger.touch()
        ledger.chmod(0o666)
        yield ledger


def _submit_all(client: Client, storm: Storm, ledger: Path) -> list[int]:
    script = f"echo $HEADRACE_JOB >> {ledger}; sleep {storm.job_s}"
    spec = {"queue": "training", "command": ["/bin/sh", "-c", script]}
    return [client.submit({**spec, "name": f"chaos-{number}"})["id"] for number in range(storm.jobs)]


def _kill(instance: Instance, storm: Storm, kind: str, stop: threading.Event) -> list[float]:
    """Kill one kind again and again, each time once it is back; the seconds that each return took."""
    dice = random.Random(f"{storm.seed} {kind}")
    took_s: list[float] = []
    while len(took_s) < storm.kills and not stop.wait(dice.uniform(0.2, 2.0)):
        pid = instance.pid_of(CHILDREN[kind])
        if pid is None:
            continue
        os.kill(pid, signal.SIGKILL)
        back_s = wait_until(
            lambda pid=pid: _back(instance, kind, pid),  # type: ignore[misc]
            within_s=RECOVERY_LIMIT_S,
            what=f"{kind} to come back",
        )
        took_s.append(round(back_s, 3))
        sys.stderr.write(f"{kind} was killed and is back after {back_s:.1f} s\n")
    return took_s


def _back(instance: Instance, kind: str, before: int) -> bool:
    """Whether another process took the place of the killed one and, of those that can be asked, answers."""
    if instance.pid_of(CHILDREN[kind]) in (None, before):
        return False
    if kind == "web":
        return instance.web_answers()
    return kind != "postgres" or instance.postgres_answers()


def _finished(client: Client, jobs: list[int]) -> list[dict[str, Any]]:
    """The jobs once all ended, or as they are when that takes too long."""
    deadline = time.monotonic() + FINISH_LIMIT_S
    while True:
        rows = [row for row in client.jobs(limit=2 * len(jobs)) if row["id"] in set(jobs)]
        ended = sum(row["status"] in FINAL for row in rows)
        if ended == len(jobs) or time.monotonic() > deadline:
            return rows
        time.sleep(0.5)


def overlaps(placements: list[dict[str, Any]]) -> int:
    """Pairs of placements that held one core of one node at the same time, by the server's clock."""
    held: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for placement in placements:
        for cpu in placement["cpus"]:
            # Still held is held for ever.
            held[placement["node"]["id"], cpu].append(
                (placement["assigned_at"], placement["ended_at"] or "9")
            )
    return sum(
        earlier[1] > later[0]
        for spans in held.values()
        for earlier, later in zip(sorted(spans), sorted(spans)[1:], strict=False)
    )
