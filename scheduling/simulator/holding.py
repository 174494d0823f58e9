"""When deferrable jobs may start: in the valley window, or earlier on a cluster that is idle enough."""

from __future__ import annotations

from scheduling.simulator.cluster import Cluster
from scheduling.simulator.pending import Pending
from scheduling.simulator.windows import Valley


class Holding:
    """Knows since when the cluster has been idle: it is told of every instant, the window being open or not."""

    def __init__(self, cluster: Cluster, pending: Pending, valley: Valley | None) -> None:
        self._cluster, self._pending, self._valley = cluster, pending, valley
        self._idle_since: int | None = None
        # Whether the window is open, and until when that is known.
        self._open, self._known_until_ms = False, 0

    def is_over(self, now_ms: int) -> bool:
        """Whether held jobs may start now."""
        valley = self._valley
        if valley is None or not self._pending.held:
            return True
        self._note(valley, now_ms)
        early_ms = self._early_ms(valley)
        return self._is_open(valley, now_ms) or (early_ms is not None and early_ms <= now_ms)

    def look_at_ms(self, now_ms: int) -> int | None:
        """When to ask again, now that all of this instant was done; None where no job is held or they may start."""
        valley = self._valley
        if valley is None:
            return None
        self._note(valley, now_ms)
        if self.is_over(now_ms):
            return None
        early_ms = self._early_ms(valley)
        return self._known_until_ms if early_ms is None else min(self._known_until_ms, early_ms)

    def _note(self, valley: Valley, now_ms: int) -> None:
        if not self._is_idle(valley):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now_ms

    def _is_idle(self, valley: Valley) -> bool:
        """Of the devices, of the cores where there are none; nothing at all is never idle."""
        totals = self._cluster.totals
        booked, capacity = totals.booked_milli, totals.capacity_milli
        if not capacity:
            booked, capacity = totals.booked_cores, totals.cores
        return 100 * booked < valley.early_below_percent * capacity and not self._pending.others

    def _early_ms(self, valley: Valley) -> int | None:
        return None if self._idle_since is None else self._idle_since + valley.early_after_ms

    def _is_open(self, valley: Valley, now_ms: int) -> bool:
        if now_ms >= self._known_until_ms:
            self._open, self._known_until_ms = valley.is_open(now_ms), valley.next_change_ms(now_ms)
        return self._open
