"""The fast encoder of recordings writes what the engine's codec does, for everything that a call may hold."""

from __future__ import annotations

import pytest

from scheduling import recordings
from scheduling.engine.codec import Recording, encode
from scheduling.engine.types import (
    Candidate,
    CpuClass,
    DeviceHealth,
    FilterCount,
    NearMiss,
    PendingJob,
    Placed,
    Plan,
    ReasonCode,
    Refusal,
    Request,
    SliceChoice,
    Term,
    TermScore,
)
from tests.engine import golden_recordings
from tests.engine.build import POLICY, device, node


def check(call: Recording) -> None:
    assert recordings.document(call) == encode(call)
    assert recordings.unpack(recordings.pack(call)) == call


def test_holds_links_and_gangs() -> None:
    seen: set[str] = set()
    for call in golden_recordings.recordings().values():
        check(call)
        seen |= {"hold" for info in call.nodes if info.holds} | {"link" for info in call.nodes if info.links}
        seen |= {"gang" for job in call.jobs if job.replicas > 1}
    assert seen == {"hold", "link", "gang"}


@pytest.mark.parametrize("health", list(DeviceHealth))
@pytest.mark.parametrize("cpu_class", list(CpuClass))
def test_every_health_and_class_of_cpus(health: DeviceHealth, cpu_class: CpuClass) -> None:
    info = node(1, [device(1, health=health)], labels=(("name", 'q"uo\u4e2d'),))
    job = PendingJob(1, 1, 1, 1, 0, 0, Request(cpu_class=cpu_class))
    check(Recording((info,), (job,), POLICY, 0, 0))


def test_every_reason_and_term() -> None:
    refused = tuple(
        Refusal(number, code, 1, (FilterCount(code, 1),), (NearMiss(1, code, 2, 1, (1,)),))
        for number, code in enumerate(ReasonCode)
    )
    best = Candidate(1, 5, tuple(TermScore(term, 1, 2, 3) for term in Term), (SliceChoice(1, 2, 3),), (0,))
    placed = Placed(99, 1, 1, best.slices, best.cpus, (), 0, 0, best, (best,), 2, ())
    check(Recording((), (), POLICY, 0, 0, plan=Plan((placed,), refused, 1)))
