"""Where sources in memory stand."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    DefinitionPosition,
    Position,
    Positions,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.errors import SourceNotFoundError
from dbt.adapters.spark_mt.execution.ports import StartPosition
from dbt.adapters.spark_mt.planning.windows import ChangeKind
from dbt.adapters.spark_mt.resolution.analysis import SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition
    from dbt.adapters.spark_mt.execution.memory.catalog import MemoryCatalog
    from dbt.adapters.spark_mt.execution.memory.tables import Row, VersionedTable
    from dbt.adapters.spark_mt.resolution.analysis import Source


class MemorySourceReader:
    """Reads the versions of tables and the fingerprints of views."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def positions(self, sources: Sequence[Source]) -> Positions:
        """Return one state of all sources.

        Raises:
            SourceNotFoundError: A source is gone.
        """
        return {str(source.name): self._position(source) for source in sources}

    def first_change_after(self, source: TableName, position: FollowedPosition) -> int | None:
        """Return when the first commit after `position` was made, or None if there is none."""
        if not isinstance(position, VersionedPosition):
            return None
        table = self._table(source)
        read = position.version if self.is_readable(source, position) else -1
        later = (commit for commit in table.log if commit.version > read)
        return next((commit.timestamp_ms for commit in later), None)

    def is_readable(self, source: TableName, position: FollowedPosition) -> bool:
        """Whether the source still has the very version that `position` names."""
        table = self._table(source)
        return isinstance(position, VersionedPosition) and position.identity == table.identity

    def earliest(self, source: TableName) -> None:
        """There are no logs here."""

    def changes(
        self, source: TableName, after: FollowedPosition, upto: FollowedPosition
    ) -> ChangeKind:
        """Return what happened to the rows of a source between two of its positions."""
        if after in (upto, BEFORE_ALL):
            return ChangeKind.NONE if after == upto else ChangeKind.ADDED
        table = self._table(source)
        first = min((commit.version for commit in table.log), default=table.version)
        if not (isinstance(after, VersionedPosition) and self.is_readable(source, after)):
            return ChangeKind.REPLACED
        if after.version < first or not isinstance(upto, VersionedPosition):
            return ChangeKind.GONE
        before, now = (Counter(table.snapshots[at.version].rows) for at in (after, upto))
        return _kind(before, now)

    def position_at(self, source: TableName, instant_ms: int) -> StartPosition:
        """Return from where a source counts that starts at an instant."""
        table = self._table(source)
        earlier = [commit.version for commit in table.log if commit.timestamp_ms < instant_ms]
        if not earlier:
            return StartPosition(BEFORE_ALL, is_complete=False)
        return StartPosition(VersionedPosition(earlier[-1], table.identity))

    def _position(self, source: Source) -> Position:
        if source.kind is SourceKind.UNVERSIONED:
            return UnknownPosition()
        if source.kind is SourceKind.VERSIONED:
            table = self._table(source.name)
            return VersionedPosition(table.version, table.identity)
        text = source.definition_text.encode()
        return DefinitionPosition(hashlib.sha256(text).hexdigest()[:32])

    def _table(self, name: TableName) -> VersionedTable:
        table = self._catalog.table(name)
        if table is None:
            raise SourceNotFoundError(source=name, problem="there is no such table")
        return table


def _kind(before: Counter[Row], now: Counter[Row]) -> ChangeKind:
    if before - now:
        return ChangeKind.REMOVED
    return ChangeKind.ADDED if now - before else ChangeKind.NONE
