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
FINISH_LIMIT_S = 1200.0
PATIENCE_S = 180.0
# So many jobs wait or run at any time, and within so many seconds all kinds are killed once.
WINDOW = 20
ROUND_S = 2.0


@dataclass(frozen=True)
class Storm:
    """How many jobs, and in how many rounds each kind is killed meanwhile."""

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
        ThreadPoolExecutor(max_workers=1) as thread,
    ):
        crowd = Crowd(client, storm, ledger)
        feeding = thread.submit(crowd.feed)
        try:
            damage.recoveries_s = _rage(instance, storm, crowd)
        finally:
            crowd.calm.set()
        damage.rows = feeding.result()
        damage.starts = Counter(int(line) for line in ledger.read_text().split())
        damage.placements = [row for job in damage.rows for row in client.placements(job["id"])]
    return damage


@dataclass
class Crowd:
    """The jobs of a storm: submitted in small lots, so that people come and go all the time."""

    client: Client
    storm: Storm
    ledger: Path
    ended: int = 0
    calm: threading.Event = field(default_factory=threading.Event)

    def feed(self) -> list[dict[str, Any]]:
        """Submit and watch until all ended; the jobs as they are then, or when that takes too long."""
        name = f"chaos-{os.getpid()}-{time.monotonic_ns()}"
        script = f"echo $HEADRACE_JOB >> {self.ledger}; sleep {self.storm.job_s}"
        spec = {"name": name, "queue": "training", "command": ["/bin/sh", "-c", script]}
        made, rows, late_s = 0, [], float("inf")
        while self.ended < self.storm.jobs and time.monotonic() < late_s:
            for _ in range(min(WINDOW - (made - self.ended), self.storm.jobs - made)):
                self.client.submit(spec)
                made += 1
            time.sleep(0.3)
            rows = self.client.jobs(limit=2 * self.storm.jobs, search=name)
            self.ended = sum(row["status"] in FINAL for row in rows)
            if self.calm.is_set():
                late_s = min(late_s, time.monotonic() + FINISH_LIMIT_S)
        return rows

    def reaches(self, share: float) -> bool:
        """Whether this share of the jobs ended."""
        return self.ended >= share * self.storm.jobs


@contextmanager
def _ledger() -> Iterator[Path]:
    """A file into which every job, under whatever account, writes that it started."""
    with tempfile.TemporaryDirectory(prefix="headrace-chaos-") as folder:
        Path(folder).chmod(0o755)
        ledger = Path(folder) / "started"
        ledger.touch()
        ledger.chmod(0o666)
        yield ledger


def _rage(instance: Instance, storm: Storm, crowd: Crowd) -> dict[str, list[float]]:
    """In every round each kind is killed once, while jobs run; the next round waits until some more have ended."""
    took_s: dict[str, list[float]] = defaultdict(list)
    with ThreadPoolExecutor(max_workers=len(storm.kinds)) as threads:
        for number in range(storm.kills):
            share = (number + 0.5) / (storm.kills + 1)
            wait_until(lambda share=share: crowd.reaches(share), within_s=FINISH_LIMIT_S, what="jobs to end")  # type: ignore[misc]
            dice = random.Random(f"{storm.seed} {number}")
            kills = {
                kind: threads.submit(_kill, instance, kind, dice.uniform(0, ROUND_S)) for kind in storm.kinds
            }
            for kind, kill in kills.items():
                took_s[kind].append(kill.result())
            backs = ", ".join(f"{kind} {times[-1]:.1f} s" for kind, times in took_s.items())
            sys.stderr.write(f"round {number + 1}: {crowd.ended} jobs ended; back after: {backs}\n")
    return took_s


def _kill(instance: Instance, kind: str, delay_s: float) -> float:
    """Kill one process; the seconds until another does its work."""
    time.sleep(delay_s)
    pid = instance.pid_of(CHILDREN[kind])
    assert pid is not None, f"{kind} does not run"
    os.kill(pid, signal.SIGKILL)
    back_s = wait_until(
        lambda: _back(instance, kind, pid), within_s=RECOVERY_LIMIT_S, what=f"{kind} to come back"
    )
    return round(back_s, 3)


def _back(instance: Instance, kind: str, before: int) -> bool:
    """Whether another process took the place of the killed one and, of those that can be asked, answers."""
    if instance.pid_of(CHILDREN[kind]) in (None, before):
        return False
    if kind == "web":
        return instance.web_answers()
    return kind != "postgres" or instance.postgres_answers()


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
