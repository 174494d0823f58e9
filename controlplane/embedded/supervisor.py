"""Keeps children running, says what happens to them, and ends them in order."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.embedded.processes import (
    ChildSpec,
    ProcessMark,
    end_session,
    mark_of,
    read_mark,
    rotate,
    start_child,
    tail,
)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0
# A child that ran this long was well: its next death starts with the short pause again.
WELL_AFTER_S = 15.0
TICK_S = 1.0
LEFTOVER_GRACE_S = 10.0


@dataclass
class Child:
    """One kept process and how its restarts went."""

    spec: ChildSpec
    process: subprocess.Popen[bytes]
    mark: ProcessMark | None
    started_s: float
    pause_s: float = FIRST_PAUSE_S
    restart_at_s: float | None = None


class Supervisor:
    """Owns the children of one `manage.py up`; used from one thread."""

    def __init__(self, *, marks: Path, say: Callable[[str], None]) -> None:
        self._marks = marks
        self._say = say
        self._children: dict[str, Child] = {}
        self._stop_requests = 0

    def end_leftovers(self) -> None:
        """Ends what a killed predecessor left running; recognised by pid, start time and boot."""
        for path in sorted(self._marks.glob("*.json")):
            mark = read_mark(path)
            if mark is not None and end_session(mark, grace_s=LEFTOVER_GRACE_S):
                self._say(f"ended {path.stem} (process {mark.pid}), left over from a start that was killed")
            path.unlink(missing_ok=True)

    def start(self, spec: ChildSpec) -> subprocess.Popen[bytes]:
        process = start_child(spec)
        self._children[spec.name] = self._note(spec, process)
        return process

    def watch(self) -> None:
        """Restarts children that die, until a signal asks to stop."""
        with self._woken_by_signals() as wake:
            while not self._stop_requests:
                for child in list(self._children.values()):
                    self._tend(child)
                select.select([wake], [], [], TICK_S)
                drain(wake)

    def stop_all(self) -> None:
        """Newest first, so that everybody still has the services it started with."""
        for child in reversed(list(self._children.values())):
            self._stop(child)
        self._children.clear()

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Within, INT, TERM and HUP ask to stop; a second one hurries."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._ask_to_stop) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @property
    def stop_requested(self) -> bool:
        return self._stop_requests > 0

    def _ask_to_stop(self, _number: int, _frame: object) -> None:
        self._stop_requests += 1

    @contextmanager
    def _woken_by_signals(self) -> Iterator[int]:
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        previous = signal.set_wakeup_fd(writer)
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(previous)
            signal.signal(signal.SIGCHLD, before)
            os.close(reader)
            os.close(writer)

    def _note(self, spec: ChildSpec, process: subprocess.Popen[bytes]) -> Child:
        mark = mark_of(process.pid, stop_signal=spec.stop_signal)
        if mark is not None:
            mark.write(self._marks / f"{spec.name}.json")
        return Child(spec=spec, process=process, mark=mark, started_s=time.monotonic())

    def _tend(self, child: Child) -> None:
        if child.process.poll() is None:
            rotate(child.spec.log)
            return
        now_s = time.monotonic()
        if child.restart_at_s is None:
            self._mourn(child, now_s)
        elif now_s >= child.restart_at_s:
            self._restart(child)

    def _mourn(self, child: Child, now_s: float) -> None:
        if now_s - child.started_s > WELL_AFTER_S:
            child.pause_s = FIRST_PAUSE_S
        self._say(
            f"{child.spec.name} {cause_of_death(child.process.returncode)}; starting it again in {child.pause_s:g} s "
            f"(log: {child.spec.log})\n{indented(tail(child.spec.log, lines=6))}"
        )
        if child.mark is not None:
            end_session(child.mark, grace_s=2.0)
        child.restart_at_s = now_s + child.pause_s
        child.pause_s = min(child.pause_s * 2, LONGEST_PAUSE_S)

    def _restart(self, child: Child) -> None:
        try:
            process = start_child(child.spec)
        except OSError as error:
            self._say(f"{child.spec.name} cannot be started: {error}; trying again in {child.pause_s:g} s")
            child.restart_at_s = time.monotonic() + child.pause_s
            return
        fresh = self._note(child.spec, process)
        fresh.pause_s = child.pause_s
        self._children[child.spec.name] = fresh

    def _stop(self, child: Child) -> None:
        if child.mark is not None:
            grace_s = child.spec.grace_s if self._stop_requests < 2 else 1.0
            end_session(child.mark, grace_s=grace_s)
        child.process.wait()
        (self._marks / f"{child.spec.name}.json").unlink(missing_ok=True)


def drain(pipe: int) -> None:
    try:
        while os.read(pipe, 512):
            continue
    except BlockingIOError:
        return


def cause_of_death(returncode: int) -> str:
    if returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"ended with exit status {returncode}"


def indented(text: str) -> str:
    return "\n".join(f"    | {line}" for line in text.splitlines())
