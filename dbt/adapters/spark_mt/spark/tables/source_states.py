"""States of sources and of materialized tables, read from commits."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.freshness import SourceActivity
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, OffsetPosition
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution import table_loader
from dbt.adapters.spark_mt.execution.table_history import Unread

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, VersionedPosition
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_history import Commit, TableState
    from dbt.adapters.spark_mt.spark.catalog import table_details as catalog
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader

_V = TypeVar("_V")

_RECENT = 10
"""The newest commits of a source, from which it is known how often it changes."""

_MANY_FILES = 100

_SMALL_FILE_BYTES = 1024 * 1024

_MOST = 20_000
"""How many answers are kept of each kind; some 10 MB."""


class _Kept(OrderedDict["Hashable", _V], Generic[_V]):
    """The answers that were asked for last."""

    def keep(self, key: Hashable, value: _V) -> _V:
        """Remember an answer, and forget the oldest of too many."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > _MOST:
            self.popitem(last=False)
        return value


@dataclass(slots=True)
class _Search:
    """Progress of the search of a log for the first change after a position.

    Args:
        table: The table.
        anchor: A version of the log, whose stamp shows whether this is still the same log.
        stamp: That of the anchor.
        upto: The version up to which no commit changes rows.
        change: The first commit that does.
    """

    table: TableRef
    anchor: int
    stamp: str
    upto: int
    change: Commit | None = None


class SparkSourceStates:
    """States of sources, from memory where no log has moved: by checks of files, without a job.

    Over Spark Connect, files are out of reach, and each check is a job of Spark.

    Args:
        tables: Reads logs of tables.
        details: Reads where tables live.
        sources: Reads logs that are no tables.
    """

    def __init__(
        self, tables: SparkTables, details: catalog.TableDetails, sources: SparkSourceReader
    ) -> None:
        self._tables, self._history = tables, tables.history
        self._details = details
        self._sources = sources
        self._searches: _Kept[_Search] = _Kept()
        self._states: _Kept[tuple[str, TableState | None]] = _Kept()
        self._newest: _Kept[tuple[TableRef, int, str]] = _Kept()
        self._activities: _Kept[tuple[str, SourceActivity]] = _Kept()
        self._definitions: _Kept[StoredDefinition | None] = _Kept()

    def newest(self, name: TableName) -> TableState | None:
        """Return what a materialized table reflects now; None where there is no such table."""
        table = self._table(name)
        return None if table is None else self._state(table, self._newest_version(table))

    def unread(self, source: TableName, position: FollowedPosition) -> Unread:
        """Return what a reader that stopped at a position has not read of a source.

        Raises:
            SourceNotFoundError: It is gone.
        """
        if isinstance(position, OffsetPosition):
            return Unread(self._sources.first_record_after(source, position))
        search = self._searched(source, position)
        if search.change is not None:
            before = self._state(search.table, search.change.previous)
            return Unread(search.change.timestamp_ms, before and replace(before, is_newest=False))
        return Unread(None, self._state(search.table, search.upto))

    def changed_at(self, name: TableName) -> int | None:
        """As `SourceStates.changed_at`, by the newest commits, one by one."""
        table = self._known_table(name)
        oldest: Commit | None = None
        for commit in self._history(table).backwards(table):
            oldest = commit
            if commit.effect is CommitEffect.NO_ROWS:
                continue
            if self._history(table).first_row_change(table, commit.previous, commit.version):
                return commit.timestamp_ms
        return oldest.timestamp_ms if oldest is not None and oldest.previous >= 0 else None

    def activity(self, source: TableName) -> SourceActivity | None:
        """As `SourceStates.activity`, by a few small reads for each version."""
        table = self._table(source)
        newest = -1 if table is None else self._newest_version(table)
        if table is None or newest < 0:
            return None
        stamp = self._history(table).stamp(table, newest)
        kept = self._activities.get((table, newest))
        if kept is None or kept[0] != stamp:
            found = self._read_activity(table, newest)
            kept = self._activities.keep((table, newest), (stamp, found))
        return kept[1]

    def _read_activity(self, table: TableRef, newest: int) -> SourceActivity:
        source, commits = table.name, self._history(table).backwards(table, newest)
        times = [commit.timestamp_ms for commit in islice(commits, _RECENT + 1)]
        rate = (times[0] - times[-1]) / 1000 / (len(times) - 1) if len(times) > 1 else None
        size = self._history(table).size(table, newest)
        if size is None:
            return SourceActivity(str(source), rate)
        files, mean = size[0], size[1] // max(size[0], 1)
        is_small = files >= _MANY_FILES and mean < _SMALL_FILE_BYTES
        statement = (
            self._tables.of(table).format.compaction.format(table=source.sql) if is_small else ""
        )
        return SourceActivity(str(source), rate, files, mean, statement)

    def forget(self) -> None:
        """Ask the catalog again where tables live and how they are defined."""
        self._details.forget()
        self._definitions.clear()

    def _searched(self, source: TableName, position: VersionedPosition) -> _Search:
        kept = self._searches.get((source, position))
        table = self._table(source)
        if kept is None or kept.table != table or not self._is_same(kept):
            kept = self._searches.keep((source, position), self._begun(source, position))
        if kept.change is None:
            newest = self._newest_version(kept.table)
            kept.change = self._history(kept.table).first_row_change(kept.table, kept.upto, newest)
            kept.upto = newest
        return kept

    def _is_same(self, search: _Search) -> bool:
        return self._history(search.table).stamp(search.table, search.anchor) == search.stamp

    def _begun(self, source: TableName, position: VersionedPosition) -> _Search:
        """Begin a search; the table may have been created again, here or in another place."""
        table = self._known_table(source)
        if position != BEFORE_ALL and not self._holds(table, position):
            self._details.forget(source)
            table = self._known_table(source)
        if position != BEFORE_ALL and self._holds(table, position):
            version = position.version
            return _Search(table, version, self._history(table).stamp(table, version), version)
        first = self._history(table).oldest(table)
        if first is None:
            raise conditions.SOURCE_NOT_FOUND(source=source, problem="its log is empty")
        stamp = self._history(table).stamp(table, first.version)
        search = _Search(table, first.version, stamp, first.previous)
        if position != BEFORE_ALL:
            search.change = first
        return search

    def _holds(self, table: TableRef, position: VersionedPosition) -> bool:
        commit = self._history(table).commit(table, position.version)
        return commit is not None and commit.identity == position.identity

    def _state(self, table: TableRef, version: int) -> TableState | None:
        """Return what a table reflects at a version; None for one that is not materialized."""
        if version < 0:
            return None
        stamp = self._history(table).stamp(table, version)
        kept = self._states.get((table, version))
        if kept is None or kept[0] != stamp:
            found = self._read_state(table, version)
            kept = self._states.keep((table, version), (stamp, found))
        return kept[1]

    def _read_state(self, table: TableRef, version: int) -> TableState | None:
        name, commit = table.name, self._history(table).commit(table, version)
        metadata = commit.metadata if commit else None
        definition = self._definitions.get(name)
        is_other = metadata is not None and (
            definition is None
            or (definition.table_id, definition.generation)
            != (metadata.table_id, metadata.generation)
        )
        if is_other or name not in self._definitions:
            found = table_loader.readable_definition(self._details.properties(name), name)
            definition = self._definitions.keep(name, found)
        if metadata is None and definition is None:
            return None
        return table_loader.state_of(
            name, self._history(table).backwards(table, version), definition
        )

    def _newest_version(self, table: TableRef) -> int:
        """Return a table's newest version; -1 where its log is gone."""
        at, known, stamp = self._newest.get(table.name) or (None, -1, "")
        is_same = at == table and self._history(table).stamp(table, known) == stamp
        if is_same and self._history(table).is_newest(table, known):
            return known
        newest = self._history(table).newest(table)
        if newest < 0:
            self._newest.pop(table.name, None)
            self._details.forget(table.name)
        else:
            self._newest.keep(
                table.name, (table, newest, self._history(table).stamp(table, newest))
            )
        return newest

    def _table(self, name: TableName) -> TableRef | None:
        """Return a table with versions; that there is none is not remembered."""
        found = self._details.table(name)
        if found is None:
            self._details.forget(name)
        return found

    def _known_table(self, name: TableName) -> TableRef:
        found = self._table(name)
        if found is None:
            raise conditions.SOURCE_NOT_FOUND(source=name, problem="there is no such table")
        return found
