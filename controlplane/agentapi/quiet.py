"""Reports that say nothing new, which nearly all do: one statement notes the contact, and proves that nothing changed.

A report is quiet when it says what the last one said (`report_digest`: tasks, checks, digest of the facts) and when
all that it could have an effect on stands as it did when that one, taken in fully, had none (`state_digest`: the rows
of node, devices, placements, policy). Taking it in again would change nothing. Whatever is not proven goes the long
way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import psycopg
from django.db import connection

from agent.protocol import Report, TaskPhase, TaskState
from controlplane.policy.active import document_of
from controlplane.policy.document import PolicyDocument
from inventory import plausible
from inventory.clock_offsets import judge
from inventory.models import Device, NodeContact
from scheduling.backends.agent import Fingerprint, fingerprint_sql
from scheduling.models import LIVE_PHASES

Row = tuple[Any, ...]
# What others use of a device is found by whoever stores readings; no report's other effects depend on it.
_READINGS = {"foreign_mib"}
_DEVICE = ", ".join(
    f"device.{field.column}" for field in Device._meta.concrete_fields if field.name not in _READINGS
)
Ask = Callable[[str, Mapping[str, Any]], Row | None]


def state_digest_sql(node: str) -> str:
    """A row of what the answer is made from and `state_digest`, the digest of all that a report could have an effect
    on; `host_digest` is that of the part of it that does not know of placements; `node` is SQL for the node's id. Whole
    rows: a column that is added one day is looked at without being named here. The times and numbers of contacts are
    no part of it, nor are readings.
    """
    return f"""
(SELECT seen.*, host.*, md5(concat_ws(chr(31), seen.*, host.*)) AS state_digest
 FROM ({fingerprint_sql(node)}) AS seen (epoch, placements, slices) CROSS JOIN LATERAL
    (SELECT policy.id, cluster.uid, md5(concat_ws(chr(31),
        (SELECT concat_ws(chr(31), state, state_reason, state_before_silence, simulated, facts_digest, facts_at)
         FROM inventory_node WHERE id = {node}),
        (SELECT string_agg(ROW({_DEVICE})::text, chr(31) ORDER BY device.id) FROM inventory_device AS device
         WHERE device.node_id = {node})))
     FROM (VALUES (true)) AS always LEFT JOIN (SELECT id FROM policy_policyversion WHERE active) AS policy ON true
     LEFT JOIN (SELECT uid FROM base_cluster) AS cluster ON true) AS host (policy, cluster, host_digest)) AS now
"""


# No wait for the disk: what a power cut loses of this is the time of a contact.
NOTE = f"""
UPDATE inventory_nodecontact AS contact
SET received_at = %(at)s::timestamptz, address = %(address)s::inet, seq = %(seq)s::bigint, epoch = %(epoch)s::bigint,
    checks_at = CASE WHEN %(checked)s::boolean THEN %(at)s::timestamptz ELSE contact.checks_at END,
    clock_offset_us = CASE WHEN %(timed)s::boolean THEN %(offset)s::bigint ELSE contact.clock_offset_us END,
    clock_uncertainty_us =
        CASE WHEN %(timed)s::boolean THEN %(uncertainty)s::bigint ELSE contact.clock_uncertainty_us END
FROM inventory_nodecredential AS credential CROSS JOIN LATERAL {state_digest_sql("credential.node_id")}
WHERE credential.token_hash = %(token)s AND credential.revoked_at IS NULL AND contact.node_id = credential.node_id
  AND contact.boot_id = %(boot)s AND contact.seq < %(seq)s AND contact.late_seq IS NULL
  AND %(epoch)s::bigint BETWEEN 0 AND greatest(contact.epoch, now.epoch)
  AND NOT contact.clock_alarm AND contact.report_digest = %(report_digest)s
  AND contact.state_digest = now.state_digest
RETURNING contact.node_id, now.epoch, now.placements, now.slices, now.policy, now.cluster::text,
    set_config('synchronous_commit', 'off', true)
"""
# Set in a request's environment once the statement said no: to ask again would say the same, and cost as much.
ASKED = "headrace.quiet-asked"
LOOK = f"""
SELECT now.epoch, now.placements, now.slices, now.policy, now.cluster::text, now.host_digest, now.state_digest
FROM {state_digest_sql("%(node)s")}"""


@dataclass(frozen=True, slots=True)
class Quiet:
    """A report that was taken note of, and what its answer is made from."""

    node_id: int
    seen: Fingerprint
    cluster_id: str
    policy: PolicyDocument


@dataclass(frozen=True, slots=True)
class Standing:
    """All that a report of a node could have an effect on, and what its answer is made from; `host_digest` and
    `state_digest` as in `state_digest_sql`.
    """

    seen: Fingerprint
    policy: PolicyDocument
    cluster_id: str | None
    host_digest: str
    state_digest: str


def ask_as_django(sql: str, params: Mapping[str, Any]) -> Row | None:
    """One row over the connection, and in the transaction, of Django."""
    connection.ensure_connection()
    raw = connection.connection
    with connection.wrap_database_errors:
        return ask(raw, sql, params)


def ask(raw: psycopg.Connection[Any], sql: str, params: Mapping[str, Any]) -> Row | None:
    """One row; prepared once per connection, since planning it anew would cost more than running it. Other statements
    of the connection stay as they are: unprepared.
    """
    threshold, raw.prepare_threshold = raw.prepare_threshold, 1
    try:
        with psycopg.Cursor(raw) as cursor:
            return cursor.execute(sql, params, prepare=True).fetchone()
    finally:
        raw.prepare_threshold = threshold


def note(
    token_hash: str, report: Report, *, at: datetime, address: str | None, ask: Ask = ask_as_django
) -> Quiet | None:
    """Notes the contact of a quiet report. None when it has to go the long way, which repeats nothing that was done."""
    if report.facts is not None or report.kept:
        return None
    row = ask(NOTE, {**_columns(report), "token": token_hash, "at": at, "address": address})
    if row is None:
        return None
    node_id, epoch, placements, slices, policy, cluster_id, _off = row
    document = document_of(policy)
    if _alarming(report, limit_us=document.health.clock_offset_alert_ms * 1000):
        return None
    return Quiet(node_id, (epoch, placements, slices), cluster_id, document)


def standing_of(node_id: int) -> Standing:
    """What stands for this node now."""
    row = ask_as_django(LOOK, {"node": node_id, "live": list(LIVE_PHASES)})
    assert row is not None
    epoch, placements, slices, policy, cluster_id, host_digest, state_digest = row
    return Standing((epoch, placements, slices), document_of(policy), cluster_id, host_digest, state_digest)


def remember(contact: NodeContact, report: Report, *, before: Standing, after: Standing) -> None:
    """After a report was taken in, in its transaction; the caller saves the contact. The next report is quiet if it
    says the same and this one changed nothing, or nothing but how far its tasks are: they only move forward, so the
    same answer moves none a second time, and those that ended are in no report any more. `before` is what stood
    before anything of the report had an effect, its having come included.
    """
    if after.state_digest != before.state_digest:
        if after.host_digest != before.host_digest or not all(map(_only_moves_on, report.tasks)):
            return
        going_on = [task for task in report.tasks if task.phase is not TaskPhase.ENDED]
        report = msgspec.structs.replace(report, tasks=going_on)
    contact.report_digest, contact.state_digest = report_digest_of(report), after.state_digest


def _only_moves_on(task: TaskState) -> bool:
    """What is said of checkpoints and of memory that runs out may have the server act on the task."""
    return task.checkpoint is None and not task.pressures


def _columns(report: Report) -> dict[str, Any]:
    clock = report.clock
    return {
        "boot": report.boot_id,
        "seq": report.seq,
        "epoch": report.epoch,
        "report_digest": report_digest_of(report),
        "checked": bool(report.checks),
        "timed": clock is not None,
        "offset": clock and plausible.CLOCK_US.clean(clock.offset_us),
        "uncertainty": clock and plausible.CLOCK_US.clean(abs(clock.uncertainty_us)),
        "live": list(LIVE_PHASES),
    }


def _alarming(report: Report, *, limit_us: int) -> bool:
    if report.clock is None:
        return False
    offset_us = plausible.CLOCK_US.clean(report.clock.offset_us)
    uncertainty_us = plausible.CLOCK_US.clean(abs(report.clock.uncertainty_us))
    known = offset_us is not None and uncertainty_us is not None
    return known and judge(offset_us or 0, uncertainty_us or 0, limit_us=limit_us, alarm=False)


def report_digest_of(report: Report) -> str:
    """What a task uses and has written so far changes with every report, and has an effect only at its end."""
    lasting = [
        task
        if task.phase is TaskPhase.ENDED
        else msgspec.structs.replace(
            task, memory_used_mib=None, cpu_used_milli=None, log_bytes=0, device_use=[]
        )
        for task in report.tasks
    ]
    text = msgspec.json.encode([report.facts_digest, report.checks, lasting])
    return hashlib.sha256(text).hexdigest()
