"""What a catalog in memory holds, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.history import Commit
from dbt.adapters.spark_mt.execution.ports import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.definition import Pairs, QueryContext

Row = tuple[object, ...]
Rows = tuple[Row, ...]


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

    def with_comments(self, comments: Mapping[str, str]) -> Snapshot:
        """Return a copy with other comments on columns; an empty one removes it."""
        columns = tuple(
            replace(c, comment=comments[c.name] or None) if c.name in comments else c
            for c in self.columns
        )
        return replace(self, columns=columns)


@dataclass(frozen=True, slots=True)
class Change:
    """A commit to be made.

    Args:
        operation: Its name, as Delta spells it.
        at_ms: When, milliseconds since the epoch, UTC.
        facts: What we say about it; those with a seq are fenced.
        rows: Rows written, where it writes rows.
        restored: For RESTORE: the version that it brings back.
    """

    operation: str
    at_ms: int
    facts: CommitFacts | None = None
    rows: int | None = None
    restored: int | None = None


@dataclass(frozen=True, slots=True)
class VersionedTable:
    """A table with versions.

    Args:
        identity: Another one after DROP and CREATE.
        snapshots: By version.
        log: The commits, oldest first; old ones may be cleaned up while their snapshots stay.
        fence: The highest seq that was committed. Like Delta's record of transactions, neither
            RESTORE nor a clean-up of the log lowers it.
    """

    identity: str
    snapshots: tuple[Snapshot, ...] = ()
    log: tuple[Commit, ...] = ()
    fence: int = 0

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.snapshots) - 1

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
            CommitConflictError: The change is fenced, and its number was taken already.
        """
        facts = change.facts
        seq = facts.seq if facts else 0
        if facts and seq and seq <= self.fence:
            raise CommitConflictError(table=facts.table_id)
        commit = Commit(
            version=self.version + 1,
            timestamp_ms=change.at_ms,
            operation=change.operation,
            parameters={} if change.restored is None else {"version": change.restored},
            facts=facts,
            rows=change.rows,
        )
        return replace(
            self,
            snapshots=(*self.snapshots, snapshot),
            log=(*self.log, commit),
            fence=max(self.fence, seq),
        )


@dataclass(frozen=True, slots=True)
class UnversionedTable:
    """A table without versions, such as a Parquet table.

    Args:
        format: How it is stored; empty where nobody knows.
    """

    columns: tuple[Column, ...]
    rows: Rows = ()
    format: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A view: a query, and the session in which it was made."""

    query: str
    context: QueryContext


Relation = VersionedTable | UnversionedTable | View
