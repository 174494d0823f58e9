"""Many nodes, devices, jobs and placements at once: one row of each by the models, multiplied by SQL in seconds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import django
from django.apps import apps
from django.db import connection

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


def connect(env: Mapping[str, str]) -> None:
    """Django on the benchmark's database, in this process."""
    os.environ.update(env)
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
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
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


def make_jobs(count: int, *, columns: Mapping[str, str], **values: Any) -> int:
    """So many jobs of the first admin; `columns` is SQL over n = 0, 1, ...; the id of the first."""
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


def make_placements(nodes: list[int], *, first_job: int) -> dict[int, int]:
    """One assigned placement per node, of one job each; placement ids by node."""
    placement = apps.get_model("scheduling.Placement")
    rows = [
        placement(job_id=first_job + number, attempt=1, node_id=node, fence=number + 1)
        for number, node in enumerate(nodes)
    ]
    return {row.node_id: row.pk for row in placement.objects.bulk_create(rows)}


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
