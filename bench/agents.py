"""A load of agents for the telemetry benchmark, in a process of its own: real reports over real HTTP, at a given rate.

Reports are due at fixed times whether or not the server keeps up; latency counts from when a report was due.
Run as `python -m bench.agents FILE`: reads its orders from FILE (JSON), writes what it found to stdout (JSON).
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agent import protocol
from agent.protocol import (
    Check,
    CheckResult,
    ClockSample,
    DeviceSample,
    ExitReason,
    NodeSample,
    Reply,
    Report,
    TaskPhase,
    TaskState,
)
from bench.fleet import DIGEST, secret_of

LIFE = (TaskPhase.PREPARING, TaskPhase.RUNNING, TaskPhase.RUNNING, TaskPhase.ENDED)


class Orders(msgspec.Struct, frozen=True):
    """What to send: `placements` are [node, placement, fence]."""

    host: str
    port: int
    rate: int
    seconds: int
    warm_up_s: int
    connections: int
    devices: int
    nodes: list[int]
    placements: list[tuple[int, int, int]]


@dataclass(slots=True)
class Agent:
    """One node's agent: its sequence number, what it obeyed, and how far its task got."""

    node: int
    devices: int
    seq: int = 0
    epoch: int = 1
    cluster_id: str | None = None
    placement: int = 0
    fence: int = 0
    # When its task begins, by the load's own clock.
    begins_s: float = 0.0
    stage: int = -1
    # The phase that the server confirmed last.
    confirmed: TaskPhase | None = None
    identities: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    head: bytes = b""

    def __post_init__(self) -> None:
        self.identities = [f"GPU-{self.node}-{index}" for index in range(self.devices)]
        self.checks = [Check(identity, CheckResult.OK) for identity in self.identities]
        self.head = (
            "POST /agent/v1/report HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {secret_of(self.node)}\r\nContent-Length: "
        ).encode()

    def request(self) -> bytes:
        """The next report as HTTP."""
        body = protocol.encode(self.report())
        return self.head + str(len(body)).encode() + b"\r\n\r\n" + body

    def report(self) -> Report:
        """The next report; each with other readings."""
        self.seq += 1
        tick = self.seq * 37 + self.node * 11
        samples = [
            DeviceSample(
                name, 20_000 + tick % 50_000 + i, (tick + i) % 101, 40 + (tick + i) % 40, 90_000 + tick
            )
            for i, name in enumerate(self.identities)
        ]
        return Report(
            version=1,
            boot_id=f"boot-{self.node}",
            seq=self.seq,
            sent_at_ms=time.time_ns() // 1_000_000,
            facts_digest=DIGEST,
            epoch=self.epoch,
            cluster_id=self.cluster_id,
            node=NodeSample(
                tick % 128_000, 100_000 + tick % 500_000, tick % 90_000, 900_000 + tick % 1_000_000
            ),
            samples=samples,
            checks=self.checks,
            tasks=self.tasks(),
            clock=ClockSample(1500, 400),
        )

    def tasks(self) -> list[TaskState]:
        if not self.placement or time.perf_counter() < self.begins_s:
            return []
        self.stage = min(self.stage + 1, len(LIFE) - 1)
        phase = LIFE[self.stage]
        started = None if phase is TaskPhase.PREPARING else 1_000
        ended = phase is TaskPhase.ENDED
        return [
            TaskState(
                self.placement, 1, self.fence, phase, started_at_ms=started, pid=4242, uid=60_001,
                ended_at_ms=9_000 if ended else None, exit_code=0 if ended else None,
                reason=ExitReason.EXITED if ended else None,
            )
        ]  # fmt: skip

    def obey(self, reply: Reply) -> None:
        """Remember what was confirmed; a placement that is no longer wanted is forgotten."""
        self.epoch, self.cluster_id = reply.epoch, reply.cluster_id
        if self.placement and self.stage >= 0:
            self.confirmed = LIFE[self.stage]
            if self.confirmed is TaskPhase.ENDED and not reply.assignments:
                self.placement = 0


class Line(asyncio.Protocol):
    """One kept-alive connection: a request, then its whole answer."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.answer: asyncio.Future[bytes] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0 or self.answer is None:
            return
        head = bytes(self.buffer[:end]).lower()
        length = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
        if len(self.buffer) >= end + 4 + length:
            self.answer.set_result(bytes(self.buffer[9:12]) + bytes(self.buffer[end + 4 : end + 4 + length]))
            self.buffer.clear()

    def connection_lost(self, _error: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ConnectionError("closed"))

    def ask(self, request: bytes) -> asyncio.Future[bytes]:
        """Status and body."""
        assert self.transport is not None
        if self.transport.is_closing():
            raise ConnectionError("closed")
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer


class Load:
    """All agents, a queue of due reports, and what came of them."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.agents = [Agent(node, orders.devices) for node in orders.nodes]
        by_node = {agent.node: agent for agent in self.agents}
        for node, placement, fence in orders.placements:
            by_node[node].placement, by_node[node].fence = placement, fence
        self.tasked = [agent for agent in self.agents if agent.placement]
        self.latencies_ms: list[float] = []
        self.answers: Counter[str] = Counter()
        self.placements = {agent.node: agent.placement for agent in self.tasked}

    async def run(self) -> dict[str, object]:
        orders = self.orders
        due: asyncio.Queue[tuple[float, Agent] | None] = asyncio.Queue()
        lines = [asyncio.create_task(self._serve(due)) for _ in range(orders.connections)]
        started_s = time.perf_counter() + 0.5
        self.measure_from_s = started_s + orders.warm_up_s
        self._spread(started_s)
        total = orders.rate * (orders.seconds + orders.warm_up_s)
        number = 0
        while number < total:
            now_s = time.perf_counter()
            while number < total and started_s + number / orders.rate <= now_s:
                due.put_nowait((started_s + number / orders.rate, self.agents[number % len(self.agents)]))
                number += 1
            await asyncio.sleep(0.002)
        for _ in lines:
            due.put_nowait(None)
        await asyncio.gather(*lines)
        took_s = time.perf_counter() - self.measure_from_s
        return self._found(took_s)

    def _spread(self, started_s: float) -> None:
        """Tasks begin evenly over the whole time, as jobs do; all at once is another measurement."""
        every_s = (self.orders.warm_up_s + self.orders.seconds) / max(1, len(self.tasked))
        for number, agent in enumerate(self.tasked):
            agent.begins_s = started_s + number * every_s

    async def _serve(self, due: asyncio.Queue[tuple[float, Agent] | None]) -> None:
        loop = asyncio.get_running_loop()
        line: Line | None = None
        while (item := await due.get()) is not None:
            due_s, agent = item
            if line is None:
                _transport, line = await loop.create_connection(Line, self.orders.host, self.orders.port)
            try:
                answer = await line.ask(agent.request())
            except ConnectionError:
                self.answers["closed"] += 1
                line = None
                continue
            self._note(agent, answer, due_s)

    def _note(self, agent: Agent, answer: bytes, due_s: float) -> None:
        now_s = time.perf_counter()
        status = answer[:3].decode()
        if status == "200":
            agent.obey(protocol.decode(answer[3:], Reply))
        if due_s >= self.measure_from_s:
            self.answers[status] += 1
            self.latencies_ms.append((now_s - due_s) * 1000)

    def _found(self, took_s: float) -> dict[str, object]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "took_s": took_s,
            "answers": dict(self.answers),
            "latencies_ms": self.latencies_ms,
            "cpu_s": used.ru_utime + used.ru_stime,
            "confirmed": {
                str(self.placements[agent.node]): agent.confirmed.value
                for agent in self.tasked
                if agent.confirmed
            },
        }


def main() -> None:
    """Send what the orders say."""
    orders = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Orders)
    load = Load(orders)
    gc.collect()
    gc.freeze()
    json.dump(asyncio.run(load.run()), sys.stdout)


if __name__ == "__main__":
    main()
