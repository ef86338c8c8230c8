"""What the engine needs from the world, as protocols.

Each has two implementations: `spark/` on PySpark and Delta Lake, and `execution/memory/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, Positions
    from dbt.adapters.spark_mt.definition.table_state import Found, PlainTable
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.planning.steps import Step
    from dbt.adapters.spark_mt.planning.windows import ChangeKind
    from dbt.adapters.spark_mt.resolution.analysis import Source


class CommitConflictError(MaterializedTableError):
    """Another commit came first: what was planned is no longer valid and must be planned again."""

    condition = "MATERIALIZED_TABLE_CONCURRENT_CHANGE"
    text = "Another writer changed the materialized table {table} at the same time."
    remedy = "Nothing was changed. Run the statement again; it costs nothing but its own time."


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did.

    Args:
        rows: Rows written, where the step wrote rows.
        committed_at_ms: When its commit was made, milliseconds since the epoch, UTC; 0 without one.
        positions: The positions that its commit recorded, where it recorded any.
        warnings: Sentences that the user should read.
    """

    rows: int | None = None
    committed_at_ms: int = 0
    positions: Positions | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartPosition:
    """From where a source counts that starts at an instant.

    Args:
        position: Its state right before the first commit at or after the instant.
        is_complete: Whether the source's log reaches back to the instant.
    """

    position: FollowedPosition
    is_complete: bool = True


class TableStore(Protocol):
    """Finds what stands under a name."""

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the current catalog and schema."""
        ...

    def find(self, name: TableName) -> Found:
        """Look at the table itself, never at an index of tables."""
        ...

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest, as cheaply as possible."""
        ...

    def forget(self) -> None:
        """Look at everything anew from now on."""
        ...

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain table with versions under the full name `name`, if it is one.

        Raises:
            UnreadableDefinitionError: It has a definition that cannot be read.
        """
        ...

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        ...

    def is_empty(self, name: TableName) -> bool:
        """Whether a table that is there has no rows."""
        ...


class SourceReader(Protocol):
    """Tells where sources stand."""

    def positions(self, sources: Sequence[Source]) -> Positions:
        """Return one state of all sources that existed at one moment.

        Raises:
            SourceNotFoundError: A source is gone.
            BusySourcesError: The sources change faster than they can be looked at.
        """
        ...

    def first_change_after(self, source: TableName, position: FollowedPosition) -> int | None:
        """Return when the first commit after `position` was made, or None if there is none.

        Of a log, the time of the first record behind it; None as well where it tells no times. Of a
        table that was dropped and created again, all commits come after it. Milliseconds since
        the epoch, UTC.
        """
        ...

    def is_readable(self, source: TableName, position: FollowedPosition) -> bool:
        """Whether the source still has the very version that `position` names."""
        ...

    def earliest(self, source: TableName) -> FollowedPosition | None:
        """Return where a log begins now; None for a source that is no log.

        Raises:
            SourceNotFoundError: It is gone.
        """
        ...

    def changes(
        self, source: TableName, after: FollowedPosition, upto: FollowedPosition
    ) -> ChangeKind:
        """Return what happened to the rows of a source between two of its positions.

        Rows are compared as bags: a table that was rebuilt with the same rows did not change.

        Raises:
            SourceNotFoundError: It is gone.
        """
        ...

    def position_at(self, source: TableName, instant_ms: int) -> StartPosition:
        """Return from where a source counts that starts at an instant.

        Args:
            source: The source.
            instant_ms: Milliseconds since the epoch, UTC.

        Raises:
            SourceNotFoundError: It is gone.
        """
        ...


class StepRunner(Protocol):
    """Carries out steps."""

    def run(self, step: Step) -> StepResult:
        """Carry out one step.

        Raises:
            CommitConflictError: Another commit came before this step's commit.
            MaterializedTableError: The step cannot be done; each cause has its own class.
        """
        ...

    def undo(self, step: Step) -> None:
        """Remove what a step left behind that failed, or that a later one made void."""
        ...


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """A table's row in the registry: an index, never the truth about a definition.

    Args:
        freshness: As it stands in a statement.
        last_refresh_at_ms: When the rows were computed, milliseconds since the epoch, UTC.
        recorded_at_ms: When these figures were taken.
    """

    name: TableName
    table_id: str
    refresh_mode: str
    freshness: str
    status: str
    last_refresh_at_ms: int | None
    lag_seconds: int | None
    recorded_at_ms: int


class Registry(Protocol):
    """Lists tables without looking at each."""

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        ...

    def knows(self, name: TableName) -> bool:
        """Whether there is a row for `name`, also where no such table exists any more."""
        ...

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog that was ever told and not dropped, ordered by name.

        One read, whatever their number: some may be gone meanwhile.
        """
        ...


class ManagedRegistry(Registry, Protocol):
    """What a manager asks of the registry beside."""

    def version(self, catalog: str) -> int:
        """Return what changes whenever a row is told, as cheaply as possible; -1 for no registry.

        Rows about refreshes count, too.
        """
        ...

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name.

        One read, whatever their number. A row that an older release wrote is left out.
        """
        ...

    def tell_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:
        """Tell by whom tables are refreshed from now on, all in one commit.

        Args:
            catalog: Of the tables.
            handlers: The serialized refresh handler by table; empty where nobody does.
        """
        ...

    def handler(self, name: TableName) -> bytes:
        """Return the serialized refresh handler of a table; empty without one."""
        ...


class JobLog(Protocol):
    """The log of refreshes: rows are appended, the newest row of a job tells how it stands.

    One log per catalog; rows are kept for 30 days.
    """

    def append(self, *jobs: Job) -> None:
        """Write a row about each job, all in one commit; they are of one catalog."""
        ...

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs that were heard of since an instant, the newest start first.

        Args:
            catalog: Whose tables.
            since_ms: Milliseconds since the epoch, UTC.
        """
        ...

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        ...

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that were heard of since, and have not ended."""
        ...


class ManagedJobLog(JobLog, Protocol):
    """What a manager asks of the log of refreshes beside."""

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table that were heard of since an instant.

        Args:
            catalog: Whose tables.
            per_table: How many of each at most.
            since_ms: Milliseconds since the epoch, UTC.
        """
        ...

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        ...

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for, or had nothing to do.

        Milliseconds since the epoch, UTC.
        """
        ...
