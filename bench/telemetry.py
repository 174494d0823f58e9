"""B6: reports of 8 devices each through the agents' HTTP API, until they are visible; all servers real, one machine."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from bench import fleet
from bench.agents import Agent, Orders
from bench.data import at_least
from bench.instance import CLONE, wait_until
from bench.servers import START_S, Servers, servers, start_web, start_workers
from bench.statistics import summary

TARGET = {"rate": 1000, "p99_ms": 250, "visible_s": 5}
DEVICES = 8
WATCHED_NODES = 200
WATCH_EVERY_S = 0.1
# Nodes that report before the others do.
FIRST = 200
SETTLE_S = 15.0
# How far a confirmed phase must have come in the database.
RANK = {"assigned": 0, "preparing": 1, "running": 2, "stopping": 4, "released": 5}
WANTED = {"preparing": 1, "running": 2, "ended": 5}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument(
        "--seconds", type=at_least(1), default=30, help="length of the measurement (default 30)"
    )
    parser.add_argument("--warm-up", type=at_least(0), default=12, help="seconds before it (default 12)")
    parser.add_argument("--rate", type=at_least(1), default=1000, help="reports per second (default 1000)")
    parser.add_argument("--nodes", type=at_least(1), help="how many nodes (default: ten times the rate)")
    parser.add_argument(
        "--starts", type=at_least(0), default=3, help="tasks that start per second (default 3)"
    )
    parser.add_argument("--web-workers", type=at_least(1), default=2, help="processes of granian (default 2)")
    parser.add_argument("--threads", type=at_least(1), default=4, help="threads of each (default 4)")
    parser.add_argument(
        "--connections", type=at_least(1), default=64, help="kept-alive connections (default 64)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Latency counts from when a report was due, age at visibility from the server's receipt to the latest row."""
    with servers() as found:
        fleet.connect(found.env)
        everybody = fleet.make_nodes((options.nodes or options.rate * 10) + FIRST, sizes=(DEVICES,))
        nodes, first = everybody[:-FIRST], everybody[-FIRST:]
        jobs = min(len(nodes), options.starts * (options.warm_up + options.seconds))
        placements = _make_tasks(nodes[:: max(1, len(nodes) // max(1, jobs))][:jobs])
        orders = Orders(
            host=found.address.host, port=found.address.port, rate=options.rate, seconds=options.seconds,
            warm_up_s=options.warm_up, connections=options.connections, devices=DEVICES, nodes=nodes,
            placements=[(node, placement, number + 1) for number, (node, placement) in enumerate(placements.items())],
        )  # fmt: skip
        start_web(found, workers=options.web_workers, threads=options.threads)
        start_workers(found)
        _wake_up(found, orders, first)
        _settle(nodes)
        sys.stderr.write(f"{len(nodes)} nodes; {options.rate} reports/s for {options.seconds} s\n")
        with _watched(found, nodes) as ages_s:
            load0, cpu0 = os.getloadavg()[0], found.cpu_s()
            loaded = _send(orders)
            cpu_s = {name: round(value - cpu0[name], 1) for name, value in found.cpu_s().items()}
            memory_mib = found.memory_mib()
            time.sleep(SETTLE_S if options.seconds > 5 else 4.0)
        return _figures(options, loaded, ages_s, {
            "cpu_s": {**cpu_s, "load_generator": round(loaded["cpu_s"], 1)},
            "memory_mib": memory_mib,
            "load_average": {"before": round(load0, 2), "after": round(os.getloadavg()[0], 2)},
            "task_states": _tasks(found, loaded["confirmed"]),
            "history": _history(found),
        })  # fmt: skip


def _make_tasks(nodes: list[int]) -> dict[int, int]:
    if not nodes:
        return {}
    first = fleet.make_jobs(len(nodes), columns={}, status="starting")
    return fleet.make_placements(nodes, first_job=first)


def _wake_up(found: Servers, orders: Orders, nodes: list[int]) -> None:
    """Some reports of other nodes, until they are stored: every process has then loaded what it needs."""
    few = msgspec.structs.replace(orders, rate=FIRST // 4, seconds=4, warm_up_s=0, nodes=nodes, placements=[])
    _send(few)
    with psycopg.connect(found.database_url, autocommit=True) as connection:
        stored = "SELECT count(*) FROM inventory_nodereading"
        wait_until(
            lambda: connection.execute(stored).fetchone() != (0,), within_s=START_S, what="the first flush"
        )


def _settle(nodes: list[int]) -> None:
    """As after some reports of each node, which taking in 10,000 first ones here would take minutes for."""
    quiet = importlib.import_module("controlplane.agentapi.quiet")
    digests = [quiet.report_digest_of(Agent(node, DEVICES).report()) for node in nodes]
    fleet.heard_just_now()
    fleet.remember(nodes, digests, state_digest=quiet.state_digest_sql("new.node_id"), live=quiet.LIVE_PHASES)


def _send(orders: Orders) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_bytes(msgspec.json.encode(orders))
        command = [sys.executable, "-m", "bench.agents", file.name]
        done = subprocess.run(command, cwd=CLONE, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def _watched(found: Servers, nodes: list[int]) -> Iterator[list[float]]:
    """Ages in seconds at which new readings of some nodes became visible, looked at every WATCH_EVERY_S."""
    ages_s: list[float] = []
    stop = threading.Event()
    step = max(1, len(nodes) // WATCHED_NODES)
    thread = threading.Thread(target=_watch, args=(found.database_url, nodes[::step], ages_s, stop))
    thread.start()
    try:
        yield ages_s
    finally:
        stop.set()
        thread.join()


def _watch(url: str, nodes: list[int], ages_s: list[float], stop: threading.Event) -> None:
    sql = """SELECT node_id, at, extract(epoch FROM clock_timestamp() - at) FROM inventory_nodereading
        WHERE node_id = ANY(%s)"""
    seen: dict[int, Any] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        while not stop.wait(WATCH_EVERY_S):
            for node, at, age_s in connection.execute(sql, [nodes]):
                if seen.get(node) != at:
                    seen[node] = at
                    ages_s.append(float(age_s))


def _tasks(found: Servers, confirmed: dict[str, str]) -> dict[str, Any]:
    """Every phase that the server confirmed must stand in the database."""
    with psycopg.connect(found.database_url) as connection:
        phases = {
            str(row[0]): row[1] for row in connection.execute("SELECT id, phase FROM scheduling_placement")
        }
    lost = [one for one, phase in confirmed.items() if RANK[phases[one]] < WANTED[phase]]
    return {
        "confirmed": len(confirmed),
        "ended": sum(phase == "ended" for phase in confirmed.values()),
        "lost": len(lost),
    }


def _history(found: Servers) -> dict[str, int]:
    sql = """SELECT (SELECT count(*) FROM inventory_devicehistory_raw),
        (SELECT count(*) FROM inventory_devicehistory_minute)"""
    with psycopg.connect(found.database_url) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return {"raw_device_readings": row[0], "device_minutes": row[1]}


def _figures(
    options: argparse.Namespace, loaded: dict[str, Any], ages_s: list[float], more: dict[str, Any]
) -> dict[str, Any]:
    answered = loaded["answers"].get("200", 0)
    return {
        "target": TARGET,
        "options": {
            name: getattr(options, name)
            for name in ("seconds", "rate", "starts", "web_workers", "threads", "connections")
        },
        "rate_reached": round(answered / loaded["took_s"], 1),
        "answers": loaded["answers"],
        "reply_ms": summary(loaded["latencies_ms"]),
        "visible_s": summary(ages_s),
        **more,
    }
