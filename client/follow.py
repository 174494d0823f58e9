"""Following jobs to their end: status, log bytes, exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from client.api import JSON, Client
from client.errors import Exit
from client.messages import say, word
from client.render import escape_controls, outcome, span

FINAL = {"succeeded", "failed", "cancelled"}
STARTED = {"running", "suspending", "preempting"}
POLL_S = 1.0
FIRST_POLL_S = 0.05
LOG_WAIT_S = 10
LOG_END_S = 30.0
LARGEST_SIGNAL = 64


def exit_code_of(job: JSON) -> int:
    """The job's own exit code; 128 + signal; 130 when cancelled; 75 when it was lost or never started."""
    if job["status"] == "cancelled":
        return int(Exit.CANCELLED)
    if job["status"] == "succeeded":
        return 0
    # A failed job never looks like success: a shell would cut a larger number down to its last byte.
    if 0 < (job["exit_code"] or 0) < 256:
        return int(job["exit_code"])
    if 0 < (job["exit_signal"] or 0) <= LARGEST_SIGNAL:
        return 128 + int(job["exit_signal"])
    return int(Exit.LOST)


@dataclass
class Follower:
    """Watches one job; `notice` receives progress sentences, `output` log bytes (None: no log wanted)."""

    client: Client
    job: int
    notice: Callable[[str], None]
    output: Callable[[bytes], None] | None = None
    deadline: float | None = None
    replica: int = 0
    _told: str = ""
    _attempt: int = 0
    _offset: int = field(default=0)

    def run(self) -> JSON | None:
        """The job in its final state, or None when the deadline passed first."""
        poll_s = FIRST_POLL_S
        while True:
            row = self.client.job(self.job)
            self._tell(row)
            final = row["status"] in FINAL
            if self.output and (final or row["status"] in STARTED):
                self._log(row, final=final)
            if final:
                return row
            if self.deadline is not None and time.monotonic() >= self.deadline:
                return None
            if not (self.output and row["status"] in STARTED):
                time.sleep(min(poll_s, self._left_s()))
                poll_s = min(poll_s * 1.5, POLL_S)

    def _left_s(self) -> float:
        return POLL_S if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def _tell(self, row: JSON) -> None:
        status = escape_controls(word(row["status"]))
        if row["node"] and row["status"] not in FINAL:
            node = escape_controls(row["node"]["name"])
            text = say("status-where", job=self.job, status=status, node=node, cpus=span(row["cpus"]))
        elif row["status"] == "pending" and row.get("reason"):
            text = say("waiting", job=self.job, text=escape_controls(row["reason"]["text"]))
        elif row["status"] in FINAL:
            text = say("ended", job=self.job, status=status, outcome=outcome(row))
        else:
            text = say("status", job=self.job, status=status)
        if text != self._told:
            self._told = text
            self.notice(text)

    def _log(self, row: JSON, *, final: bool) -> None:
        """Pass on what the log has: as it comes while the job runs, to the last byte once it ended."""
        if not row["node"] and not final:
            return
        if row["attempt"] != self._attempt:
            if self._attempt:
                self.notice(say("attempt", job=self.job, attempt=row["attempt"]))
            self._attempt, self._offset = row["attempt"], 0
        wait_s = LOG_WAIT_S if self.deadline is None else int(min(LOG_WAIT_S, self._left_s() + 1))
        # The agent tells the end before it has sent the last of the log.
        patience = time.monotonic() + LOG_END_S
        while True:
            part = self.client.log(
                self.job,
                attempt=self._attempt,
                replica=self.replica,
                offset=self._offset,
                wait_s=wait_s,
            )
            if part.data and self.output:
                self.output(part.data)
            moved = part.next_offset > self._offset
            self._offset = part.next_offset
            if part.complete or not final:
                return
            if not moved and time.monotonic() > patience:
                self.notice(say("log-incomplete", job=self.job))
                return


def write_log(data: bytes) -> None:
    """Log bytes to standard output: unchanged on a pipe, control characters escaped on a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(escape_controls(data.decode("utf-8", "replace"), keep="\n\t"))
        sys.stdout.flush()
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
