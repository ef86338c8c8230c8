"""Maintenance: compaction of idle tables, removal of checkpoints that no table uses."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.hosting.hosted_table import HostPhase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.hosting.hosted_table import HostProgress


_LOGGER = logging.getLogger(__name__)
IDLE_MS = 60_000
"""For how long nothing was written to a table that counts as idle."""
CLEAN_EVERY_MS = 6 * 3600 * 1000
DAY_MS = 24 * 3600 * 1000
LEAST_KEPT_MS = 7 * DAY_MS
"""The usual default of table formats: readers may still read files that were replaced since."""


class Storage(Protocol):
    """Operations of maintenance on tables."""

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
        """Remove the checkpoints in which no stream of these tables ran for a week.

        Never those of other tables: several catalogs may keep theirs in the same place.
        """
        ...


class TableMaintenance:
    """Does one thing at a time, aside, and only for tables that rest.

    Args:
        storage: Does it.
        progress: How a hosted table does; None for one that is not hosted.
        compact_after: After how many batches; 0 for never.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        in_background: Runs an action somewhere else, soon: it may take minutes.
    """

    def __init__(
        self,
        storage: Storage,
        progress: Callable[[TableName], HostProgress | None],
        compact_after: int,
        now_ms: Callable[[], int],
        in_background: Callable[[Callable[[], None]], object],
    ) -> None:
        self._storage = storage
        self._progress = progress
        self._compact_after = compact_after
        self._now_ms = now_ms
        self._in_background = in_background
        self._compacted: dict[TableName, int] = {}
        self._to_vacuum: dict[TableName, int] = {}
        self._cleaned_ms = now_ms()
        self._is_busy = False

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Begin the next thing that is due, unless the one before still runs."""
        if self._is_busy:
            return
        self._compacted = {n: count for n, count in self._compacted.items() if n in tables}
        self._to_vacuum = {n: at for n, at in self._to_vacuum.items() if n in tables}
        action = self._due(tables, self._now_ms())
        if action is not None:
            self._is_busy = True
            self._in_background(partial(self._do, action))

    def _do(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - maintenance must not fail the manager
            _LOGGER.warning("maintenance failed: %s", problem_of(error))
        finally:
            self._is_busy = False

    def _due(self, tables: Mapping[TableName, KnownTable], now: int) -> Callable[[], None] | None:
        if now - self._cleaned_ms >= CLEAN_EVERY_MS:
            self._cleaned_ms = now
            ids = frozenset(table.table_id for table in tables.values())
            return partial(self._storage.remove_dead_checkpoints, ids)
        idle = [name for name, table in tables.items() if self._is_idle(table, now)]
        for name in idle:
            if self._is_due(name):
                return partial(self._storage.compact, name)
        for name in idle:
            if now >= self._to_vacuum.get(name, now + 1):
                del self._to_vacuum[name]
                return partial(self._storage.vacuum, name, kept_for(name, tables, now))
        return None

    def _is_idle(self, table: KnownTable, now: int) -> bool:
        if table.refresh_mode is not RefreshMode.CONTINUOUS:
            return False
        progress = self._progress(table.name)
        if progress is None:
            return False
        rests = progress.phase in {HostPhase.STREAMING, HostPhase.FOLLOWING}
        return rests and now - progress.committed_at_ms >= IDLE_MS

    def _is_due(self, name: TableName) -> bool:
        """Whether enough batches came since the last time; a new host counts from zero."""
        progress = self._progress(name)
        batches = progress.batches if progress else 0
        before = self._compacted.get(name, 0)
        if batches < before:
            before = self._compacted[name] = 0
        if self._compact_after == 0 or batches - before < self._compact_after:
            return False
        self._compacted[name] = batches
        self._to_vacuum.setdefault(name, self._now_ms() + DAY_MS)
        return True


def kept_for(name: TableName, tables: Mapping[TableName, KnownTable], now_ms: int) -> int:
    """Return for how long a table's replaced files must be kept, in milliseconds.

    A reader that stopped at an old version continues from there: its files stay until a day after
    its newest refresh.
    """
    readers = [t for t in tables.values() if str(name) in t.reads]
    oldest = min((t.last_refresh_at_ms or t.recorded_at_ms for t in readers), default=now_ms)
    return max(LEAST_KEPT_MS, now_ms - oldest + DAY_MS)
