"""What a statement or a dbt run wants to know of the manager that keeps a catalog fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.leases import holds

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.lease import Lease
    from dbt.adapters.spark_mt.execution.conduct import Processes
    from dbt.adapters.spark_mt.execution.leases import LeaseLog

LOOK_MS = 10_000
"""For how long what was found is believed: a takeover is not noticed earlier."""


class Managers:
    """Looks a catalog's manager up, at most every ten seconds.

    Args:
        leases: Where managers tell that they hold a catalog.
        processes: Knows which processes of this machine are gone.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(self, leases: LeaseLog, processes: Processes, now_ms: Callable[[], int]) -> None:
        self._leases = leases
        self._processes = processes
        self._now_ms = now_ms
        self._seen: dict[str, tuple[int, Lease | None]] = {}

    def live(self, catalog: str) -> Lease | None:
        """Return the lease of the manager that keeps a catalog fresh; None if nobody does."""
        now = self._now_ms()
        seen_ms, lease = self._seen.get(catalog, (0, None))
        if now - seen_ms >= LOOK_MS:
            lease = self._leases.newest(catalog)
            self._seen[catalog] = (now, lease)
        return lease if holds(lease, self._processes, now) else None
