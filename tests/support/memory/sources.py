"""Positions of sources in memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.freshness import SourceActivity
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    ChangeExtent,
    ChangeKind,
    DefinitionPosition,
    Position,
    Positions,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.ports import StartPosition
from dbt.adapters.spark_mt.execution.table_history import Unread
from dbt.adapters.spark_mt.execution.table_loader import published_definition, state_of
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from tests.support.memory.versioned import extent_of, in_columns, kind_of, types_changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition
    from dbt.adapters.spark_mt.execution.ports import SourceSpan
    from dbt.adapters.spark_mt.execution.table_history import Commit, TableState
    from dbt.adapters.spark_mt.query.analyzer import Source
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.tables import NamedRows, VersionedTable


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

    def newest(self, name: TableName) -> TableState | None:
        """Return what a materialized table reflects now; None where there is no such table."""
        table = self._catalog.table(name)
        return None if table is None else _state(name, table, table.version)

    def unread(self, source: TableName, position: FollowedPosition) -> Unread:
        """Return what a reader that stopped at a position has not read of a source."""
        if not isinstance(position, VersionedPosition):
            return Unread(None)
        table = self._table(source)
        is_there = self.is_readable(source, position)
        later = [c for c in table.log if not is_there or c.version > position.version]
        changed = (c for c in later if not is_there or _changes_rows(table, c))
        first = next(changed, None)
        if first is None:
            return Unread(None, _state(source, table, table.version))
        return Unread(first.timestamp_ms, _state(source, table, first.previous))

    def changed_at(self, name: TableName) -> int | None:
        """Return when the rows of a table last changed; None if they never did."""
        table = self._table(name)
        changed = (c.timestamp_ms for c in reversed(table.log) if _changes_rows(table, c))
        return next(changed, None)

    def activity(self, source: TableName) -> SourceActivity | None:
        """Return how often a source changes; there are no files."""
        table = self._catalog.table(source)
        if table is None:
            return None
        times = [commit.timestamp_ms for commit in table.log]
        commits = len(times) - 1
        mean = (times[-1] - times[0]) / 1000 / commits if commits else None
        return SourceActivity(str(source), mean)

    def forget(self) -> None:
        """Nothing is remembered here."""

    def is_readable(self, source: TableName, position: FollowedPosition) -> bool:
        """Whether the source still has the very version that `position` names."""
        table = self._table(source)
        return isinstance(position, VersionedPosition) and position.identity == table.identity

    def is_current(self, source: Source, position: Position) -> bool:
        """Whether a source surely is where a position says."""
        is_versioned = source.kind is SourceKind.VERSIONED
        return is_versioned and self._position(source).same_state(position)

    def earliest(self, source: TableName) -> None:
        """There are no logs here."""

    def changed_types(self, span: SourceSpan) -> tuple[str, ...]:
        """Return the columns of a span whose types differ."""
        found = self._both(span)
        return () if found is None else types_changed(*found, span.columns)

    def keeps_rows(self, span: SourceSpan) -> bool:
        """Whether no commit of a span changed rows, or the columns that have their values."""
        found, table = self._both(span), self._table(span.source)
        if found is None:
            return False
        assert isinstance(span.after, VersionedPosition)
        assert isinstance(span.upto, VersionedPosition)
        between = (c for c in table.log if span.after.version < c.version <= span.upto.version)
        before, now = map(Counter, in_columns(*found, span.columns))
        return before == now and not any(_changes_rows(table, commit) for commit in between)

    def _both(self, span: SourceSpan) -> tuple[NamedRows, NamedRows] | None:
        """Return the rows at both positions of a span, if both are of this table."""
        table, after, upto = self._table(span.source), span.after, span.upto
        if not (isinstance(after, VersionedPosition) and isinstance(upto, VersionedPosition)):
            return None
        known = {(commit.version, table.identity) for commit in table.log}
        if not {(at.version, at.identity) for at in (after, upto)} <= known:
            return None
        return table.rows_at(after.version), table.rows_at(upto.version)

    def changes(self, span: SourceSpan, *, net: bool) -> ChangeKind:
        """Return what happened to the rows of a source between two of its positions."""
        del net  # rows in memory are always compared
        source, after, upto = span.source, span.after, span.upto
        if after in (upto, BEFORE_ALL):
            return ChangeKind.NONE if after == upto else ChangeKind.ADDED
        table = self._table(source)
        first = min((commit.version for commit in table.log), default=table.version)
        if not (isinstance(after, VersionedPosition) and self.is_readable(source, after)):
            return ChangeKind.REPLACED
        if after.version < first or not isinstance(upto, VersionedPosition):
            return ChangeKind.GONE
        before, now = (table.rows_at(at.version) for at in (after, upto))
        return kind_of(*map(Counter, in_columns(before, now, span.columns)))

    def extent(self, span: SourceSpan) -> ChangeExtent:
        """Return how much happened to a table between two of its positions."""
        after, upto = span.after, span.upto
        kind, table = self.changes(span, net=True), self._table(span.source)
        if kind in (ChangeKind.GONE, ChangeKind.REPLACED):
            return ChangeExtent(kind)
        assert isinstance(after, VersionedPosition)
        assert isinstance(upto, VersionedPosition)
        before, now = (table.rows_at(at.version) for at in (after, upto))
        return extent_of(*in_columns(before, now, span.columns))

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
            raise conditions.SOURCE_NOT_FOUND(source=name, problem="there is no such table")
        return table


def _state(name: TableName, table: VersionedTable, version: int) -> TableState | None:
    """What it reflects at a version, if it was a materialized table then."""
    commits = (commit for commit in table.backwards() if commit.version <= version)
    definition = published_definition(dict(table.newest.properties), name)
    found = state_of(name, commits, definition)
    return found and replace(found, is_newest=version == table.version)


def _changes_rows(table: VersionedTable, commit: Commit) -> bool:
    """Whether files with rows would come or go: also where the same rows are written again."""
    before = table.at(commit.previous).rows if commit.previous >= 0 else ()
    return bool(commit.rows) or before != table.at(commit.version).rows
