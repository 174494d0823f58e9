"""One look at one node: connect, ask the constant questions within one time limit, hand back what was printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.protocol import CommandOutput
from controlplane.base import clock
from inventory.models.remote import RemoteProblem
from inventory.remote import commands, ssh
from inventory.remote.commands import Command
from inventory.remote.ssh import Connection, Unreached, Way

NODE_LIMIT_S = 20.0
LEAST_S = 0.5
# So much later than the node itself ends a command, the connection gives it up.
ROUND_TRIP_S = 1.0
# The connection outlives the last question's own limit, so that what the others said is not lost with it.
SLACK_S = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look gave. `problem` where it gave no report: then there are no outputs. `hung` are tools that did not end
    in time, `well` those that did.
    """

    outputs: tuple[CommandOutput, ...] = ()
    problem: RemoteProblem | None = None
    detail: str = ""
    peer: str | None = None
    hung: frozenset[str] = frozenset()
    well: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Look:
    connection: Connection
    deadline_s: float
    outputs: list[CommandOutput] = field(default_factory=list)
    hung: set[str] = field(default_factory=set)
    well: set[str] = field(default_factory=set)

    def ask(self, command: Command) -> ssh.Printed:
        """What a command says; nothing more of a tool that hung in this look."""
        left_s = self.deadline_s - clock.monotonic_s()
        if command.tool in self.hung or left_s < LEAST_S:
            return self.skip(command, "no time left")
        sent_us, asked_s = _now_us(), clock.monotonic_s()
        limit_s = min(command.limit_s + ROUND_TRIP_S, left_s)
        printed = self.connection.run(command.line, limit_s=limit_s, most_bytes=command.most_bytes)
        if printed.problem and clock.monotonic_s() - asked_s >= command.limit_s:
            printed = ssh.Printed(b"", f"no answer within {command.limit_s} s", hung=True)
        (self.hung if printed.hung else self.well).add(command.tool)
        self._note(command, printed, sent_us=sent_us)
        return printed

    def skip(self, command: Command, reason: str) -> ssh.Printed:
        """The question is not put; the devices it is about are unknown because of that."""
        printed = ssh.Printed(b"", reason)
        self._note(command, printed, sent_us=_now_us())
        return printed

    def _note(self, command: Command, printed: ssh.Printed, *, sent_us: int) -> None:
        output = CommandOutput(
            name=command.name,
            data=printed.data,
            problem=f"{command.name}: {printed.problem}" if printed.problem else "",
            vendor=command.vendor,
            sent_at_us=sent_us,
            received_at_us=_now_us(),
        )
        self.outputs.append(output)


def look(way: Way, *, with_host: bool, paused: Mapping[str, str], limit_s: float = NODE_LIMIT_S) -> Seen:
    """Everything asked of a node; `paused` are tools that are left alone now, with the reason. Never raises."""
    deadline_s = clock.monotonic_s() + limit_s
    try:
        with ssh.connected(way, deadline_s=deadline_s + SLACK_S) as connection:
            return _ask_all(_Look(connection, deadline_s), with_host=with_host, paused=paused)
    except Unreached as error:
        return Seen(problem=error.problem, detail=error.detail)


def _ask_all(look: _Look, *, with_host: bool, paused: Mapping[str, str]) -> Seen:
    live = look.ask(commands.LOOK)
    if live.hung:
        raise Unreached(RemoteProblem.TIMED_OUT, live.problem)
    if live.flooded:
        raise Unreached(RemoteProblem.TOO_MUCH_OUTPUT, live.problem)
    for command in commands.questions_for(commands.tools_in(live.data), with_host=with_host):
        if command.tool in paused:
            look.skip(command, paused[command.tool])
        else:
            look.ask(command)
    return Seen(
        outputs=tuple(look.outputs),
        peer=look.connection.peer,
        hung=frozenset(look.hung),
        well=frozenset(look.well - look.hung),
    )


def _now_us() -> int:
    return int(clock.now().timestamp() * 1_000_000)
