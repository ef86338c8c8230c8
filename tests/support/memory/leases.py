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
        told: Every row, in order.
        beats: Every heartbeat, in order.
    """

    def __init__(self) -> None:
        self.told: list[Lease] = []
        self.beats: list[Lease] = []
        self._lock = Lock()

    def newest(self, catalog: str) -> Lease | None:
        """Return the newest row of the lease with the highest term."""
        with self._lock:
            found = [lease for lease in self.told if lease.catalog == catalog]
            beats = [lease for lease in self.beats if lease.catalog == catalog]
        highest = max((lease.term for lease in found), default=0)
        newest = next((lease for lease in reversed(found) if lease.term == highest), None)
        if newest is None or newest.is_released:
            return newest
        heard = [beat.heard_at_ms for beat in beats if beat.term == highest]
        return renewed(newest, max(heard, default=0))

    def take(self, lease: Lease) -> bool:
        """Claim a term."""
        with self._lock:
            terms = [each.term for each in self.told if each.catalog == lease.catalog]
            if lease.term <= max(terms, default=0):
                return False
            self.told.append(lease)
        return True

    def tell(self, lease: Lease) -> None:
        """Write another word about a lease."""
        with self._lock:
            self.told.append(lease)

    def beat(self, lease: Lease) -> None:
        """Let others know that a lease is still held."""
        with self._lock:
            self.beats.append(lease)
