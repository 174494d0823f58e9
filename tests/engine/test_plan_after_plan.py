"""Takeovers in the long run: caps hold at every moment, also with what is kept, and nobody changes places for ever."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.plan import plan
from scheduling.engine.state import ClusterState
from scheduling.engine.types import (
    EnginePolicy,
    Hold,
    PendingJob,
    Placed,
    Plan,
    QueueInfo,
    Running,
    SliceChoice,
)
from tests.engine.profiles import property_test
from tests.engine.test_preemption import CARD, POLITE, cards, wanting

NODES = (1, 2, 3)
DEVICES = 4 * len(NODES)
MOST_STEPS = 60


@dataclass
class World:
    """What runs, what waits and what is kept; what yielded waits again at once."""

    queues: tuple[QueueInfo, ...]
    jobs: dict[int, PendingJob]
    rng: Random
    running: dict[int, Running] = field(default_factory=dict)
    holds: dict[int, tuple[int, Hold]] = field(default_factory=dict)
    # Who yielded to whom, and what their queue was left then.
    yielded: dict[tuple[int, int], int] = field(default_factory=dict)

    def policy(self, *, lending: bool) -> EnginePolicy:
        held = Counter({queue.queue: 0 for queue in self.queues})
        for one in self.running.values():
            held[one.queue] += 1000 * len(one.slices)
        queues = tuple(replace(queue, devices_booked_milli=held[queue.queue]) for queue in self.queues)
        return replace(POLITE, capped=True, lending=lending, preempts=not lending, queues=queues)

    def decide(self, *, lending: bool) -> Plan:
        busy = [part.device for one in self.running.values() for part in one.slices]
        nodes = [
            cards(n, busy=busy, holds=tuple(hold for node, hold in self.holds.values() if node == n))
            for n in NODES
        ]
        waiting = [job for job in self.jobs.values() if job.job not in self.running]
        return plan(
            ClusterState.build(nodes),
            waiting,
            self.policy(lending=lending),
            now_ms=0,
            seed=0,
            running=list(self.running.values()),
        )

    def start(self, placed: Placed) -> None:
        job = self.jobs[placed.job]
        self.running[placed.job] = Running(
            job=placed.job,
            attempt=1,
            node=placed.node,
            queue=job.queue,
            team=1,
            owner=0,
            slices=placed.slices,
            cpus=placed.cpus,
            borrowed=placed.borrowed,
            checkpointable=True,
            lost_work_ms=self.rng.choice((None, 1, 9)),
        )
        self.holds.pop(placed.job, None)

    def ask(self, found: Plan) -> None:
        for one in found.preemptions:
            assert not self.running[one.job].leaving
            # Who yielded may take only what its queue has given up or lost since.
            left = self.yielded.get((one.for_job, one.job))
            assert left is None or self.staying(self.jobs[one.for_job].queue) < left, "taken back"
        for one in found.preemptions:
            self.running[one.job] = replace(self.running[one.job], leaving=True, spared=True)
        for one in found.preemptions:
            self.yielded[one.job, one.for_job] = self.staying(self.running[one.job].queue)
        for place in found.takeovers:
            hold = Hold(place.job, place.slices, place.cpus, queue=place.queue, team=place.team)
            self.holds[place.job] = (place.node, hold)

    def staying(self, queue: int) -> int:
        """Devices that the queue holds, what is lent to it and kept for it included, without those who leave."""
        kept = [hold for _node, hold in self.holds.values() if hold.queue == queue]
        runs = [one for one in self.running.values() if one.queue == queue and not one.leaving]
        return sum(len(part) for part in [*(one.slices for one in kept), *(one.slices for one in runs)])

    def leave(self) -> None:
        """Some of those that were asked are gone."""
        for number in [n for n, one in self.running.items() if one.leaving]:
            if self.rng.random() < 0.6:
                del self.running[number]

    def end(self) -> None:
        """One job is over."""
        number = self.rng.choice(sorted(self.running) or [0])
        self.running.pop(number, None)
        self.jobs.pop(number, None)

    def check_caps(self) -> None:
        """With what is kept nobody holds more than may be held, but for what is lent, and for a single job."""
        for queue in (one for one in self.queues if one.quota_ppm is not None):
            mine = [one for one in self.running.values() if one.queue == queue.queue]
            kept = [hold for _node, hold in self.holds.values() if hold.queue == queue.queue]
            own = [one for one in mine if not one.borrowed]
            held = 1000 * sum(
                len(part) for part in [*(one.slices for one in own), *(one.slices for one in kept)]
            )
            allowed = -(-DEVICES * 1000 * (queue.quota_ppm or 0) // 1_000_000)
            assert held <= allowed or len(own) + len(kept) == 1, (queue.name, held, allowed)


def random_world(seed: int) -> World:
    rng = Random(seed)
    queues = tuple(
        QueueInfo(
            number, name, priority, rng.choice((None, 250_000, 500_000)), preemptable, rng.random() < 0.7
        )
        for number, name, priority, preemptable in (
            (1, "high", 100, True),
            (2, "middle", 70, rng.random() < 0.5),
            (3, "low", 30, True),
        )
    )
    used = rng.choice(((1, 2, 3), (1, 3)))
    jobs = {n: wanting(n, rng.choice((1, 1, 2, 2, 3, 4)), queue=rng.choice(used)) for n in range(1, 17)}
    return World(queues, jobs, rng)


@property_test
@given(st.integers(0, 2**32))
def test_caps_hold_with_what_is_kept_and_it_all_comes_to_rest(seed: int) -> None:
    """Jobs come in any order, victims leave when they like, and after that nothing is asked any more."""
    world = random_world(seed)
    coming = list(world.jobs.values())
    world.rng.shuffle(coming)
    world.jobs = {}
    quiet = 0
    for _step in range(MOST_STEPS):
        for job in [coming.pop() for _ in range(min(len(coming), world.rng.choice((1, 3))))]:
            world.jobs[job.job] = job
        found = world.decide(lending=False)
        for placed in found.placed:
            world.start(placed)
        world.ask(found)
        world.check_caps()
        for placed in world.decide(lending=True).placed:
            world.start(placed)
        world.check_caps()
        quiet = 0 if found.placed or found.preemptions or coming else quiet + 1
        world.leave()
        if coming and world.rng.random() < 0.5:
            world.end()
        if quiet == 3 and not any(one.leaving for one in world.running.values()):
            break
    assert quiet >= 3, "still changing places"
    taken = Counter(part.device for one in world.running.values() for part in one.slices)
    assert all(count == 1 for count in taken.values())
    assert {SliceChoice(device, CARD, 1000) for device in taken} == {
        part for one in world.running.values() for part in one.slices
    }
