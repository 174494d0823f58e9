"""Many nodes, devices, jobs and placements at once: one row of each by the models, multiplied by SQL in seconds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import django
from django.apps import apps
from django.db import connection
from django.test import Client

from queues.spec import JobSpec, Resources, encode_spec

MODELS = ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-32GB", "Tesla T4")
FACTS = {
    "arch": "x86_64", "os": "Debian 12", "kernel": "6.1", "cpus": [], "numa": [], "reserved_cpus": [], "images": [],
    "datasets": [],
}  # fmt: skip
DIGEST = "bench-facts"
# A row like the template's with other values: columns that a later release adds come along by themselves.
MULTIPLY = """
INSERT INTO {table} SELECT made.* FROM {table} AS one CROSS JOIN {rows} CROSS JOIN LATERAL
jsonb_populate_record(one, jsonb_build_object({columns})) AS made WHERE one.{key} = %(template)s
"""
READINGS = """
INSERT INTO inventory_nodereading (node_id, at, cpu_used_milli, memory_used_mib, load1_milli, power_mw)
SELECT id, now(), id * 7919 % 128000, id * 104729 % 1048576, id * 31 % 90000, 900000 + id * 37 % 1000000
FROM inventory_node;
INSERT INTO inventory_devicereading (device_id, at, memory_used_mib, utilization_pct, temperature_c, power_mw)
SELECT id, now(), id * 7919 % 81920, id * 37 % 101, 30 + id * 13 % 55, 60000 + id * 104729 % 340000
FROM inventory_device
"""
# What the server keeps of a report that changed nothing, for many nodes as they stand now.
REMEMBER = """
UPDATE inventory_nodecontact AS contact SET report_digest = new.digest, state_digest = now.state_digest
FROM unnest(%(nodes)s::bigint[], %(digests)s::text[]) AS new (node_id, digest) CROSS JOIN LATERAL {state_digest}
WHERE contact.node_id = new.node_id
"""


def connect(env: Mapping[str, str]) -> None:
    """Django on the benchmark's database, in this process."""
    os.environ.update(env, HEADRACE_LOG_LEVEL="WARNING")
    django.setup()


def secret_of(node_id: int) -> str:
    """A token like those that enrolment gives."""
    return "hrn_" + hashlib.sha256(f"bench {node_id}".encode()).hexdigest()


def make_nodes(count: int, *, sizes: tuple[int, ...]) -> list[int]:
    """So many ready nodes in eight node sets with `sizes` devices in turn, each with a token; their ids."""
    sets = [_make("inventory.NodeSet", name=f"set-{number}").pk for number in range(8)]
    now = datetime.now(UTC)
    node = _make(
        "inventory.Node", machine_id="bench-0", name="bench-0", state="ready", facts=FACTS, facts_digest=DIGEST,
        facts_at=now, cpu_model="AMD EPYC 7742 64-Core Processor", cpu_count=128, memory_mib=1 << 20,
        isolates_users=True, node_set_id=sets[0], agent_version="0.1.0",
    )  # fmt: skip
    _multiply("inventory_node", node.pk, f"generate_series(1, {count - 1}) AS n", {
        "machine_id": "'bench-' || n", "name": "'bench-' || lpad(n::text, 5, '0')",
        "node_set_id": f"({sets[0]} + n % 8)",
    })  # fmt: skip
    ids = list(apps.get_model("inventory.Node").objects.order_by("pk").values_list("pk", flat=True))
    _make("inventory.NodeContact", node_id=node.pk, boot_id=f"boot-{node.pk}", received_at=now, epoch=1)
    others = f"(SELECT id FROM inventory_node WHERE id <> {node.pk}) AS node"
    _multiply(
        "inventory_nodecontact",
        node.pk,
        others,
        {"node_id": "node.id", "boot_id": "'boot-' || node.id"},
        key="node_id",
    )
    credential = apps.get_model("inventory.NodeCredential")
    hashes = {one: hashlib.sha256(secret_of(one).encode()).hexdigest() for one in ids}
    credential.objects.bulk_create([credential(node_id=one, token_hash=text) for one, text in hashes.items()])
    _make_devices(node.pk, sizes)
    analyze()
    return ids


def _make_devices(node: int, sizes: tuple[int, ...]) -> None:
    """Identities are GPU-<node>-<index>."""
    one = _make(
        "inventory.Device", node_id=node, identity="template", index=0, vendor="nvidia", model=MODELS[0],
        memory_total_mib=81920, memory_reserved_mib=600, health="healthy", good_checks=5,
    )  # fmt: skip
    numbers = ", ".join(map(str, sizes))
    rows = (
        f"(SELECT node.id, i FROM inventory_node AS node CROSS JOIN generate_series(0, {max(sizes) - 1}) AS i "
        f"WHERE i < (ARRAY[{numbers}])[1 + node.id % {len(sizes)}]) AS unit"
    )
    names = ", ".join(f"'{name}'" for name in MODELS)
    identity = "'GPU-' || unit.id || '-' || unit.i"
    _multiply("inventory_device", one.pk, rows, {
        "node_id": "unit.id", "identity": identity, "uuid": identity, "index": "unit.i",
        "model": f"(ARRAY[{names}])[1 + unit.id % {len(MODELS)}]",
    })  # fmt: skip
    one.delete()


def make_readings() -> None:
    """A latest reading of every host and device."""
    with connection.cursor() as cursor:
        cursor.execute(READINGS)


def heard_just_now() -> None:
    """As if all nodes had reported a moment ago, and all had been well before."""
    now = datetime.now(UTC)
    apps.get_model("inventory.Device").objects.update(
        health="healthy", health_since=None, failed_checks=0, unknown_checks=0, good_checks=5
    )
    apps.get_model("inventory.Node").objects.update(state="ready", state_reason="", state_before_silence=None)
    apps.get_model("inventory.NodeContact").objects.update(received_at=now, checks_at=now)


def remember(nodes: Sequence[int], digests: Sequence[str], *, state_digest: str, live: Iterable[str]) -> None:
    """As if each node had sent the reports of these digests, without effect; `state_digest` is SQL for new.node_id."""
    sql = REMEMBER.format(state_digest=state_digest)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"nodes": list(nodes), "digests": list(digests), "live": list(live)})


def make_jobs(count: int, *, columns: Mapping[str, str], **values: Any) -> int:
    """So many jobs of the first admin; `columns` is SQL over n = 1, 2, ...; the id of the first."""
    admin = apps.get_model("accounts.User").objects.first()
    team, queue = (
        apps.get_model(name).objects.order_by("pk").first() for name in ("accounts.Team", "queues.Queue")
    )
    spec = JobSpec(name="bench", queue=queue.name, command=["/bin/true"], resources=Resources())
    given = {"name": "bench", "spec": encode_spec(spec), "shape": "0" * 64, **values}
    one = _make("queues.Job", owner=admin, team=team, queue=queue, **given)
    named = {"name": "'bench-' || n", **columns}
    _multiply("queues_job", one.pk, f"generate_series(1, {count - 1}) AS n", named)
    return int(one.pk)


def make_many_jobs(count: int, *, running: int = 1000) -> int:
    """A year's jobs, nearly all over: the first `running` run, every 200th waits; the id of the first."""
    queues = ", ".join(str(pk) for pk in apps.get_model("queues.Queue").objects.values_list("pk", flat=True))
    over = f"n >= {running} AND n % 200 <> 0"
    return make_jobs(count, status="running", columns={
        "status": f"CASE WHEN n < {running} THEN 'running' WHEN {over} "
        "THEN (ARRAY['succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled'])[1 + n % 5] ELSE 'pending' END",
        "finished_at": f"CASE WHEN {over} THEN now() - ({count} - n) * interval '30 s' END",
        "started_at": f"CASE WHEN {over} THEN now() - ({count} - n) * interval '30 s' - interval '1 h' END",
        "submitted_at": f"now() - ({count} - n) * interval '30 s' - interval '2 h'",
        "queue_id": f"(ARRAY[{queues}])[1 + n % cardinality(ARRAY[{queues}])]",
        "pending_ms": "n % 100000",
    })  # fmt: skip


def make_placements(nodes: list[int], *, first_job: int, devices: bool = False) -> dict[int, int]:
    """One assigned placement per node, of one job each, with half of the node's first device if asked; ids by node."""
    placement, slice_ = apps.get_model("scheduling.Placement"), apps.get_model("scheduling.Slice")
    rows = placement.objects.bulk_create(
        placement(job_id=first_job + number, attempt=1, node_id=node, fence=number + 1)
        for number, node in enumerate(nodes)
    )
    found = {row.node_id: row.pk for row in rows}
    if devices:
        units = apps.get_model("inventory.Device").objects.filter(node__in=nodes, index=0)
        slice_.objects.bulk_create(
            slice_(placement_id=found[unit.node_id], device=unit, memory_mib=40_000, compute_milli=500)
            for unit in units
        )
    return found


def analyze() -> None:
    """What autovacuum does in its own time."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def count_queries(path: str, query: Mapping[str, str]) -> int:
    """Statements of one request of the first admin, made in this process."""
    admin = apps.get_model("accounts.User").objects.get(username="admin")
    client = Client(HTTP_HOST="localhost")
    client.force_login(admin)
    client.get(path, query)
    counted: list[str] = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        counted.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        answer = client.get(path, query)
    assert answer.status_code == 200, answer.content
    return len(counted)


def _make(model: str, /, **columns: Any) -> Any:
    return apps.get_model(model).objects.create(**columns)


def _multiply(table: str, template: int, rows: str, columns: Mapping[str, str], *, key: str = "id") -> None:
    named = dict(columns)
    if key == "id":
        named["id"] = f"nextval(pg_get_serial_sequence('{table}', 'id'))"
    pairs = ", ".join(f"'{name}', {value}" for name, value in named.items()).replace("%", "%%")
    sql = MULTIPLY.format(table=table, rows=rows.replace("%", "%%"), columns=pairs, key=key)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"template": template})
