"""Port of table formats: tables that keep versions, as the engine reads and writes them.

`definition/table_format.py` has what a format is called. The protocols here are what it does. A
folder below `spark/` implements them, and `tests/support/memory/` in memory. The contract suite in
`tests/behaviour/table_format.py` says what every implementation must do.

A write is fenced by a number: of several writers that commit under the same number, the first one
wins. A number that was committed is never accepted again, nor is a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import (
        ChangeExtent,
        ChangeKind,
        VersionedPosition,
    )
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.table_history import Commit


FENCE = "materialized-table"
"""The fence of the commits of materialized tables."""

SessionT_contra = TypeVar("SessionT_contra", contravariant=True)
"""In which the engine runs statements; no other thread uses it at the same time."""
RowsT = TypeVar("RowsT")
RowsT_co = TypeVar("RowsT_co", covariant=True)
"""How the engine hands rows over: the text of a query on Spark, tuples in memory."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A table from one of its versions to another.

    Args:
        name: The full name.
        location: Where the table lives.
        after: Its changes count from here on; `BEFORE_ALL` for all of its rows.
        upto: The newest position that counts.
    """

    name: TableName
    location: str
    after: VersionedPosition
    upto: VersionedPosition

    @property
    def is_empty(self) -> bool:
        """Whether nothing can have happened."""
        return self.after == self.upto


class TableLog(Protocol):
    """Reads the commits of tables, each table given by where it lives.

    Old commits may be removed. What is left has no gaps.
    """

    def versions(self, location: str) -> list[int]:
        """Return the versions whose commits are still there, oldest first; none without a log."""
        ...

    def newest(self, location: str, known: int = -1) -> int:
        """Return the newest version of a table; -1 where there is no log.

        Args:
            location: Where the table lives.
            known: A version that it had before, from which the search begins if it is still there.
        """
        ...

    def is_newest(self, location: str, version: int) -> bool:
        """Whether a version is the newest one of a table, as cheaply as possible."""
        ...

    def next_after(self, location: str, version: int) -> int | None:
        """Return the first version after one that the log has; None where there is none."""
        ...

    def commit(self, location: str, version: int) -> Commit | None:
        """Return one commit, or None where the log does not have it."""
        ...

    def commits(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Commit]:
        """Return commits by (location, version), without those that no log has."""
        ...

    def commit_times(self, location: str, versions: Iterable[int]) -> dict[int, int]:
        """Return when commits were made, as time travel counts it, by version.

        Milliseconds since the epoch, UTC.
        """
        ...

    def backwards(self, location: str, newest: int | None = None) -> Iterator[Commit]:
        """Yield commits from a version, or from the newest one, to the oldest that is there."""
        ...

    def stamp(self, location: str, version: int) -> str:
        """Return what differs when another table's commit has a version; empty where none has."""
        ...

    def first_row_change(self, location: str, first: int, last: int) -> Commit | None:
        """Return the first commit from version `first` to `last` that changes rows."""
        ...


class RowsNotThereError(Exception):
    """Rows to be removed are not in the table, or rows to be added would have the key of others.

    The table is not what the change was computed from.
    """


class TableChanges(Protocol[RowsT_co]):
    """Reads what happened to the rows of a table between two of its versions, as bags of rows."""

    def kind(self, range_: VersionRange) -> ChangeKind:
        """Return what happened in a range whose first version was verified.

        A table that was written again with the same rows did not change.
        """
        ...

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """Return how much happened in a range whose first version was verified, from the log."""
        ...

    def added(self, range_: VersionRange) -> RowsT_co:
        """Return the rows that the range added, with the columns of its end."""
        ...

    def removed(self, range_: VersionRange) -> RowsT_co | None:
        """Return the rows that the range removed, with the columns of its end; None for none."""
        ...

    def weighted(self, range_: VersionRange, weight: str) -> RowsT_co:
        """Return the rows that the range added or removed, with the columns of its end.

        Args:
            range_: The range.
            weight: The name of one more column, the last one. It says how often the range added
                the row, as a negative number how often it removed it. Rows that the format can
                compare are there once.
        """
        ...


class VersionedTables(Protocol[SessionT_contra, RowsT]):
    """Tables of a format: their history, their commits, their changes and their maintenance.

    A write makes one commit. It belongs to the caller of `commit`, which says by what number the
    commit is fenced and what it tells about itself.
    """

    @property
    def format(self) -> TableFormat:
        """The names of the format."""
        ...

    @property
    def log(self) -> TableLog:
        """The history of tables."""
        ...

    # Identity and layout

    def identity(self, session: SessionT_contra, name: TableName, location: str) -> str:
        """Return the format's own identity of a table, which a copy of it does not have."""
        ...

    def partition_columns(self, session: SessionT_contra, name: TableName) -> tuple[str, ...]:
        """Return the columns by which a table is partitioned."""
        ...

    def changes(self, session: SessionT_contra) -> TableChanges[RowsT]:
        """Return a reader of changes between versions."""
        ...

    # Commits

    def commit(
        self,
        session: SessionT_contra,
        metadata: str,
        number: int | None,
        write: Callable[[], object],
        fence: str = FENCE,
    ) -> int | None:
        """Run a write, whose one commit has the metadata and, with a number, the fence.

        Args:
            session: In which the write runs.
            metadata: What the commit says about itself.
            number: The number that the fence accepts once; None for a commit without a fence.
            write: Makes one commit.
            fence: Whose numbers they are. Numbers of different fences are independent.

        Returns:
            The version, or None where the commit was skipped, because the table has a commit with
            this number of the fence or with a higher one.
        """
        ...

    def create(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        rows: RowsT,
        *,
        replace: bool = False,
    ) -> None:
        """Create a table with everything that follows from its definition, and with rows.

        Args:
            session: In which the statement runs.
            definition: What is created.
            rows: The rows.
            replace: Whether a table of the name, or files at its location, are replaced.
        """
        ...

    def replace(
        self,
        session: SessionT_contra,
        name: TableName,
        rows: RowsT,
        partitioned_by: Sequence[str] = (),
    ) -> None:
        """Replace all rows, the columns and the partitioning of a table."""
        ...

    def overwrite(
        self, session: SessionT_contra, name: TableName, rows: RowsT, *, adds_columns: bool = False
    ) -> None:
        """Replace all rows of a table."""
        ...

    def overwrite_where(
        self, session: SessionT_contra, name: TableName, condition: str, rows: RowsT
    ) -> None:
        """Replace the rows that meet a condition; all new rows meet it, too."""
        ...

    def append(
        self, session: SessionT_contra, name: TableName, rows: RowsT, *, adds_columns: bool = False
    ) -> None:
        """Add rows."""
        ...

    def replace_keys(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        rows: RowsT,
        keys: RowsT,
        *,
        adds_columns: bool = False,
    ) -> None:
        """Replace the rows of some keys by other rows; keys without a row lose theirs.

        Args:
            session: In which the statement runs.
            definition: The table, which has a PRIMARY KEY.
            rows: The rows, none of another key.
            keys: The columns of the PRIMARY KEY, each key once.
            adds_columns: Whether the table may still lack columns of the definition.
        """
        ...

    def upsert(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        rows: RowsT,
        key: Sequence[str],
    ) -> None:
        """Add rows, which take the place of those that have the same key."""
        ...

    def apply_changes(
        self,
        session: SessionT_contra,
        definition: StoredDefinition,
        added: RowsT,
        removed: RowsT,
        unique_by: Sequence[str] = (),
    ) -> None:
        """Remove and add rows, as bags; all other rows stay where they are.

        Args:
            session: In which the statement runs.
            definition: The table.
            added: Rows to add.
            removed: Rows to remove. Of several equal rows in the table only as many are removed.
            unique_by: Columns that hold different values in every row of the table, before and
                after; none if there are none.

        Raises:
            RowsNotThereError: The table does not have all rows that are to be removed.
        """
        ...

    # Properties and constraints, each change one commit

    def set_properties(
        self, session: SessionT_contra, name: TableName, properties: Mapping[str, str]
    ) -> None:
        """Set properties of a table."""
        ...

    def unset_properties(
        self, session: SessionT_contra, name: TableName, keys: Sequence[str]
    ) -> None:
        """Remove properties of a table, as far as it has them."""
        ...

    def add_not_null(
        self, session: SessionT_contra, name: TableName, constraint: str, column: str
    ) -> None:
        """Let a table refuse NULL in a column, by a constraint of this name.

        The table must have no NULL in it. The format says so by its conditions
        `rows_break_constraint`, and by `constraint_exists` that it refuses NULL already.
        """
        ...

    def drop_constraint(self, session: SessionT_contra, name: TableName, constraint: str) -> None:
        """Remove a constraint, if the table has it."""
        ...

    def cluster(self, session: SessionT_contra, name: TableName, columns: Sequence[str]) -> None:
        """Set the clustering columns of a table; none for no clustering."""
        ...

    # Maintenance

    def compact(self, session: SessionT_contra, name: TableName) -> None:
        """Merge small files; the commit changes no row."""
        ...

    def vacuum(self, session: SessionT_contra, name: TableName, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that."""
        ...
