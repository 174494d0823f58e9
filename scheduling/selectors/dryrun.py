"""Where a job would go now, by the same function that places real ones; nothing is stored."""

from __future__ import annotations

from typing import Any

from inventory.models import Device
from queues.spec import JobSpec, encode_spec
from scheduling.engine.plan import plan
from scheduling.engine.types import PendingJob, Placed, Plan
from scheduling.requests import request_of
from scheduling.selectors.explanations import EMPTY, candidate_view, explain_refusal, term_views
from scheduling.selectors.jobs import device_part
from scheduling.selectors.live import Live, node_names, with_live

# Above every id that a stored job can have.
NO_JOB = 2**62


def dry_run(spec: JobSpec, *, queue: int, team: int) -> dict[str, Any]:
    """The placement that the job would get, all waiting jobs before it served first, or why it would wait."""

    def look(live: Live) -> tuple[Plan, dict[str, Any] | None]:
        job = PendingJob(
            job=NO_JOB, attempt=1, queue=queue, team=team, priority=spec.priority, submitted_at_ms=live.now_ms,
            request=request_of(spec),
        )  # fmt: skip
        found = plan(live.state, [*live.pending, job], live.policy.engine, now_ms=live.now_ms, seed=0)
        refusal = next((one for one in found.refused if one.job == NO_JOB), None)
        if refusal is None:
            return found, None
        return found, explain_refusal(live, refusal, job, spec)

    found, refusal = with_live(look)
    placed = next((one for one in found.placed if one.job == NO_JOB), None)
    return {
        "placement": None if placed is None else _placement(placed),
        "refusal": None if refusal is None else {**EMPTY, "status": "pending", **refusal},
        "spec": encode_spec(spec),
    }


def _placement(placed: Placed) -> dict[str, Any]:
    names = node_names({placed.node, *(one.node for one in placed.runners_up)})
    devices = Device.objects.in_bulk([part.device for part in placed.slices]) if placed.slices else {}
    parts = [
        {"device": p.device, "memory_mib": p.memory_mib, "compute_milli": p.compute_milli}
        for p in placed.slices
    ]
    return {
        "node": placed.node,
        "node_name": names[placed.node],
        "devices": [device_part(part, devices[part["device"]]) for part in parts],
        "cpus": list(placed.cpus),
        "loader_cpus": list(placed.loader_cpus),
        "score_ppm": placed.chosen.score_ppm,
        "terms": term_views(placed.chosen.terms),
        "candidates": placed.candidates,
        "runners_up": [candidate_view(one, names) for one in placed.runners_up],
    }
