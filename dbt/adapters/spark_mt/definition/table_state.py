"""State of a name in the catalog: no table, an unmanaged table or a materialized table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.commit_metadata import EarlierRefresh, StreamMetadata
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.unknown_keys import Unknown


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing has this name."""

    name: TableName


@dataclass(frozen=True, slots=True)
class UnmanagedTable:
    """Something has this name that is no materialized table.

    Args:
        kind: What it is, for people: `view`, `parquet table`, `clone of a materialized table`.
    """

    name: TableName
    kind: str


@dataclass(frozen=True, slots=True)
class InconsistentTable:
    """This was a materialized table until another writer changed what makes it one.

    Args:
        problem: What was found, one sentence without a full stop.
        seq: The highest sequence number of our commits in its log.
        definition: The newest definition that its log still holds.
    """

    name: TableName
    problem: str
    seq: int
    definition: StoredDefinition


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A materialized table whose definition, or whose newest commit, cannot be read.

    It can be dropped or replaced, and nothing else.

    Args:
        error: Why.
        table_id: Our identity of the table, from its newest commit; empty if no commit has it.
        generation: The generation of the definition in force.
        seq: As that of `StoredTable`.
    """

    name: TableName
    error: MaterializedTableError
    table_id: str
    generation: int
    seq: int


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A commit to a materialized table that is not ours."""

    version: int
    operation: str


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """The refresh that wrote the rows which the table has.

    Args:
        started_at_ms: When it read the positions, milliseconds since the epoch, UTC.
        committed_at_ms: When its commit was made.
        trigger: What asked for it: `CREATE`, `REFRESH` …
        rows: Rows written; None where the log no longer has it.
        repeated: How many refreshes in a row used the strategy, this one included.
        earlier: The last refresh by each other strategy.
        unknown_keys: What a newer release stored of it in addition.
    """

    refresh_id: str
    strategy: str
    trigger: str
    started_at_ms: int
    committed_at_ms: int
    rows: int | None
    repeated: int = 1
    earlier: tuple[EarlierRefresh, ...] = ()
    unknown_keys: Unknown = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table with versions that is no materialized table, as whoever adopts it must know it.

    Args:
        columns: With the nullability and the comments that they have in the table.
        partitioned_by: Its partition columns.
        version: Its newest version.
        seq: The highest sequence number of ours among its commits; 0 for none.
        is_fence_known: Whether nothing that its log no longer shows can hold a higher number.
        leftover: A definition among its properties that is not its own (of a clone), or no longer
            (of a table whose release was cut short).
    """

    name: TableName
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    version: int
    seq: int = 0
    is_fence_known: bool = True
    leftover: StoredDefinition | None = None


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A materialized table as the catalog has it.

    Args:
        definition: The newest definition, whether published in the properties yet or not.
        seq: The sequence number of our newest commit; the next one takes the next number.
        version: The table's own newest version.
        columns: The columns that the table really has.
        positions: Up to where its rows reflect the sources; None when that is unknown.
        last_refresh: None when the log no longer holds it.
        published: What the properties hold, where the newest definition, or what follows from it,
            must still be written to them; None where nothing is left to do.
        foreign_commits: Data changes by others since our newest refresh, oldest first.
        stream: The batch of the stream that wrote the newest rows; None where no stream did.
    """

    definition: StoredDefinition
    seq: int
    version: int
    columns: tuple[Column, ...]
    positions: Positions | None
    last_refresh: LastRefresh | None = None
    published: StoredDefinition | None = None
    foreign_commits: tuple[ForeignCommit, ...] = field(default=())
    stream: StreamMetadata | None = None

    @property
    def name(self) -> TableName:
        """The full name."""
        return self.definition.name

    @property
    def foreign(self) -> tuple[tuple[int, str], ...]:
        """The changes by others as a commit lists them."""
        return tuple((commit.version, commit.operation) for commit in self.foreign_commits)

    @property
    def unpublished(self) -> bool:
        """Whether a statement before left something undone after its commit."""
        return self.published is not None

    @property
    def never_published(self) -> bool:
        """Whether it was adopted by a commit, and its properties do not say so yet."""
        return self.published is not None and self.published.generation == 0


FoundTable = Missing | UnmanagedTable | InconsistentTable | Unreadable | StoredTable


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """Comments, properties and clustering of a table.

    Args:
        comment: Empty without one.
        column_comments: By column; those without comment are absent.
        properties: Values may be redacted.
        clustered_by: The clustering columns, without backticks.
        maintained: The keys of properties that appear on a table without being asked for.
    """

    comment: str
    column_comments: Mapping[str, str]
    properties: Mapping[str, str]
    clustered_by: tuple[str, ...]
    maintained: frozenset[str] = frozenset()
