"""What was measured and is not surely with the server: told until it arrives, and counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from agent.collect import Readings
from agent.journal import Journal, Untold
from agent.protocol import Facts, Reply, Report
from agent.transport import Refused, TransportError

# The server read the report and will never take it; every other refusal is of the moment or of the sender.
UNFIT = frozenset({400, 413, 415, 422, 426})


class Outbox:
    """A report whose answer is lost may have been taken in: it goes out again under its own number, which the server
    counts once, before anything newer does.
    """

    def __init__(self, journal: Journal, boot_id: str) -> None:
        untold = journal.untold(boot_id)
        self._journal = journal
        self._boot_id = boot_id
        self._doubtful = untold.report
        self._readings = Readings(checks=untold.checks) if untold.checks else None

    @property
    def waiting(self) -> Readings | None:
        """What no report held yet."""
        return self._readings

    def add(self, taken: Readings | None) -> None:
        """A round; it waits, together with what waits already."""
        if taken is not None:
            self._readings = taken.after(self._readings)

    def doubtful(self) -> Report | None:
        """The report of which nobody knows whether it arrived; without its samples where newer ones wait."""
        if self._doubtful is None or self._readings is None:
            return self._doubtful
        return msgspec.structs.replace(self._doubtful, node=None, samples=[])

    def doubtful_seq(self) -> int:
        """Its number; 0 where there is none."""
        return 0 if self._doubtful is None else self._doubtful.seq

    def send(self, report: Report, post: Callable[[Report], Reply]) -> Reply:
        """The answer to a report that is doubtful already or holds all that waits; raises what `post` does. Without an
        answer it is doubtful, if it said anything that was measured.
        """
        if report.seq != self.doubtful_seq():
            self._readings = None
        kept = False
        try:
            self._doubt(report if report.checks or report.samples or report.node else None)
            return post(report)
        except TransportError as error:
            kept = not (isinstance(error, Refused) and error.status in UNFIT)
            raise
        finally:
            if not kept:
                self._doubt(None)

    def _doubt(self, report: Report | None) -> None:
        self._doubtful = report
        waiting = self._readings.checks if self._readings else ()
        self._journal.write_untold(Untold(self._boot_id, report, waiting))


def facts_digest(facts: Facts) -> str:
    """Changes when any fact does."""
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:32]
