"""What a run showed, as one JSON object and as tables."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scheduling.engine.types import PPM
from scheduling.simulator.foresight import Knows
from scheduling.simulator.jobs import SIZE_CLASSES
from scheduling.simulator.metrics import Integrals, energy_kwh, percentiles
from scheduling.simulator.replay import Replay
from scheduling.simulator.timeline import percent

_HOUR_MILLI_MS = 1000 * 3_600_000
_RUN_TIMES = {
    Knows.DURATIONS: "known to the engine",
    Knows.HISTORY: "foreseen from jobs of the same team and request",
}
_WAITS = ("count", "mean_s", "p50_s", "p95_s", "p99_s", "max_s")


def report_of(run: Replay, *, trace: str, real_waits_ms: Sequence[int] = ()) -> dict[str, Any]:
    """All figures of a finished run; unknown is null. `real_waits_ms` are those of the trace, to compare with."""
    whole, work = run.meter.whole, run.work
    names = {queue.queue: queue.name for queue in run.settings.policy.queues}
    waits = run.waits
    everything: array[int] = array("q")
    for values in waits.by_size.values():
        everything.extend(values)
    return {
        "trace": trace,
        "assumptions": _assumptions(run),
        "nodes": run.cluster.nodes,
        "devices": run.cluster.devices,
        "span_h": round(whole.span_ms / 3_600_000, 3),
        "plans": run.plans,
        "jobs": {
            "submitted": work.submitted,
            "completed": work.completed,
            "running": len(run.running),
            "waiting": run.pending.count,
            "requeued": work.requeued,
            "given_up": work.given_up,
        },
        "utilisation": {"whole": _utilisation(whole), "while_arriving": _utilisation(run.meter.arriving)},
        "waits": {
            "all": percentiles(everything),
            "in_reality": percentiles(real_waits_ms),
            "by_size": {n: percentiles(waits.by_size[n]) for n in SIZE_CLASSES if n in waits.by_size},
            "by_queue": {
                names.get(queue, str(queue)): percentiles(waits.by_queue[queue])
                for queue in sorted(waits.by_queue)
            },
            "image_pull": percentiles(waits.pulls),
            "after_requeue": percentiles(waits.requeued),
            "still_waiting": percentiles(
                array("q", (run.now_ms - w.job.submitted_ms for w in run.pending if w.attempt == 1))
            ),
        },
        "fragmentation": {
            "free_on_shared_devices_percent": percent(whole.partial, whole.capacity),
            "waiting_percent_of_time": percent(whole.waiting_ms, whole.span_ms),
            "false_shortage_percent_of_time": percent(whole.false_shortage_ms, whole.span_ms),
        },
        "energy_kwh": energy_kwh(run.cluster, whole),
        "output": _output(run),
        "timeline": run.meter.timeline.figures(),
    }


def tables(report: Mapping[str, Any]) -> str:
    """The same for people."""
    jobs, use = report["jobs"], report["utilisation"]
    head = [
        f"{report['trace']}: {report['nodes']} nodes, {report['devices']} devices, {report['span_h']} h,"
        f" {report['plans']} plans",
        "jobs: " + ", ".join(f"{count} {name}" for name, count in jobs.items()),
        "",
        _line("utilisation %", ("booked", "measured", "cores booked")),
    ]
    head += [_line(name, tuple(parts.values())) for name, parts in use.items()]
    waits = report["waits"]
    rows = {"all": waits["all"], "in reality": waits["in_reality"]}
    rows |= {f"{name} devices": found for name, found in waits["by_size"].items()}
    rows |= {f"queue {name}": found for name, found in waits["by_queue"].items()}
    rows |= {"image pull": waits["image_pull"], "after requeue": waits["after_requeue"]}
    rows |= {"still waiting": waits["still_waiting"]}
    body = ["", _line("waits, s", tuple(name.removesuffix("_s") for name in _WAITS))]
    body += [_line(name, tuple(found[key] for key in _WAITS)) for name, found in rows.items()]
    rest = {**report["fragmentation"], "energy_kwh": report["energy_kwh"], **report["output"]}
    assumed = {name: report["assumptions"][name] for name in ("preemption", "run_times")}
    lines = (f"{name}: {_cell(value)}" for name, value in {**rest, **assumed}.items())
    return "\n".join([*head, *body, "", *lines]) + "\n"


def _assumptions(run: Replay) -> dict[str, Any]:
    settings, hardware = run.settings, asdict(run.cluster.hardware)
    valley = settings.valley
    failures = settings.failures
    looks_ahead = settings.policy.reserve_after_ms is not None or settings.policy.patience is not None
    return {
        "order": settings.order.value,
        "seed": settings.seed,
        "cycle_ms": settings.cycle_ms,
        "most_attempts": settings.most_attempts,
        "weights_ppm": {term.value: weight for term, weight in settings.policy.weights_ppm.items()},
        "capped": settings.policy.capped,
        "reserve_after_ms": settings.policy.reserve_after_ms,
        "preemption": "not simulated: nobody is asked to leave",
        "patience": None if settings.policy.patience is None else asdict(settings.policy.patience),
        "run_times": _RUN_TIMES[settings.knows] if looks_ahead else None,
        "valley": None if valley is None else f"{valley.start:%H:%M}-{valley.end:%H:%M} {valley.zone.key}",
        "failures": None if failures is None else asdict(failures),
        "hardware": hardware,
    }


def _utilisation(sums: Integrals) -> dict[str, float | None]:
    return {
        "booked_percent": percent(sums.booked, sums.capacity),
        "measured_percent": percent(sums.busy // PPM, sums.capacity),
        "cores_booked_percent": percent(sums.booked_cores, sums.cores),
    }


def _output(run: Replay) -> dict[str, float | None]:
    whole, work = run.meter.whole, run.work

    def per(amount: int) -> float | None:
        return None if not amount else round(work.done / amount, 6)

    return {
        "finished_device_hours": round(work.done / _HOUR_MILLI_MS, 3),
        "lost_device_hours": round(work.lost / _HOUR_MILLI_MS, 3),
        "finished_per_device_hour": per(whole.capacity),
        "finished_per_booked_device_hour": per(whole.booked),
    }


def _line(name: str, cells: tuple[Any, ...]) -> str:
    return f"{name:<18}" + "".join(f"{_cell(cell):>14}" for cell in cells)


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
