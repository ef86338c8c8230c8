"""Store of materialized tables, and the states of their sources, read from commits."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.definition import (
    FoundTable,
    InconsistentTable,
    Missing,
    UnmanagedTable,
)
from dbt.adapters.spark_mt.definition.freshness import SourceActivity
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, OffsetPosition
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution import table_loader
from dbt.adapters.spark_mt.execution.errors import SourceNotFoundError
from dbt.adapters.spark_mt.execution.table_history import Unread
from dbt.adapters.spark_mt.spark.catalog import table_details as catalog
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors
from dbt.adapters.spark_mt.spark.session.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import PlainTable, StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, VersionedPosition
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_history import Commit, TableState
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
            raise SourceNotFoundError(source=source, problem="its log is empty")
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
            raise SourceNotFoundError(source=name, problem="there is no such table")
        return found


_CASE_SENSITIVE = "spark.sql.caseSensitive"
_VALID_NAME = re.compile(r"\w+", re.ASCII)


class SparkTableStore:
    """Store of tables, read from the tables themselves and never from the registry."""

    def __init__(
        self, spark: SparkSession, tables: SparkTables, details: catalog.TableDetails
    ) -> None:
        self._spark = spark
        self._tables, self._history = tables, tables.history
        self._details = details

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the session's current catalog and schema.

        Spark's own catalog keeps names in lower case unless the session is case-sensitive.
        """
        catalog_name = name.catalog or self._spark.catalog.currentCatalog()
        schema = name.schema or self._spark.catalog.currentDatabase()
        if catalog_name.lower() != catalog.SPARK_CATALOG:
            return TableName(name.name, schema, catalog_name)
        if self._spark.conf.get(_CASE_SENSITIVE) == "true":
            return TableName(name.name, schema, catalog.SPARK_CATALOG)
        return TableName(name.name.lower(), schema.lower(), catalog.SPARK_CATALOG)

    def why_not_created(self, name: TableName) -> str:
        """Return why no table of the full name can be created, as Spark decides at the end."""
        if name.catalog == catalog.SPARK_CATALOG and not _VALID_NAME.fullmatch(name.name):
            return f"Spark's own catalog takes letters of ASCII, digits and _ only, not {name.name}"
        schema = f"{quote(name.catalog or catalog.SPARK_CATALOG)}.{quote(name.schema or '')}"
        with suppress_spark_errors():  # what else is wrong with the catalog shows at the next step
            if not self._spark.catalog.databaseExists(schema):
                return f"there is no schema {schema}"
        return ""

    def find(self, name: TableName) -> FoundTable:
        """Return what the catalog has under the full name `name`."""
        found = self._find(name)
        # Properties, commits and columns are read one after the other. A commit between two of
        # them, such as that of a client that was killed meanwhile, looks like an inconsistency.
        while isinstance(found, InconsistentTable) and found != (again := self._find(name)):
            found = again
        return found

    def _find(self, name: TableName) -> FoundTable:
        with suppress_spark_errors(lambda failure: failure.is_missing_table):
            return self._look(name)
        self._details.forget()  # another session dropped it during the read
        return self._look(name)

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest; a check of two files if Spark runs here."""
        table = self._details.table(name)
        return table is not None and self._history(table).is_newest(table, version)

    def forget(self) -> None:
        """Read everything again from now on."""
        self._details.forget()

    def _look(self, name: TableName) -> FoundTable:
        detail = self._details.of(name)
        if isinstance(detail, catalog.NoTable):
            return UnmanagedTable(name, detail.kind) if detail.kind else Missing(name)
        if isinstance(detail, catalog.OtherTable):
            return UnmanagedTable(name, f"{detail.format} table")
        return table_loader.identify(self._seen(detail))

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain table with versions under the full name `name`, if it is one."""
        table = self._details.table(name)
        if table is None or not isinstance(self.find(name), UnmanagedTable):
            return None
        seen = replace(self._seen(table), columns=lambda: self._columns(name))
        return table_loader.plain_table(seen, self._details.partition_columns(name))

    def _seen(self, table: TableRef) -> table_loader.Table:
        name = table.name
        version, properties = self._details.properties_at(name)
        return table_loader.Table(
            name=name,
            format=self._tables.of(table).format,
            identity=lambda: self._details.identity(name),
            properties=properties,
            clustered_by=catalog.clustering_columns(properties),
            commits=lambda: self._history(table).backwards(table, version),
            columns=lambda: columns_of(self._spark.table(name.sql).schema),
        )

    def _columns(self, name: TableName) -> tuple[Column, ...]:
        """Return the columns with their nullability and comments."""
        schema = self._spark.table(name.sql).schema
        return tuple(
            replace(column, nullable=field.nullable, comment=field.metadata.get("comment"))
            for column, field in zip(columns_of(schema), schema.fields, strict=True)
        )

    def is_empty(self, name: TableName) -> bool:
        """Whether a table that is there has no rows."""
        return not self._spark.sql(f"SELECT 1 FROM {name.sql} LIMIT 1").collect()

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        query = f"SELECT try_cast({literal} AS {type_}) IS NOT NULL AS fits"
        with suppress_spark_errors():
            return bool(self._spark.sql(query).collect()[0]["fits"])
        return False  # no value of the literal's type is one of the other

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        if self._details.table(name) is None:
            return None
        return table_loader.published_definition(self._details.properties(name), name)
