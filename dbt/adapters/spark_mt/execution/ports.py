"""Ports of the engine: catalog, runner, sources, logs and streams, as protocols.

`spark/` implements them on PySpark, and `tests/support/memory/` in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import (
        CatalogEntry,
        FoundTable,
        PlainTable,
        ResolvedDefinition,
        StoredTable,
        StreamMetadata,
    )
    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
    from dbt.adapters.spark_mt.definition.positions import (
        ChangeExtent,
        ChangeKind,
        FollowedPosition,
        Position,
        Positions,
    )
    from dbt.adapters.spark_mt.definition.verification import RowDifference
    from dbt.adapters.spark_mt.planning.steps import RefreshRun, Register, Step
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of a step.

    Args:
        rows: Rows written, if the step wrote rows.
        committed_at_ms: When its commit was made, milliseconds since the epoch, UTC; 0 without one.
        positions: The positions that its commit recorded, if it recorded any.
        warnings: Sentences that the user should read.
        version: The version of the table that its commit made; None without one.
    """

    rows: int | None = None
    committed_at_ms: int = 0
    positions: Positions | None = None
    warnings: tuple[str, ...] = ()
    version: int | None = None


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Position of a source at an instant.

    Args:
        position: Its state right before the first commit at or after the instant.
        is_complete: Whether the source's log reaches back to the instant.
    """

    position: FollowedPosition
    is_complete: bool = True


class TableStore(Protocol):
    """Finds the table, view or other object of a name."""

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the current catalog and schema."""

    def why_not_created(self, name: TableName) -> str:
        """Return why no table of the full name `name` can be created; empty if one can."""

    def find(self, name: TableName) -> FoundTable:
        """Find a table by reading the table itself, never an index of tables."""

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest, as cheaply as possible."""

    def forget(self) -> None:
        """Clear all caches, so that every table is read again."""

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain table with versions under the full name `name`, if it is one.

        Raises:
            UnreadableDefinitionError: It has a definition that cannot be read.
        """

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""

    def is_empty(self, name: TableName) -> bool:
        """Whether an existing table has no rows."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A source between two of its positions, as a query reads it.

    Args:
        source: The full name.
        after: The position after which changes count.
        upto: The newest position that counts.
        columns: The names, in lower case, of the columns that the query reads; None for all.
    """

    source: TableName
    after: FollowedPosition
    upto: FollowedPosition
    columns: Collection[str] | None = None


class SourceReader(Protocol):
    """Reads positions and changes of sources."""

    def positions(self, sources: Sequence[Source]) -> Positions:
        """Return one state of all sources that existed at one moment.

        Raises:
            SourceNotFoundError: A source is gone.
            MaterializedTableError: The sources change faster than they can be read.
        """

    def is_readable(self, source: TableName, position: FollowedPosition) -> bool:
        """Whether the source still has exactly the version that `position` names."""

    def is_current(self, source: Source, position: Position) -> bool:
        """Whether a source is certainly at a position, as cheaply as possible."""

    def earliest(self, source: TableName) -> FollowedPosition | None:
        """Return the first position that a log has now; None for a source that is no log.

        Raises:
            SourceNotFoundError: It is gone.
        """

    def changed_types(self, span: SourceSpan) -> tuple[str, ...]:
        """Return the columns of a span that are not of the same types at both of its positions.

        Each is a clause for people, as of `TableChanges.changed_types`. None of them for a source
        without versions, and for positions of which one cannot be read any more.

        Raises:
            SourceNotFoundError: It is gone.
        """

    def keeps_rows(self, span: SourceSpan) -> bool:
        """Whether the log of a table shows that no commit between two positions changed rows.

        Raises:
            SourceNotFoundError: It is gone.
        """

    def changes(self, span: SourceSpan, *, net: bool) -> ChangeKind:
        """Return the kind of change of a source's rows, as bags, between two of its positions.

        The columns of the span have the same types at both. `net` is that of `TableChanges.kind`.

        Raises:
            SourceNotFoundError: It is gone.
        """

    def extent(self, span: SourceSpan) -> ChangeExtent:
        """Return the extent of change of a source between two of its positions, from its log."""

    def position_at(self, source: TableName, instant_ms: int) -> StartPosition:
        """Return the position of a source at an instant (milliseconds, UTC).

        Raises:
            SourceNotFoundError: It is gone.
        """


class StepRunner(Protocol):
    """Runs steps."""

    def run(self, step: Step) -> StepResult:
        """Run one step.

        Raises:
            CommitConflictError: Another commit came before this step's commit.
            MaterializedTableError: The step cannot be done; each cause has its own class.
        """

    def undo(self, step: Step) -> None:
        """Remove the remains of a step that failed, or that is void because a later one failed."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """A table's row in the registry: an index, never the source of a definition.

    Args:
        freshness: As it is written in a statement.
        last_refresh_at_ms: When the rows were computed, milliseconds since the epoch, UTC.
        recorded_at_ms: When these figures were taken.
    """

    name: TableName
    table_id: str
    refresh_mode: str
    freshness: str
    status: str
    last_refresh_at_ms: int | None
    recorded_at_ms: int


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table's newest row in the registry: an index, never the source of a definition.

    Args:
        name: Its full name.
        generation: The generation of the definition that was recorded.
        declared_refresh_mode: AUTOMATIC, CONTINUOUS or FULL.
        freshness: The lag that is allowed.
        status_reason: Why it is suspended, if no user did that.
        zone: The stored time zone of its schedule.
        formatters: The datetime pattern of each partition column that has one.
        reads: Full names of its sources.
        derived_from: The settings from which mode and freshness were derived; None if the row does
            not have them.
        last_refresh_at_ms: When its rows were computed, milliseconds since the epoch, UTC.
        rows: Rows that this refresh wrote.
        recorded_at_ms: When this was recorded.
    """

    name: TableName
    table_id: str
    generation: int
    refresh_mode: RefreshMode
    declared_refresh_mode: str
    freshness: Freshness
    status: RefreshStatus
    status_reason: str = ""
    zone: str = "UTC"
    formatters: Pairs = ()
    reads: tuple[str, ...] = ()
    derived_from: Pairs | None = None
    last_refresh_at_ms: int | None = None
    rows: int | None = None
    recorded_at_ms: int = 0


class ManagedRegistry(Protocol):
    """The registry of tables, which lists them without reading each of them."""

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""

    def knows(self, name: TableName) -> bool:
        """Whether there is a row for `name`, also if the table no longer exists."""

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog that was recorded and not dropped, ordered by name.

        It is one read for any number of tables. Some of them may be gone meanwhile.
        """

    def version(self, catalog: str) -> int:
        """Return a number that changes with every new row, as cheaply as possible.

        Rows about refreshes count, too. It is -1 without a registry.
        """

    def previous(self, catalog: str, version: int) -> int | None:
        """Return the version that was the newest one before a version; None where that is gone."""

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name.

        It is one read for any number of tables. A row that cannot be read is left out.
        """

    def record_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:
        """Record the refresh handlers of tables from now on, all in one commit.

        Args:
            catalog: The catalog of the tables.
            handlers: The serialized refresh handler by table; empty for none.
        """

    def handler(self, name: TableName) -> bytes:
        """Return the serialized refresh handler of a table; empty without one."""

    def handlers(self, catalog: str) -> Mapping[TableName, bytes]:
        """Return the newest handler of each table, also of tables that were dropped; one read."""


class JobLog(Protocol):
    """The log of refreshes: rows are appended, and the newest row of a job has its state.

    There is one log per catalog. Rows are kept for 30 days.
    """

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Write rows about jobs and tables of one catalog, all in one commit.

        Returns:
            The version of the registry that this made; -1 if that is not known.
        """

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs with a heartbeat since an instant, the newest start first."""

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables with a heartbeat since, and without an end."""


class ManagedJobLog(JobLog, Protocol):
    """The log of refreshes, with reads for managers."""

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table with a heartbeat since an instant.

        Args:
            catalog: The catalog of the tables.
            per_table: The largest number of jobs of a table.
            since_ms: Milliseconds since the epoch, UTC.
        """

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for, or was skipped.

        Times are milliseconds since the epoch, UTC.
        """

    def accepted(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the refreshes that were accepted since and have not begun, the oldest first."""


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """The first differing rows, and the number of all, copies counted."""

    rows: tuple[RowDifference, ...] = ()
    total: int = 0


class TableObserver(Protocol):
    """Reads tables without changing anything."""

    def catalog_entry(self, name: TableName) -> CatalogEntry:
        """Return the catalog's entry of an existing table."""

    def differences(
        self, table: StoredTable, run: RefreshRun, limit: int, digits: int | None = None
    ) -> RowDifferences:
        """Compare a table with its query, as bags of rows.

        The query is computed over the positions of `run`. For a table with a baseline, its rows are
        those that were kept and those added to them. The rules are those of a refresh.

        Args:
            table: The table; its rows are read as of its version.
            run: The state of the sources.
            limit: The largest number of differing rows to return.
            digits: By how many significant digits floating-point columns are compared; None for
                all of them. The order of a sum decides its last digits.

        Raises:
            ComparisonFailedError: They cannot be compared.
        """

    def is_partly_refreshed(self, table: StoredTable) -> bool:
        """Whether partitions were refreshed to another state of the sources than the rest."""


def _ignored(_: StoredTable) -> None:
    """Let a batch pass."""


@dataclass(frozen=True, slots=True)
class StreamTask:
    """A stream that refreshes a table from the state of its rows.

    Args:
        table: The table as it is.
        run: The refresh for the metadata of commits, and its strategy. Its positions are those of
            sources that are not followed: views, functions, lookup tables.
        resumes: The batch after which the stream resumes from its checkpoint; None for a stream
            that begins at the positions of the table's rows.
        every_ms: Time from the start of one batch to that of the next, if there are new rows; None
            for a stream that reads what is available and ends.
        committed: Takes the table as each batch leaves it; it returns at once and never raises.
    """

    table: StoredTable
    run: RefreshRun
    resumes: StreamMetadata | None = None
    every_ms: int | None = None
    committed: Callable[[StoredTable], None] = _ignored

    @property
    def followed(self) -> tuple[str, ...]:
        """Full names of the sources that are streams."""
        return self.run.choice.followed


@dataclass(frozen=True, slots=True)
class BatchDone:
    """The newest batch that a stream committed.

    Args:
        table: The table after the commit: its version, sequence number and positions.
        metadata: The batch.
        batches: The number of batches that were committed since the stream started.
        rows: Rows that these batches wrote, if they were counted.
        committed_at_ms: When the newest was committed, milliseconds since the epoch, UTC.
    """

    table: StoredTable
    metadata: StreamMetadata
    batches: int
    rows: int
    committed_at_ms: int


class Stream(Protocol):
    """A stream that was started."""

    @property
    def is_active(self) -> bool:
        """Whether it is running."""

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written, whose commit is not in `done` yet."""

    @property
    def failure(self) -> Exception | None:
        """Why it ended, if it was not stopped.

        It is a `MaterializedTableError` if a batch could not be committed, and the engine's own
        error if it could not be read.
        """

    @property
    def done(self) -> BatchDone | None:
        """The newest batch that it has committed."""

    @property
    def checked_at_ms(self) -> int:
        """When it began its newest read of the sources whose result is committed.

        Milliseconds since the epoch, UTC; 0 before the first one.
        """

    def wait(self) -> None:
        """Wait until a stream that only reads what is available has ended."""

    def stop(self) -> None:
        """End it between two batches; it has ended when this returns. May be called again."""


class StreamRunner(Protocol):
    """Starts streams."""

    def can_resume(self, table_id: str, stream: StreamMetadata) -> bool:
        """Whether the checkpoint exists and has the batch, and no later one is complete in it."""

    def start(self, task: StreamTask) -> Stream:
        """Follow the sources; each batch is one fenced commit.

        Raises:
            MaterializedTableError: The query cannot be run as a stream.
        """


class StoredQueryAnalyzer(Protocol):
    """Analyses a stored query in the context of its definition."""

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query under its own catalog, schema and SQL confs.

        Raises:
            QueryError: The engine refuses it now.
        """


class Storage(Protocol):
    """Maintenance of tables and of their partial sums; rows stay as they are."""

    def compact(self, name: TableName, table_id: str) -> None:
        """Merge the small files that many commits left.

        Nothing else may write to the table at the same time: one of both would have a conflict.
        """

    def vacuum(self, name: TableName, table_id: str, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that; milliseconds, at least a week."""

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        """Remove the checkpoints in which no stream of these tables ran for a week.

        Never those of other tables: several catalogs may keep theirs in the same place.
        """


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit of a refresh.

    Args:
        table: The table as the commit left it: its version, positions and definition.
        run: The refresh, with its strategy.
    """

    table: StoredTable
    run: RefreshRun


class Verifications(Protocol):
    """Verifies a share of the commits of refreshes, after they were made."""

    def submit(self, committed: Committed) -> None:
        """Verify a commit soon, if it is among those that the table wants verified.

        It returns at once and never raises.
        """

    def settle(self, name: TableName | None = None) -> None:
        """Wait until the commits of a table, or of all, that were submitted are verified."""


@dataclass(frozen=True, slots=True)
class AnalyzedTable:
    """A table and the analysis of its stored query, as one statement read them."""

    table: StoredTable
    analyzed: AnalyzedQuery
