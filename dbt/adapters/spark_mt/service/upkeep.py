"""Compaction of idle tables, and removal of checkpoints that nothing goes on in."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.host_progress import HostPhase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable

_LOGGER = logging.getLogger(__name__)
IDLE_MS = 60_000
"""For how long nothing was written to a table that counts as idle."""
CLEAN_EVERY_MS = 6 * 3600 * 1000
DAY_MS = 24 * 3600 * 1000
LEAST_KEPT_MS = 7 * DAY_MS
"""Delta's own default: whoever reads a table may still read files that were replaced since."""


class Storage(Protocol):
    """What upkeep does to tables."""

    def compact(self, table: TableName) -> None:
        """Merge a table's small files; rows, and what streams read of it, stay the same."""
        ...

    def vacuum(self, table: TableName, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that.

        Args:
            table: The table.
            kept_ms: In milliseconds, at least a week.
        """
        ...

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        """Remove the checkpoints in which no stream of these tables went on for a week.

        Never those of other tables: several catalogs may keep theirs in the same place.
        """
        ...


class TableUpkeep:
    """Does one thing per look at everything, and only for tables that rest.

    Args:
        storage: Does it.
        progress: How a hosted table does; None for one that is not hosted.
        compact_after: After how many batches; 0 for never.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        storage: Storage,
        progress: Callable[[TableName], HostProgress | None],
        compact_after: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._progress = progress
        self._compact_after = compact_after
        self._now_ms = now_ms
        self._compacted: dict[TableName, int] = {}
        self._to_vacuum: dict[TableName, int] = {}
        self._cleaned_ms = now_ms()

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Do the next thing that is due; what fails is tried again another time."""
        if self._compact_after == 0:
            return
        now = self._now_ms()
        try:
            self._tick(tables, now)
        except Exception as error:  # noqa: BLE001 - upkeep must not fail what it serves
            _LOGGER.warning("upkeep failed: %s", problem_of(error))

    def _tick(self, tables: Mapping[TableName, KnownTable], now: int) -> None:
        if now - self._cleaned_ms >= CLEAN_EVERY_MS:
            self._cleaned_ms = now
            self._storage.remove_dead_checkpoints(frozenset(t.table_id for t in tables.values()))
            return
        for name in tables:
            if self._compact_if_due(name, now):
                return
        due = [name for name, at in self._to_vacuum.items() if now >= at and name in tables]
        for name in due[:1]:
            del self._to_vacuum[name]
            self._storage.vacuum(name, kept_for(name, tables, now))

    def _compact_if_due(self, name: TableName, now: int) -> bool:
        progress = self._progress(name)
        if progress is None:
            return False
        before = min(self._compacted.get(name, 0), progress.batches)
        rests = progress.phase in {HostPhase.STREAMING, HostPhase.FOLLOWING}
        idle = rests and now - progress.committed_at_ms >= IDLE_MS
        if not idle or progress.batches - before < self._compact_after:
            return False
        self._compacted[name] = progress.batches
        self._storage.compact(name)
        self._to_vacuum.setdefault(name, now + DAY_MS)
        return True


def kept_for(name: TableName, tables: Mapping[TableName, KnownTable], now_ms: int) -> int:
    """Return for how long a table's replaced files must be kept, in milliseconds.

    A reader that stopped at an old version goes on from there: its files stay until a day behind
    its newest refresh.
    """
    readers = [t for t in tables.values() if str(name) in t.reads]
    oldest = min((t.last_refresh_at_ms or t.recorded_at_ms for t in readers), default=now_ms)
    return max(LEAST_KEPT_MS, now_ms - oldest + DAY_MS)
