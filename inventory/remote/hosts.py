"""The only writer of RemoteHost: who may look when, and how the last look went."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from agent.protocol import RemoteAnswer
from controlplane.alerts.models import Severity
from controlplane.alerts.service import clear_alert, raise_alert
from controlplane.base import clock
from inventory.cleaning import text
from inventory.models import Node, NodeState, RemoteHost, RemoteProblem
from inventory.remote.looking import NODE_LIMIT_S, Seen
from inventory.remote.ssh import Way
from inventory.revisions import node_shown

# Well beyond the longest look with the reading of its answers: after it whoever looked must have died.
CLAIM_S = 60
HOST_FACTS_AGE = timedelta(seconds=60)
MOST_PAUSE_S = 60
LEAST_TOOL_PAUSE_S, MOST_TOOL_PAUSE_S = 60, 600
HOST_KEY_ALERT = "ssh-host-key-changed"
assert CLAIM_S > 2 * NODE_LIMIT_S


@dataclass(frozen=True, slots=True)
class Claimed:
    """The right to look at one node, and what one has to know for it."""

    host_id: int
    token: str
    at: datetime
    way: Way
    node_id: int | None
    node_set_id: int | None
    failures: int
    memory: str
    with_host: bool
    paused: Mapping[str, str]


def claim(*, troubled: bool) -> Claimed | None:
    """The next node that is due, among those whose last look went well or among the others; None where there is none.
    Parallel callers get different ones.
    """
    now = clock.now()
    due = RemoteHost.objects.filter(due_at__lte=now)
    due = due.filter(failures__gt=0) if troubled else due.filter(failures=0)
    with transaction.atomic():
        host = due.select_for_update(skip_locked=True).order_by("due_at", "pk").first()
        if host is None:
            return None
        host.claim, host.due_at = secrets.token_hex(16), now + timedelta(seconds=CLAIM_S)
        host.save(update_fields=["claim", "due_at"])
    return _claimed(host, now)


def lead_to(claimed: Claimed, node: Node) -> bool:
    """Notes which node this is; False when the claim is no longer ours."""
    return bool(_ours(claimed).update(node=node))


def settle_well(claimed: Claimed, node: Node, answer: RemoteAnswer, *, at: datetime) -> bool:
    """The look gave a report; call in the transaction that takes it in. False when the claim is no longer ours."""
    columns: dict[str, Any] = {"memory": answer.memory}
    if answer.want_host:
        columns["host_read_at"] = None
    elif answer.report is not None and answer.report.facts is not None:
        columns["host_read_at"] = at
    if claimed.failures:
        clear_alert(HOST_KEY_ALERT, subject_type="node", subject_id=node.pk)
    return bool(_ours(claimed).update(problem="", problem_detail="", failures=0, answered_at=at, **columns))


def ways_for_images() -> dict[int, Way]:
    """The ready nodes (id) that fetch images over SSH, and how they are reached; none whose last look failed."""
    rows = RemoteHost.objects.filter(fetches_images=True, problem="", node__state=NodeState.READY)
    return {host.node_id: way_of(host) for host in rows if host.node_id is not None}


def nodes_with_images() -> set[int]:
    """All nodes that may fetch images over SSH."""
    rows = RemoteHost.objects.filter(fetches_images=True, node__isnull=False)
    return {node for node in rows.values_list("node_id", flat=True) if node is not None}


def read_anew(node: int) -> None:
    """The host's facts changed: the next look reads them again."""
    RemoteHost.objects.filter(node=node).update(host_read_at=None)


def let_fetch(host: RemoteHost, *, fetches_images: bool) -> None:
    """Whether images are fetched on this node ahead of demand."""
    host.fetches_images = fetches_images
    host.save(update_fields=["fetches_images"])


def way_of(host: RemoteHost) -> Way:
    """How a node is reached."""
    return Way(host.address, host.port, host.user, host.key, host.host_key)


def settle_badly(claimed: Claimed, problem: RemoteProblem, detail: str) -> bool:
    """The look gave no report. A changed host key is told at once: somebody may pretend to be this node."""
    with transaction.atomic():
        changed = _ours(claimed).update(
            problem=problem, problem_detail=text(detail, 500) or "", failures=F("failures") + 1
        )
        if changed and claimed.node_id is not None:
            if problem == RemoteProblem.HOST_KEY_CHANGED:
                details = {"address": claimed.way.address, "shown": detail[:100]}
                raise_alert(
                    HOST_KEY_ALERT,
                    Severity.CRITICAL,
                    subject_type="node",
                    subject_id=claimed.node_id,
                    details=details,
                )
            node_shown(claimed.node_id)
    return bool(changed)


def give_back(claimed: Claimed, seen: Seen, *, interval_s: int) -> None:
    """The next look is due an interval after this one began, later the longer the node has been failing."""
    host = _ours(claimed).first()
    if host is None:
        return
    pause_s = max(interval_s, min(interval_s << min(max(0, host.failures - 1), 8), MOST_PAUSE_S))
    _ours(claimed).update(
        claim="",
        tried_at=claimed.at,
        due_at=claimed.at + timedelta(seconds=pause_s),
        paused=_paused(host.paused, seen),
    )


def _ours(claimed: Claimed) -> Any:
    return RemoteHost.objects.filter(pk=claimed.host_id, claim=claimed.token)


def _claimed(host: RemoteHost, now: datetime) -> Claimed:
    read_at = host.host_read_at
    now_ms = clock.to_ms(now)
    return Claimed(
        host_id=host.pk,
        token=host.claim,
        at=now,
        way=way_of(host),
        node_id=host.node_id,
        node_set_id=host.node_set_id,
        failures=host.failures,
        memory=host.memory,
        with_host=read_at is None or host.node_id is None or now - read_at >= HOST_FACTS_AGE,
        paused={
            tool: f"it did not end in time {entry['times']} times; it is asked again later"
            for tool, entry in host.paused.items()
            if entry["until_ms"] > now_ms
        },
    )


def _paused(before: Mapping[str, Any], seen: Seen) -> dict[str, Any]:
    """Tools that hang are left alone for longer and longer: what cannot be killed there must not pile up."""
    now_ms = clock.now_ms()
    after = {tool: entry for tool, entry in before.items() if tool not in seen.well}
    for tool in seen.hung - {""}:
        times = int(before.get(tool, {}).get("times", 0)) + 1
        pause_s = min(LEAST_TOOL_PAUSE_S << min(times - 1, 8), MOST_TOOL_PAUSE_S)
        after[tool] = {"times": times, "until_ms": now_ms + pause_s * 1000}
    return after
