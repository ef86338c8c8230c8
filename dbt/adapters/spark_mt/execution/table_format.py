"""Port of table formats: tables that keep versions, as the engine reads and writes them.

`definition/table_format.py` has the names of a format. The protocols here have its operations. A
folder below `spark/` implements them, and `tests/support/memory/` in memory. The contract suite in
`tests/behaviour/table_format.py` has the requirements on every implementation.

A write is fenced by a number: of several writers that commit under the same number, the first one
wins. A number that was committed is never accepted again, nor is a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import (
        ChangeExtent,
        ChangeKind,
        VersionedPosition,
    )
    from dbt.adapters.spark_mt.definition.table_format import TableFormat, TableRef
    from dbt.adapters.spark_mt.execution.table_history import Commit


FENCE = "materialized-table"
"""The fence of the commits of materialized tables."""
SessionT_contra = TypeVar("SessionT_contra", contravariant=True)
"""A session that runs statements of the engine; no other thread uses it at the same time."""
RowsT = TypeVar("RowsT")
RowsT_co = TypeVar("RowsT_co", covariant=True)
"""Rows in the form of the engine: the text of a query on Spark, tuples in memory."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """A table and its columns.

    Args:
        name: The full name.
        columns: The names of the columns, in order.
        comparable: Whether rows of the table can be compared by all columns.
        types: The types of the columns, as in `Column.type`; none where they are not known.
    """

    name: TableName
    columns: tuple[str, ...]
    comparable: bool = True
    types: tuple[str, ...] = ()

    @classmethod
    def of(cls, definition: StoredDefinition) -> TableColumns:
        """Return a materialized table with the columns of its definition."""
        columns = definition.resolved.columns
        names, types = (tuple(c.name for c in columns), tuple(c.type for c in columns))
        return cls(definition.name, names, all(map(is_comparable, types)), types)


def is_comparable(type_: str) -> bool:
    """Whether two values of a type are the same exactly if they compare as equal."""
    return not any(word in type_.upper() for word in ("MAP<", "VARIANT", "COLLATE"))


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A table from one of its versions to another.

    Args:
        table: The table.
        after: The position after which changes count; `BEFORE_ALL` for all of its rows.
        upto: The newest position that counts.
        columns: The names, in lower case, of the columns that are read; None for all. Any other
            column is NULL in every row.
    """

    table: TableRef
    after: VersionedPosition
    upto: VersionedPosition
    columns: Collection[str] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the range can have no changes."""
        return self.after == self.upto

    def reads(self, column: str) -> bool:
        """Whether a column is read, by its name in any case."""
        return self.columns is None or column.lower() in self.columns


@dataclass(frozen=True, slots=True)
class TableDescription:
    """Comment and properties of a table at one of its versions.

    Args:
        comment: Empty without one.
        properties: As the engine shows them, with those that the format sets, and none redacted.
    """

    comment: str
    properties: Mapping[str, str]


class TableHistory(Protocol):
    """Reads the commits of tables.

    Versions grow with each commit, by one or more: only a format may add to a version or subtract
    from it. Old commits may be removed, the oldest ones first.
    """

    def is_there(self, table: TableRef) -> bool:
        """Whether there is a table, or was one when its newest version was read before."""

    def newest(self, table: TableRef) -> int:
        """Return the newest version of a table; -1 without a table."""

    def is_newest(self, table: TableRef, version: int) -> bool:
        """Whether a version is the newest one of a table, as cheaply as possible."""

    def oldest(self, table: TableRef) -> Commit | None:
        """Return the oldest commit that still exists; None without one."""

    def at(self, table: TableRef, instant_ms: int) -> int | None:
        """Return the newest version that was committed before an instant, as time travel reads it.

        Args:
            table: The table.
            instant_ms: Milliseconds since the epoch, UTC.

        Returns:
            None if no commit before the instant exists any more.
        """

    def commit(self, table: TableRef, version: int) -> Commit | None:
        """Return the commit of a version, or None if it does not exist."""

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        """Return the commits of versions, without those that do not exist."""

    def backwards(self, table: TableRef, newest: int | None = None) -> Iterator[Commit]:
        """Yield commits from a version, or from the newest one, to the oldest that still exists."""

    def stamp(self, table: TableRef, version: int) -> str:
        """Return a value that identifies the commit of a version; empty without such a commit.

        It differs from that of another table's commit with the same version.
        """

    def first_row_change(self, table: TableRef, after: int, upto: int) -> Commit | None:
        """Return the first commit after version `after`, up to `upto`, that changes rows."""

    def keeps_columns(self, table: TableRef, after: int, upto: int) -> bool:
        """Whether no commit after version `after`, up to `upto`, changes columns or properties.

        False where not all of these commits exist.
        """

    def description(self, table: TableRef, version: int) -> TableDescription | None:
        """Return comment and properties of a table at a version; None if only a job could."""
        ...

    def size(self, table: TableRef, version: int) -> tuple[int, int] | None:
        """Return the number of a table's data files and their bytes at a version.

        If the history has no size of that version, it is that of the last checkpoint. None without
        a checkpoint, or if only a job could read it.
        """
        ...


class RowsNotThereError(Exception):
    """Rows to be removed are not in the table, or rows to be added would have the key of others.

    The table is not what the change was computed from.
    """


class TableChanges(Protocol[RowsT_co]):
    """Reads the changes of a table's rows between two of its versions, as bags of rows.

    Rows are compared by the columns of the range. These must have the same types at both versions,
    unless a method says otherwise.
    """

    def changed_types(self, range_: VersionRange) -> tuple[str, ...]:
        """Return the columns of the range that have other types at its end than at its beginning.

        Nested names and their order count, nullability does not. A column counts that is at one of
        the versions only, or that was dropped and added again. The first version was verified.

        Returns:
            A clause for people for each column, such as `a was INT and is BIGINT`.
        """

    def kind(self, range_: VersionRange, *, net: bool) -> ChangeKind:
        """Return the kind of change in a range whose first version was verified.

        A table that was written again with the same rows did not change.

        Args:
            range_: The range.
            net: Whether a row that was removed and added again is no change in any case. If not,
                it is one where the log counts removed rows: then no rows are compared.
        """

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """Return the extent of change in a range with a verified first version, from the log."""

    def added(self, range_: VersionRange) -> RowsT_co:
        """Return the rows that the range added, with the columns of its end."""

    def removed(self, range_: VersionRange) -> RowsT_co | None:
        """Return the rows that the range removed, with the columns of its end; None for none."""

    def weighted(self, range_: VersionRange, weight: str) -> Sequence[RowsT_co]:
        """Return the rows that the range added or removed, with the columns of its end.

        Args:
            range_: The range.
            weight: The name of one more column, the last one. It has the number of times that the
                range added the row, or as a negative number, removed it. Rows that the format can
                compare occur once.

        Returns:
            The same rows in several ways, the cheapest first. Only the last one can always be read.
        """


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Data files of the newest version of a table.

    Args:
        paths: All of them.
        rows: The rows of those that were not known, by path: values of columns, in their order.
    """

    paths: frozenset[str]
    rows: Mapping[str, Sequence[tuple[Any, ...]]]


class SmallTables(Protocol):
    """Reads small tables in the process of the caller, without a job of the engine."""

    def read(
        self, table: TableRef, columns: Sequence[str], known: Collection[str]
    ) -> DataFiles | None:
        """Read a table at its newest version; None if only a job could.

        Args:
            table: The table.
            columns: The columns whose values to return.
            known: The paths of data files that need not be read: no data file ever changes.
        """


class SourceTables(Protocol[SessionT_contra, RowsT_co]):
    """Tables of a format as sources: their history, their versions and their changes."""

    @property
    def format(self) -> TableFormat:
        """The names of the format."""

    @property
    def history(self) -> TableHistory:
        """The commits of tables."""

    # Identity and layout

    def ref(self, name: TableName, location: str) -> TableRef:
        """Return a table by its full name and the location that the catalog or an error has.

        Raises:
            MaterializedTableError: Tables of its catalog cannot be read as sources.
        """
        ...

    def find(self, name: TableName) -> TableRef | None:
        """Return the table of a full name, if it is found without a statement of the engine.

        Args:
            name: A name in one of the catalogs whose tables all have the format.

        Raises:
            MaterializedTableError: As `ref`.
        """
        ...

    def directory(self, table: TableRef) -> str:
        """Return the path of the directory in which a table's files are."""
        ...

    def identity(self, session: SessionT_contra, table: TableRef) -> str:
        """Return the format's own identity of a table, which a copy of it does not have."""
        ...

    def partition_columns(self, session: SessionT_contra, name: TableName) -> tuple[str, ...]:
        """Return the columns by which a table is partitioned."""
        ...

    def as_of(self, table: TableRef, version: int) -> str:
        """Return what a query reads for a table at one of its versions, as text after FROM.

        Raises:
            SourceNotFoundError: The format finds versions by their identities, and the table no
                longer has this one.
        """
        ...

    def opened(self, session: SessionT_contra, table: TableRef, version: int) -> str:
        """Return what the queries of one session read for a table at a version, as `as_of`.

        To open a version costs as much as to plan one read of it. Each read costs less then.
        """
        ...

    def changes(self, session: SessionT_contra) -> TableChanges[RowsT_co]:
        """Return a reader of changes between versions."""
        ...


class VersionedTables(SourceTables[SessionT_contra, RowsT], Protocol[SessionT_contra, RowsT]):
    """Tables of a format that has materialized tables: also their commits and maintenance.

    A write makes one commit. The caller of `commit` passes the number that fences the commit, and
    its metadata.
    """

    # Commits

    def commit(
        self,
        session: SessionT_contra,
        name: TableName,
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write, whose one commit has the metadata and, with a number, the fence.

        Args:
            session: The session of the write.
            name: The table that it writes, or makes.
            metadata: The metadata of the commit.
            number: The number that the fence accepts once; None for a commit without a fence.
            write: Makes one commit.
            fence: The fence of the number. Numbers of different fences are independent.

        Returns:
            The version, or None if the commit was skipped. That happens if the table has a commit
            with this number of the fence or with a higher one.

        Raises:
            MaterializedTableError: The storage does not serialize commits of several drivers, and
                the user has not confirmed that there is one only.
        """

    def create(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        rows: RowsT,
        *,
        replace: bool = False,
    ) -> None:
        """Create a table with columns, layout and properties of its definition, and with rows.

        Args:
            session: The session of the statement.
            definition: The definition.
            rows: The rows.
            replace: Whether a table of the name, or files at its location, are replaced.
        """

    def replace(
        self,
        session: SessionT_contra,
        name: TableName,
        rows: RowsT,
        partitioned_by: Sequence[str] = (),
        *,
        by_row: bool = False,
    ) -> None:
        """Replace all rows, the columns and the partitioning of a table, or create it.

        Args:
            session: The session of the statement.
            name: The table.
            rows: Its rows.
            partitioned_by: The columns by which it is partitioned.
            by_row: Whether writes that change few rows shall write little, if the format can
                choose.
        """

    def overwrite(
        self, session: SessionT_contra, name: TableName, rows: RowsT, *, adds_columns: bool = False
    ) -> None:
        """Replace all rows of a table."""

    def overwrite_where(
        self, session: SessionT_contra, name: TableName, condition: str, rows: RowsT
    ) -> None:
        """Replace the rows that meet a condition; all new rows meet it, too."""

    def append(
        self,
        session: SessionT_contra,
        name: TableName,
        rows: RowsT,
        columns: Sequence[str] = (),
        *,
        adds_columns: bool = False,
    ) -> None:
        """Add rows.

        Args:
            session: The session of the write.
            name: The table.
            rows: The rows.
            columns: The columns of the rows, in their order; by default those of the table.
            adds_columns: Whether the rows may have columns that the table lacks.
        """

    def replace_keys(
        self,
        session: SessionT_contra,
        table: TableColumns,
        key: Sequence[str],
        rows: RowsT,
        keys: RowsT,
        *,
        adds_columns: bool = False,
    ) -> None:
        """Replace the rows of some keys by other rows; remove those of keys without a row.

        Rows that are equal to those of the table stay where they are.

        Args:
            session: The session of the statement.
            table: The table.
            key: Columns that have different values in every row of the table, before and after.
            rows: The rows, none of another key.
            keys: The columns of the key, each key once.
            adds_columns: Whether the table may still lack columns of `table`.
        """

    def upsert(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        rows: RowsT,
        key: Sequence[str],
    ) -> None:
        """Add rows, which replace those that have the same key."""

    def apply_changes(
        self,
        session: SessionT_contra,
        table: TableColumns,
        added: RowsT,
        removed: RowsT,
    ) -> None:
        """Remove and add rows, as bags; all other rows stay.

        Args:
            session: The session of the statement.
            table: The table.
            added: Rows to add.
            removed: Rows to remove. Of several equal rows in the table only as many are removed.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """

    # Properties and constraints, each change one commit

    def set_properties(
        self, session: SessionT_contra, name: TableName, properties: Mapping[str, str]
    ) -> None:
        """Set properties of a table."""

    def unset_properties(
        self, session: SessionT_contra, name: TableName, keys: Sequence[str]
    ) -> None:
        """Remove properties of a table, as far as it has them."""

    def add_not_null(
        self, session: SessionT_contra, name: TableName, constraint: str, column: str
    ) -> None:
        """Add a constraint of this name, by which a table refuses NULL in a column.

        The table must have no NULL in it; otherwise the error has a condition of the format's
        `rows_break_constraint`. If it refuses NULL already, the condition is of
        `constraint_exists`.
        """

    def drop_constraint(self, session: SessionT_contra, name: TableName, constraint: str) -> None:
        """Remove a constraint, if the table has it."""

    def cluster(self, session: SessionT_contra, name: TableName, columns: Sequence[str]) -> None:
        """Set the clustering columns of a table; none for no clustering."""

    # Maintenance

    def compact(self, session: SessionT_contra, name: TableName) -> None:
        """Merge small files; the commit changes no row."""

    def vacuum(self, session: SessionT_contra, name: TableName, kept_ms: int) -> None:
        """Remove files that were replaced more than `kept_ms` ago."""


TablesT_co = TypeVar("TablesT_co", bound=VersionedTables[Any, Any], covariant=True)


class InstalledTables(Generic[TablesT_co]):
    """Tables of all installed formats, each with the implementation of its own format.

    Args:
        default: The implementation that has the tables that name no format.
        others: Those of the other formats that have materialized tables.
        sources: Those of the formats whose tables are only read.
    """

    def __init__(
        self,
        default: TablesT_co,
        *others: TablesT_co,
        sources: Sequence[SourceTables[Any, Any]] = (),
    ) -> None:
        self.default = default
        self._written = {each.format.name: each for each in (default, *others)}
        self._known: dict[str, SourceTables[Any, Any]] = {**self._written}
        self._known |= {each.format.name: each for each in sources}

    def named(self, provider: str) -> SourceTables[Any, Any] | None:
        """Return the format of a provider, in lower case; None if its tables have no versions."""
        return self._known.get(provider)

    def made_in(self, catalog_class: str) -> SourceTables[Any, Any]:
        """Return the format of the tables that are made in a catalog of a class."""
        found = (each for each in self._known.values() if catalog_class in each.format.catalogs)
        return next(found, self.default)

    def of(self, table: TableRef) -> SourceTables[Any, Any]:
        """Return the format of a table."""
        return self._known[table.format]

    def written(self, table: TableRef) -> TablesT_co:
        """Return the format of a materialized table.

        Raises:
            MaterializedTableError: Tables of its format are only read.
        """
        return self.written_by(self.of(table).format, table.name)

    def written_by(self, table_format: TableFormat, name: TableName) -> TablesT_co:
        """Return what writes the materialized tables of a format; raises as `written`.

        Args:
            table_format: The format.
            name: The table in question.
        """
        found = self._written.get(table_format.name)
        if found is None:
            raise conditions.FORMAT_WITHOUT_TABLES(table=name, format=table_format.title)
        return found

    def history(self, table: TableRef) -> TableHistory:
        """Return what reads the commits of a table."""
        return self.of(table).history

    def as_of(self, table: TableRef, version: int) -> str:
        """Return what a query reads for a table at a version, as text after FROM."""
        return self.of(table).as_of(table, version)

    def changes(self, session: Any) -> Callable[[TableRef], TableChanges[Any]]:  # noqa: ANN401
        """Return what gives the reader of changes of a table: one for all tables of a format."""

        @cache
        def reader(format_: str) -> TableChanges[Any]:
            changes: TableChanges[Any] = self._known[format_].changes(session)
            return changes

        return lambda table: reader(table.format)

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        """As `TableHistory.commits`, of tables of any formats."""
        by_format: dict[str, list[tuple[TableRef, int]]] = {}
        for key in wanted:
            by_format.setdefault(key[0].format, []).append(key)
        found: dict[tuple[TableRef, int], Commit] = {}
        for keys in by_format.values():
            found |= self.history(keys[0][0]).commits(keys)
        return found
