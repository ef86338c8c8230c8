"""Cache of tables that are up to date.

A full check of a table takes half a second of a core. A result without work to do is valid as long
as the table and its sources have the same versions. Views and functions must have the same texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import UnknownPosition

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.execution.ports import SourceReader, TableStore
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery

FULL_CHECK_MS = 600_000
"""How long the result of a full check is used. Only a full check reads the paths of tables. So the
next one detects a table that was dropped and created again at another path."""


@dataclass(frozen=True, slots=True)
class UpToDateTable:
    """A table that was up to date.

    Args:
        run: The refresh that had nothing to do.
        at_ms: When it checked, milliseconds since the epoch, UTC.
    """

    table: StoredTable
    run: RefreshRun
    at_ms: int


class UpToDateTables:
    """Cache of tables that are up to date; safe for several threads.

    It compares the versions of tables and the positions of sources. The cache of the store is
    cleared after `FULL_CHECK_MS`. Instants are milliseconds since the epoch, UTC.
    """

    def __init__(self, store: TableStore, sources: SourceReader, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._sources = sources
        self._now_ms = now_ms
        self._found: dict[TableName, UpToDateTable] = {}
        self._forgot_ms = 0

    def remember(self, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> None:
        """Store that a refresh had nothing to do, unless its result depends on the time."""
        unknown = any(isinstance(position, UnknownPosition) for position in run.positions.values())
        if analyzed.time_dependent or unknown:
            self.forget(table.name)
        else:
            self._found[table.name] = UpToDateTable(table, run, run.started_at_ms)

    def forget(self, name: TableName) -> None:
        """Remove a table, so that its next check is a full one."""
        self._found.pop(name, None)

    def find(self, name: TableName) -> UpToDateTable | None:
        """Return the result of the newest full check, if nothing can have changed since.

        Raises:
            Exception: The engine could not be queried.
        """
        found, now = self._found.get(name), self._now_ms()
        if found is None:
            return None
        if now - self._forgot_ms >= FULL_CHECK_MS:
            self._forgot_ms = now
            self._store.forget()
        table, run = found.table, found.run
        if (
            now - found.at_ms < FULL_CHECK_MS
            and self._store.is_newest(table.name, table.version)
            and all(self._sources.is_current(s, run.positions[str(s.name)]) for s in run.sources)
        ):
            return found
        self.forget(name)
        return None
