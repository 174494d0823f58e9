"""When deferrable jobs may start: in the valley window, or earlier on a cluster that is idle enough."""

from __future__ import annotations

from scheduling.simulator.cluster import Cluster
from scheduling.simulator.pending import Pending
from scheduling.simulator.windows import Valley


class Holding:
    """Knows since when the cluster has been idle; `look_at_ms` is when to ask again while jobs are held."""

    def __init__(self, cluster: Cluster, pending: Pending, valley: Valley | None) -> None:
        self._cluster, self._pending, self._valley = cluster, pending, valley
        self._idle_since: int | None = None
        self.look_at_ms: int | None = None

    def is_over(self, now_ms: int) -> bool:
        """Whether held jobs may start now."""
        valley = self._valley
        self.look_at_ms = None
        if valley is None or not self._pending.held:
            self._idle_since = None
            return True
        if valley.is_open(now_ms):
            return True
        early_ms = self._early_ms(valley, now_ms)
        if early_ms is not None and early_ms <= now_ms:
            return True
        opening = valley.next_change_ms(now_ms)
        self.look_at_ms = opening if early_ms is None else min(opening, early_ms)
        return False

    def _early_ms(self, valley: Valley, now_ms: int) -> int | None:
        """When the cluster will have been idle for long enough; None while it is not idle."""
        totals = self._cluster.totals
        idle = 100 * totals.booked_milli < valley.early_below_percent * totals.capacity_milli
        if not idle or self._pending.count > self._pending.held:
            self._idle_since = None
            return None
        if self._idle_since is None:
            self._idle_since = now_ms
        return self._idle_since + valley.early_after_ms
