"""B7: the resource map at openb's size and the list of a million jobs, through the API of real servers."""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from django.db import connection

from bench import fleet
from bench.data import at_least
from bench.servers import Servers, servers, start_web
from bench.statistics import summary
from client import Client

TARGET = {"map_p95_ms": 150, "map_gzip_kb": 400, "jobs_p95_ms": 100}
# 1,523 nodes with 6,212 devices, as many as openb has.
SIZES = (0,) * 310 + (8,) * 600 + (4,) * 186 + (2,) * 241 + (1,) * 186
PLACED = 1000
WARM_UP = 5
# As a flush of the stream does each second where every node reports each ten seconds.
CHANGE_READINGS = """
UPDATE inventory_devicereading AS reading SET at = now(), utilization_pct = (reading.utilization_pct + 1) % 101
FROM inventory_device AS device
WHERE device.id = reading.device_id AND device.node_id % 10 = extract(second FROM now())::int % 10
"""
LISTS: Mapping[str, dict[str, str]] = {
    "newest": {},
    "pending": {"status": "pending"},
    "failed": {"status": "failed"},
    "queue": {"queue": "training"},
    "owner": {"owner": "admin"},
    "search": {"search": "bench-77777"},
    "search_nothing": {"search": "there-is-no-such-job"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument(
        "--jobs", type=at_least(1000), default=1_000_000, help="how many jobs (default 1000000)"
    )
    parser.add_argument("--requests", type=at_least(1), default=40, help="requests of each kind (default 40)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds at the client of one request after the other; sizes as a proxy sends them, by gzip 6.

    `reply` follows new readings of every tenth node each time, as a console's reads do; `same_reply` is of a map that
    the server made before, `unchanged_reply` its answer to who has it already.
    """
    with servers() as found:
        fleet.connect(found.env)
        nodes = fleet.make_nodes(len(SIZES), sizes=SIZES)
        fleet.make_readings()
        sys.stderr.write(f"{options.jobs} jobs\n")
        first = fleet.make_many_jobs(options.jobs)
        fleet.make_placements(nodes[-PLACED:], first_job=first, devices=True)
        fleet.analyze()
        start_web(found, workers=2, threads=4)
        load = os.getloadavg()[0]
        with _signed_in(found) as http:
            shown, document = _map(http, options.requests)
            lists = {name: _jobs(http, query, options.requests) for name, query in LISTS.items()}
            lists["tenth_page"] = _jobs(http, _tenth_page(http), options.requests)
        return {
            "target": TARGET,
            "nodes": len(document["nodes"]),
            "devices": sum(len(node[-1]) for node in document["nodes"]),
            "jobs": options.jobs,
            "load_average": {"before": round(load, 2), "after": round(os.getloadavg()[0], 2)},
            "map": shown,
            "job_lists": lists,
        }


def _signed_in(found: Servers) -> httpx.Client:
    client = Client(url=found.url, token="none")
    password = found.state.admin_password.read_text().strip()
    token = client.sign_in(username="admin", password=password, token_name="bench")
    client.close()
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"{found.url}/api/v1", headers=headers, timeout=60.0, trust_env=False)


def _map(http: httpx.Client, requests: int) -> tuple[dict[str, Any], dict[str, Any]]:
    times_ms = _times(http, "/map", {}, requests, before=_change_readings)
    answer = _get(http, "/map", {})[1]
    tag = {"If-None-Match": answer.headers["ETag"]}
    again_ms, unchanged_ms = (_times(http, "/map", {}, requests, headers=headers) for headers in ({}, tag))
    shown = {
        "reply_ms": summary(times_ms),
        "same_reply_ms": summary(again_ms),
        "unchanged_reply_ms": summary(unchanged_ms),
        "json_kb": round(len(answer.content) / 1000, 1),
        "gzip_kb": round(len(gzip.compress(answer.content, 6)) / 1000, 1),
        "queries": _queries("/api/v1/map", {}),
    }
    return shown, answer.json()


def _change_readings() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CHANGE_READINGS)


def _jobs(http: httpx.Client, query: dict[str, str], requests: int) -> dict[str, Any]:
    found = _get(http, "/jobs", query)[1].json()
    return {
        "rows": len(found["results"]),
        "reply_ms": summary(_times(http, "/jobs", query, requests)),
        "queries": _queries("/api/v1/jobs", query),
    }


def _tenth_page(http: httpx.Client) -> dict[str, str]:
    query: dict[str, str] = {}
    for _page in range(9):
        following = _get(http, "/jobs", query)[1].json()["next"]
        query = dict(httpx.URL(following).params)
    return query


def _times(
    http: httpx.Client,
    path: str,
    query: dict[str, str],
    requests: int,
    *,
    headers: dict[str, str] | None = None,
    before: Callable[[], None] = lambda: None,
) -> list[float]:
    times_ms = []
    for _ in range(WARM_UP + requests):
        before()
        times_ms.append(_get(http, path, query, headers=headers)[0])
    return times_ms[WARM_UP:]


def _get(
    http: httpx.Client, path: str, query: dict[str, str], *, headers: dict[str, str] | None = None
) -> tuple[float, httpx.Response]:
    started_s = time.perf_counter()
    answer = http.get(path, params=query, headers=headers)
    took_ms = (time.perf_counter() - started_s) * 1000
    if answer.status_code not in (200, 304):
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:500]}")
    return took_ms, answer


def _queries(path: str, query: dict[str, str]) -> int:
    """Statements that one request takes, session and user included."""
    return fleet.count_queries(path, query)
