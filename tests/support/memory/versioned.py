"""The port of table formats in memory: rows are tuples that know their columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.definition.columns import Column, TableName
from dbt.adapters.spark_mt.definition.commit_metadata import decode_commit
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeExtent, ChangeKind
from dbt.adapters.spark_mt.definition.table_format import CommitEffect, TableRef
from dbt.adapters.spark_mt.execution.table_format import (
    FENCE,
    RowsNotThereError,
    TableDescription,
)
from dbt.adapters.spark_mt.planning.properties import properties_of
from tests.support.memory.table_format import FORMAT
from tests.support.memory.tables import Change, NamedRows, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.table_format import TableColumns, VersionRange
    from dbt.adapters.spark_mt.execution.table_history import Commit
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.tables import VersionedTable


class MemoryFormatError(Exception):
    """What the format refuses, by one of its conditions."""

    condition: ClassVar[str]


class NoTableError(MemoryFormatError):
    """There is no such table."""

    condition = "MEMORY_NO_TABLE"


class ConflictError(MemoryFormatError):
    """Another commit came first."""

    condition = "MEMORY_CONFLICT"


class ConstraintExistsError(MemoryFormatError):
    """The table has a constraint of the name."""

    condition = "MEMORY_CONSTRAINT_EXISTS"


class NullsError(MemoryFormatError):
    """The table has NULL where it was to be refused."""

    condition = "MEMORY_NULL"


@dataclass(slots=True)
class MemorySession:
    """What a write has to say about its commit."""

    catalog: MemoryCatalog
    metadata: CommitMetadata | None = None
    fence: str = FENCE
    version: int | None = None


class MemoryHistory:
    """Commits of tables, which are found by their names."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def newest(self, table: TableRef) -> int:
        """Return the newest version of a table; -1 without a table."""
        return max((commit.version for commit in self._commits(table)), default=-1)

    def is_newest(self, table: TableRef, version: int) -> bool:
        """Whether a version is the newest one."""
        return version >= 0 and self.newest(table) == version

    def is_there(self, table: TableRef) -> bool:
        """Whether there is a table."""
        return self._table(table) is not None

    def commit(self, table: TableRef, version: int) -> Commit | None:
        """Return one commit."""
        return self.commits([(table, version)]).get((table, version))

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        """Return commits by (table, version)."""
        found: dict[tuple[TableRef, int], Commit] = {}
        for where, version in wanted:
            for commit in self._commits(where):
                if commit.version == version:
                    found[where, version] = commit
        return found

    def oldest(self, table: TableRef) -> Commit | None:
        """Return the oldest commit that is still there."""
        return next(iter(self._commits(table)), None)

    def at(self, table: TableRef, instant_ms: int) -> int | None:
        """Return the newest version before an instant."""
        earlier = [c.version for c in self._commits(table) if c.timestamp_ms < instant_ms]
        return max(earlier, default=None)

    def backwards(self, table: TableRef, newest: int | None = None) -> Iterator[Commit]:
        """Yield commits, the newest first."""
        return (c for c in reversed(self._commits(table)) if newest is None or c.version <= newest)

    def stamp(self, table: TableRef, version: int) -> str:
        """Return what differs when another table's commit has a version."""
        commit = self.commit(table, version)
        return commit.identity if commit else ""

    def first_row_change(self, table: TableRef, after: int, upto: int) -> Commit | None:
        """Return the first commit of a range that changes rows."""
        found = (c for c in self._commits(table) if after < c.version <= upto)
        return next((c for c in found if c.effect is not CommitEffect.NO_ROWS), None)

    def keeps_columns(self, table: TableRef, after: int, upto: int) -> bool:
        """Whether no commit of a range changes columns or properties."""
        found = self._table(table)
        if found is None:
            return False
        wanted = [version for version in found.versions if after <= version <= upto]
        there = {commit.version for commit in found.log}
        if not {after, upto} <= set(wanted) or not set(wanted[1:]) <= there:
            return False
        return len({(s.columns, s.properties) for s in map(found.at, wanted)}) == 1

    def description(self, table: TableRef, version: int) -> TableDescription | None:
        """Return comment and properties of a snapshot."""
        snapshot = self._snapshot(table, version)
        if snapshot is None:
            return None
        return TableDescription(snapshot.comment, dict(snapshot.properties))

    def size(self, table: TableRef, version: int) -> tuple[int, int] | None:  # noqa: ARG002 - no files
        """Return nothing: rows are in memory."""
        return None

    def _snapshot(self, table: TableRef, version: int) -> Snapshot | None:
        found = self._table(table)
        is_there = found is not None and version in found.versions
        return found.at(version) if found is not None and is_there else None

    def _commits(self, table: TableRef) -> tuple[Commit, ...]:
        found = self._table(table)
        return () if found is None else tuple(found.log)

    def _table(self, table: TableRef) -> VersionedTable | None:
        return self._catalog.table(table.name)


def kind_of(before: Counter[tuple[object, ...]], now: Counter[tuple[object, ...]]) -> ChangeKind:
    """Return what happened to rows, as bags."""
    if before - now:
        return ChangeKind.REMOVED
    return ChangeKind.ADDED if now - before else ChangeKind.NONE


def types_changed(
    before: NamedRows, now: NamedRows, columns: Collection[str] | None
) -> tuple[str, ...]:
    """Return which columns have other types; None for all columns."""
    old, new = ({c.name.lower(): c.type for c in rows.columns} for rows in (before, now))
    names = {**old, **new} if columns is None else columns
    return tuple(
        f"{name} was {old.get(name)} and is {new.get(name)}"
        for name in sorted(names)
        if old.get(name) != new.get(name)
    )


def in_columns(
    before: NamedRows, now: NamedRows, columns: Collection[str] | None
) -> tuple[NamedRows, NamedRows]:
    """Return rows of two versions in the columns of the second, NULL where one is not read."""
    read = [columns is None or c.name.lower() in columns for c in now.columns]

    def of(rows: NamedRows) -> NamedRows:
        shown = (tuple(v if r else None for v, r in zip(row, read, strict=True)) for row in rows)
        return NamedRows.of(now.columns, shown)

    return of(before.like(now)), of(now)


def extent_of(before: NamedRows, now: NamedRows) -> ChangeExtent:
    """Return how much happened to rows, as bags."""
    here, there = Counter(before), Counter(now)
    changed = (there - here).total() + (here - there).total()
    return ChangeExtent(kind_of(here, there), changed, len(now))


class MemoryChanges:
    """Compares the rows of versions."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def changed_types(self, range_: VersionRange) -> tuple[str, ...]:
        """Return which columns have other types."""
        table = self._catalog.table(range_.table.name)
        if table is None:
            raise NoTableError
        if range_.after == BEFORE_ALL:
            return ()
        versions = (range_.after.version, range_.upto.version)
        before, now = map(table.rows_at, versions)
        return types_changed(before, now, range_.columns)

    def kind(self, range_: VersionRange, *, net: bool) -> ChangeKind:  # noqa: ARG002
        """Return what happened in a range."""
        if range_.after == BEFORE_ALL:
            return ChangeKind.ADDED
        return kind_of(*map(Counter, self._rows(range_)))

    def added(self, range_: VersionRange) -> NamedRows:
        """Return the rows that the range added."""
        before, now = self._rows(range_)
        return NamedRows.of(now.columns, (Counter(now) - Counter(before)).elements())

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """Return how much happened in a range."""
        return extent_of(*self._rows(range_))

    def weighted(self, range_: VersionRange, weight: str) -> tuple[NamedRows]:
        """Return the rows that the range added or removed, and how often."""
        before, now = self._rows(range_)
        counts = Counter(now)
        counts.subtract(before)
        columns = (*now.columns, Column(weight, "BIGINT"))
        found = ((*row, count) for row, count in counts.items() if count)
        return (NamedRows.of(columns, found),)

    def removed(self, range_: VersionRange) -> NamedRows | None:
        """Return the rows that the range removed."""
        before, now = self._rows(range_)
        rows = list((Counter(before) - Counter(now)).elements())
        return NamedRows.of(now.columns, rows) if rows else None

    def _rows(self, range_: VersionRange) -> tuple[NamedRows, NamedRows]:
        table = self._catalog.table(range_.table.name)
        if table is None:
            raise NoTableError
        now = table.rows_at(range_.upto.version)
        before = NamedRows.of(now.columns, ())
        if range_.after != BEFORE_ALL:
            before = table.rows_at(range_.after.version)
        return in_columns(before, now, range_.columns)


class MemoryVersionedTables:
    """Implements `execution.table_format.VersionedTables`."""

    format = FORMAT

    def __init__(self, catalog: MemoryCatalog, now_ms: Callable[[], int]) -> None:
        self._catalog = catalog
        self._now_ms = now_ms
        self.history = MemoryHistory(catalog)

    def ref(self, name: TableName, location: str) -> TableRef:
        """Return a table; its handle is its name."""
        return TableRef(name, FORMAT.name, location)

    def find(self, name: TableName) -> TableRef | None:  # noqa: ARG002 - it has no such catalog
        """Return nothing: the tables are found by their names."""
        return None

    def directory(self, table: TableRef) -> str:
        """Return the handle; nothing in memory has files."""
        return table.handle

    def identity(self, session: MemorySession, table: TableRef) -> str:
        """Return the identity of a table."""
        return self._newest(session, table.name)[0].identity

    def partition_columns(self, session: MemorySession, name: TableName) -> tuple[str, ...]:
        """Return the columns by which a table is partitioned."""
        return self._newest(session, name)[1].partitioned_by

    def as_of(self, table: TableRef, version: int) -> str:
        """As `VersionedTables.as_of`; nothing in memory reads it."""
        return f"{table.name.sql}@{version}"

    def opened(self, session: MemorySession, table: TableRef, version: int) -> str:  # noqa: ARG002 - of the port
        """As `VersionedTables.opened`."""
        return self.as_of(table, version)

    def changes(self, session: MemorySession) -> MemoryChanges:
        """Return a reader of changes."""
        return MemoryChanges(session.catalog)

    def commit(
        self,
        session: MemorySession,
        name: TableName,  # noqa: ARG002 - the write says it
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write whose commit has the metadata and the fence."""
        decoded = decode_commit(metadata)
        assert decoded is not None
        session.metadata, session.fence = replace(decoded, seq=number or 0), fence
        session.version = None
        write()
        return session.version

    def create(
        self,
        session: MemorySession,
        definition: StoredDefinition,
        rows: NamedRows,
        *,
        replace: bool = False,
    ) -> None:
        """Create a table."""
        declared = definition.declared
        made = Snapshot(
            columns=rows.columns,
            rows=tuple(rows),
            properties=tuple(sorted(properties_of(definition, FORMAT).items())),
            comment=declared.comment or "",
            partitioned_by=declared.partitioned_by,
            clustered_by=declared.clustered_by,
        )
        if replace and self._catalog.table(definition.name):
            self._write(session, definition.name, "REPLACE TABLE", lambda _: made)
        else:
            change = self._change(session, "CREATE TABLE AS SELECT")
            session.version = self._catalog.create_with(definition.name, change, made)

    def replace(
        self,
        session: MemorySession,
        name: TableName,
        rows: NamedRows,
        partitioned_by: Sequence[str] = (),
        *,
        by_row: bool = False,  # noqa: ARG002 - of the port
    ) -> None:
        """Replace rows, columns and partitioning."""

        def replaced(snapshot: Snapshot) -> Snapshot:
            kept = replace(snapshot, columns=rows.columns, partitioned_by=tuple(partitioned_by))
            return replace(kept, rows=tuple(rows))

        self._write(session, name, "REPLACE TABLE", replaced)

    def overwrite(
        self,
        session: MemorySession,
        name: TableName,
        rows: NamedRows,
        *,
        adds_columns: bool = False,
    ) -> None:
        """Replace all rows."""
        self._write(session, name, "WRITE", lambda s: _with(s, (), rows, adds_columns))

    def overwrite_where(
        self, session: MemorySession, name: TableName, condition: str, rows: NamedRows
    ) -> None:
        """Replace the rows that meet a condition of the form `column` = number."""
        column, _, value = condition.partition(" = ")

        def written(snapshot: Snapshot) -> Snapshot:
            at = [c.name for c in snapshot.columns].index(column.strip("`"))
            kept = tuple(row for row in snapshot.rows if row[at] != int(value))
            return _with(snapshot, kept, rows, adds_columns=False)

        self._write(session, name, "WRITE", written)

    def append(
        self,
        session: MemorySession,
        name: TableName,
        rows: NamedRows,
        columns: Sequence[str] = (),  # noqa: ARG002 - rows have names here
        *,
        adds_columns: bool = False,
    ) -> None:
        """Add rows."""
        self._write(session, name, "WRITE", lambda s: _with(s, s.rows, rows, adds_columns))

    def replace_keys(
        self,
        session: MemorySession,
        table: TableColumns,
        key: Sequence[str],
        rows: NamedRows,
        keys: NamedRows,
        *,
        adds_columns: bool = False,
    ) -> None:
        """Replace the rows of some keys."""

        def written(snapshot: Snapshot) -> Snapshot:
            kept = _without(snapshot, set(keys), key)
            return _with(snapshot, kept, rows, adds_columns)

        self._write(session, table.name, "MERGE", written)

    def upsert(
        self,
        session: MemorySession,
        definition: StoredDefinition,
        rows: NamedRows,
        key: Sequence[str],
    ) -> None:
        """Add rows, which take the place of those that have the same key."""

        def written(snapshot: Snapshot) -> Snapshot:
            kept = _without(snapshot, set(rows.selecting(key)), key)
            return _with(snapshot, kept, rows, adds_columns=False)

        self._write(session, definition.name, "MERGE", written)

    def apply_changes(
        self,
        session: MemorySession,
        table: TableColumns,
        added: NamedRows,
        removed: NamedRows,
    ) -> None:
        """Remove and add rows, as bags."""

        def written(snapshot: Snapshot) -> Snapshot:
            rows = Counter(snapshot.rows)
            if missing := Counter(removed) - rows:
                raise RowsNotThereError(missing)
            kept_rows = tuple((rows - Counter(removed)).elements())
            return _with(snapshot, kept_rows, added, adds_columns=False)

        self._write(session, table.name, "MERGE", written)

    def set_properties(
        self, session: MemorySession, name: TableName, properties: Mapping[str, str]
    ) -> None:
        """Set properties."""
        changes: dict[str, str | None] = dict(properties)
        self._write(session, name, "SET TBLPROPERTIES", lambda s: s.with_properties(changes))

    def unset_properties(
        self, session: MemorySession, name: TableName, keys: Sequence[str]
    ) -> None:
        """Remove properties."""
        gone: dict[str, str | None] = dict.fromkeys(keys)
        self._write(session, name, "UNSET TBLPROPERTIES", lambda s: s.with_properties(gone))

    def add_not_null(
        self, session: MemorySession, name: TableName, constraint: str, column: str
    ) -> None:
        """Let a table refuse NULL in a column."""
        snapshot = self._newest(session, name)[1]
        if constraint in FORMAT.constraints(dict(snapshot.properties)):
            raise ConstraintExistsError
        if snapshot.holds_null(column):
            raise NullsError
        added = {FORMAT.constraint_prefix + constraint: f"{column} IS NOT NULL"}
        self._write(session, name, "ADD CONSTRAINT", lambda s: s.with_properties(added))

    def drop_constraint(self, session: MemorySession, name: TableName, constraint: str) -> None:
        """Remove a constraint, if the table has it."""
        gone = {FORMAT.constraint_prefix + constraint: None}
        self._write(session, name, "DROP CONSTRAINT", lambda s: s.with_properties(gone))

    def cluster(self, session: MemorySession, name: TableName, columns: Sequence[str]) -> None:
        """Set the clustering columns."""
        by = tuple(columns)
        self._write(session, name, "CLUSTER BY", lambda s: replace(s, clustered_by=by))

    def compact(self, session: MemorySession, name: TableName) -> None:
        """Make a commit that changes no row: there are no files."""
        self._write(session, name, "OPTIMIZE", lambda s: s)

    def vacuum(self, session: MemorySession, name: TableName, kept_ms: int) -> None:
        """Forget the rows of versions that were replaced longer ago than that."""
        table, _ = self._newest(session, name)
        limit = self._now_ms() - kept_ms
        oldest = max((c.version for c in table.log if c.timestamp_ms <= limit), default=0)
        self._catalog.put(name, replace(table, vacuumed=max(table.vacuumed, oldest)))

    def _write(
        self,
        session: MemorySession,
        name: TableName,
        operation: str,
        update: Callable[[Snapshot], Snapshot],
    ) -> None:
        """Make the commit; where its number is taken, none, which `session.version` says."""
        table, _ = self._newest(session, name)
        change = self._change(session, operation)
        number = change.metadata.seq if change.metadata else 0
        if number and number <= dict(table.fences).get(change.fence, 0):
            return
        try:
            session.version = self._catalog.commit(name, change, update)
        except CommitConflictError as error:  # another one was first since the look above
            raise ConflictError from error

    def _change(self, session: MemorySession, operation: str) -> Change:
        return Change(operation, self._now_ms(), session.metadata, fence=session.fence)

    def _newest(self, session: MemorySession, name: TableName) -> tuple[VersionedTable, Snapshot]:
        table = session.catalog.table(name)
        if table is None:
            raise NoTableError
        return table, table.newest


def _with(
    snapshot: Snapshot,
    kept: tuple[tuple[object, ...], ...],
    rows: NamedRows,
    adds_columns: bool,  # noqa: FBT001
) -> Snapshot:
    new: tuple[Column, ...] = rows.columns[len(snapshot.columns) :] if adds_columns else ()
    padded = ((*row, *(None for _ in new)) for row in kept)
    return replace(snapshot, columns=(*snapshot.columns, *new), rows=(*padded, *rows))


def _without(
    snapshot: Snapshot, keys: set[tuple[object, ...]], names: Sequence[str]
) -> tuple[tuple[object, ...], ...]:
    there = NamedRows.of(snapshot.columns, snapshot.rows)
    found = zip(there, there.selecting(names), strict=True)
    return tuple(row for row, key in found if key not in keys)
