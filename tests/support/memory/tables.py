"""Contents of a catalog in memory, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.execution.table_format import FENCE
from dbt.adapters.spark_mt.execution.table_history import Commit, is_other_table
from tests.support.memory.table_format import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Pairs, QueryContext
    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.table_format import CommitEffect


Row = tuple[object, ...]
Rows = tuple[Row, ...]


class ForbiddenNullError(ValueError):
    """A row holds NULL where the table refuses it, whoever writes it."""


class UnreadableVersionError(ValueError):
    """The files of a version were removed."""


class NamedRows(tuple[Row, ...]):
    """Rows that know their columns.

    Attributes:
        columns: The columns.
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, columns: Iterable[Column], rows: Iterable[Row]) -> NamedRows:
        """Put rows and columns together."""
        made = cls(rows)
        made.columns = tuple(columns)
        return made

    def selecting(self, names: Iterable[str]) -> NamedRows:
        """Return the columns of these names, without case; one that is not there is NULL."""
        places = {column.name.lower(): at for at, column in enumerate(self.columns)}
        wanted = [(name, places.get(name.lower())) for name in names]
        columns = [Column(n, "VOID") if at is None else self.columns[at] for n, at in wanted]
        rows = (tuple(None if at is None else row[at] for _, at in wanted) for row in self)
        return NamedRows.of(columns, rows)

    def like(self, other: NamedRows) -> NamedRows:
        """Return the rows in the columns of others."""
        return self.selecting(column.name for column in other.columns)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at one version.

    Args:
        columns: With the comments that they have in the table.
        properties: Sorted pairs.
    """

    columns: tuple[Column, ...]
    rows: Rows = ()
    properties: Pairs = ()
    comment: str = ""
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()

    def with_properties(self, changes: Mapping[str, str | None]) -> Snapshot:
        """Return a copy with properties set, or removed where the value is None."""
        merged = {**dict(self.properties), **changes}
        kept = tuple(sorted((k, v) for k, v in merged.items() if v is not None))
        return replace(self, properties=kept)

    def holds_null(self, column: str) -> bool:
        """Whether a row holds NULL in a column, given in any case; not where there is none."""
        names = [c.name.lower() for c in self.columns]
        if column.lower() not in names:
            return False
        place = names.index(column.lower())
        return any(row[place] is None for row in self.rows)

    def with_comments(self, comments: Mapping[str, str]) -> Snapshot:
        """Return a copy with other comments on columns; an empty one removes it."""
        columns = tuple(
            replace(c, comment=comments[c.name] or None) if c.name in comments else c
            for c in self.columns
        )
        return replace(self, columns=columns)


_GAPS = (4, 1, 3, 1, 7, 2)


def gap_of(commits: int) -> int:
    """By how much the version of a table with some commits grows with the next one."""
    return _GAPS[commits % len(_GAPS)]


@dataclass(frozen=True, slots=True)
class Change:
    """A commit to be made.

    Args:
        operation: Its name.
        at_ms: When, milliseconds since the epoch, UTC.
        metadata: The commit metadata; those with a seq are fenced.
        rows: Rows written, where it writes rows.
        restored: For RESTORE: the version that it brings back.
        fence: Whose numbers the seqs are.
    """

    operation: str
    at_ms: int
    metadata: CommitMetadata | None = None
    rows: int | None = None
    restored: int | None = None
    fence: str = FENCE

    @property
    def effect(self) -> CommitEffect:
        """What the operation does."""
        return FORMAT.effect_of(self.operation)


@dataclass(frozen=True, slots=True)
class VersionedTable:
    """A table with versions.

    Args:
        identity: Another one after DROP and CREATE.
        snapshots: The table after each commit, in the order of their versions.
        versions: Those of the snapshots; they grow with gaps, which nothing but a format may know.
        log: The commits, oldest first; old ones may be cleaned up while their snapshots stay.
        fences: The highest seq that was committed of each fence. Neither RESTORE nor a clean-up of
            the log lowers it.
        vacuumed: The oldest version whose rows can be read.
    """

    identity: str
    snapshots: tuple[Snapshot, ...] = ()
    versions: tuple[int, ...] = ()
    log: tuple[Commit, ...] = ()
    fences: tuple[tuple[str, int], ...] = ()
    vacuumed: int = 0

    @property
    def fence(self) -> int:
        """The highest seq of the fence of materialized tables."""
        return dict(self.fences).get(FENCE, 0)

    def rows_at(self, version: int) -> NamedRows:
        """Return the rows of a version."""
        if version < self.vacuumed:
            raise UnreadableVersionError(version)
        snapshot = self.at(version)
        return NamedRows.of(snapshot.columns, snapshot.rows)

    def at(self, version: int) -> Snapshot:
        """Return the table at a version.

        Raises:
            ValueError: It never had this version.
        """
        return self.snapshots[self.versions.index(version)]

    @property
    def version(self) -> int:
        """The newest version."""
        return self.versions[-1] if self.versions else -1

    @property
    def newest(self) -> Snapshot:
        """The table at its newest version."""
        return self.snapshots[-1]

    def backwards(self) -> Iterator[Commit]:
        """Yield the commits that are still in the log, the newest first."""
        return reversed(self.log)

    def commit(self, change: Change, snapshot: Snapshot) -> VersionedTable:
        """Return the table with one more commit.

        Raises:
            CommitConflictError: The change is fenced, and its number was taken already, or it was
                planned for another table of this name.
        """
        metadata = change.metadata
        seq = metadata.seq if metadata else 0
        fences = dict(self.fences)
        if metadata and seq:
            if seq <= fences.get(change.fence, 0) or is_other_table(self.backwards(), metadata):
                raise conditions.CONCURRENT_CHANGE(table=metadata.table_id)
            fences[change.fence] = seq
        version = self.version + gap_of(len(self.versions))
        commit = Commit(
            version=version,
            previous=self.version,
            timestamp_ms=change.at_ms,
            operation=change.operation,
            metadata=metadata,
            rows=change.rows,
            identity=self.identity,
            effect=change.effect,
            restored=change.restored,
        )
        return replace(
            self,
            snapshots=(*self.snapshots, snapshot),
            versions=(*self.versions, version),
            log=(*self.log, commit),
            fences=tuple(sorted(fences.items())),
        )


@dataclass(frozen=True, slots=True)
class UnversionedTable:
    """A table without versions, such as a Parquet table.

    Args:
        format: How it is stored; empty where it is not known.
    """

    columns: tuple[Column, ...]
    rows: Rows = ()
    format: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A view.

    Args:
        query: Its query.
        context: The session in which it was made.
        columns: The names that the query's columns had then, by which they are found ever since;
            None where the query was unknown then.
    """

    query: str
    context: QueryContext
    columns: tuple[str, ...] | None = None


Relation = VersionedTable | UnversionedTable | View
