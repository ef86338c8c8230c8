"""Leases in memory, shared by the managers of a test."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import renewed

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Lease


class MemoryLeases:
    """Where managers record that they hold a catalog.

    Attributes:
        recorded: Every row, in order.
        beats: Every heartbeat, in order.
    """

    def __init__(self) -> None:
        self.written: list[Lease] = []
        self.beats: list[Lease] = []
        self._lock = Lock()

    def newest(self, catalog: str) -> Lease | None:
        """Return the newest row of the lease with the highest term."""
        with self._lock:
            found = [lease for lease in self.written if lease.catalog == catalog]
            beats = [lease for lease in self.beats if lease.catalog == catalog]
        highest = max((lease.term for lease in found), default=0)
        newest = next((lease for lease in reversed(found) if lease.term == highest), None)
        if newest is None or newest.is_released:
            return newest
        heartbeats = [beat.last_heartbeat_ms for beat in beats if beat.term == highest]
        return renewed(newest, max(heartbeats, default=0))

    def take(self, lease: Lease) -> bool:
        """Claim a term."""
        with self._lock:
            terms = [each.term for each in self.written if each.catalog == lease.catalog]
            if lease.term <= max(terms, default=0):
                return False
            self.written.append(lease)
        return True

    def write(self, lease: Lease) -> None:
        """Write another word about a lease."""
        with self._lock:
            self.written.append(lease)

    def beat(self, lease: Lease) -> None:
        """Let others know that a lease is still held."""
        with self._lock:
            self.beats.append(lease)
