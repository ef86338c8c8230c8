"""Definition of a materialized table: as declared, as resolved, as stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Column, ColumnSpec, Constraint, PrimaryKey
from dbt.adapters.spark_mt.definition.modes import (
    KEEP_NONE,
    LogicalRefreshMode,
    RefreshMode,
    RefreshStatus,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.definition.modes import ResolvedStartMode, StartMode, StateRetention
    from dbt.adapters.spark_mt.definition.positions import Baseline, SourcePositions
    from dbt.adapters.spark_mt.definition.source_columns import SourceColumns
    from dbt.adapters.spark_mt.definition.unknown_keys import Unknown


Pairs = tuple[tuple[str, str], ...]
"""A mapping as a sorted tuple, so that the values which hold it stay hashable."""


@dataclass(frozen=True, slots=True)
class DeclaredDefinition:
    """Everything the user wrote; a clause that was left out is None or empty.

    Args:
        query: The text after AS, trimmed, comments and case kept.
        options: WITH (…) in the order written.
    """

    query: str
    columns: tuple[ColumnSpec, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    comment: str | None = None
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    options: Pairs = ()
    freshness: Freshness | None = None
    refresh_mode: LogicalRefreshMode | None = None
    start_mode: StartMode | None = None
    state_retention: StateRetention | None = None

    @property
    def logical_refresh_mode(self) -> LogicalRefreshMode:
        """The asked mode, AUTOMATIC where the clause is absent."""
        return self.refresh_mode or LogicalRefreshMode.AUTOMATIC

    @property
    def keeps_state(self) -> bool:
        """Whether state is to be kept when the query changes, by STATE_RETENTION."""
        return self.state_retention not in (None, KEEP_NONE)

    @property
    def primary_key(self) -> PrimaryKey | None:
        """The declared key, if there is one."""
        return next((c for c in self.constraints if isinstance(c, PrimaryKey)), None)


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Where and under which settings a query was analysed; refreshes run it there again.

    Args:
        catalog: The current catalog.
        schema: The current schema.
        confs: The SQL confs that change what a query means, with their values.
    """

    catalog: str
    schema: str
    confs: Pairs = ()


@dataclass(frozen=True, slots=True)
class ResolvedDefinition:
    """A definition in which nothing is left open.

    Args:
        declared: What the user wrote.
        columns: The table's columns in its own order.
        expanded_query: The query with every relation by its full name; what refreshes run.
        context: Where it was analysed.
        freshness: Never absent.
        refresh_mode: Never absent.
        start_mode: Never absent, with its instant.
        state_retention: Never absent.
        derived_from: The threshold and defaults that were used, for people and for re-deriving.
        query_columns: The names of the query's own columns in their order, before the column list
            renames and sorts them.
        source_columns: The columns that each relation in the query had when it was defined, by
            which `*` and other text without names is read. Empty for definitions that were stored
            before these were recorded.
    """

    declared: DeclaredDefinition
    columns: tuple[Column, ...]
    expanded_query: str
    context: QueryContext
    freshness: Freshness
    refresh_mode: RefreshMode
    start_mode: ResolvedStartMode
    state_retention: StateRetention
    derived_from: Pairs = ()
    query_columns: tuple[str, ...] = ()
    source_columns: tuple[SourceColumns, ...] = ()

    def keeps_state_of(self, function: str | None) -> bool:
        """Whether state is kept when the query changes, of a process function or of operators."""
        return self.state_retention.keeps(function)


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """A definition in the catalog, with its place and state.

    Args:
        table_id: Our identity of the table, for its whole life.
        name: The full name under which it was defined last.
        generation: Grows with every change of the definition.
        resolved: The definition.
        status: Where the table is in its life.
        status_reason: Why, when we set the status and not the user.
        handler: The serialized refresh handler, empty without one.
        owner: Who declares it: for dbt the project and the model, else empty.
        changed_by: Whose statement changed it last, in the same form; None for its owner's.
        run_options: How its refreshes run, given by RESUME WITH or ALTER … WITH; they are no part
            of what the table is and end with the next SUSPEND or RESUME.
        baseline: From where its sources count; None where all of their rows do.
        fence: For an adopted table: the number that its log held before our first commit.
        origin: From where logs were read when all rows were computed last: what a log has dropped
            since then is in the table alone.
        unknown_keys: What a newer release stored in addition; written back as it was.
    """

    table_id: str
    name: TableName
    generation: int
    resolved: ResolvedDefinition
    status: RefreshStatus = RefreshStatus.ACTIVATED
    status_reason: str = ""
    handler: bytes = b""
    owner: Pairs = ()
    changed_by: Pairs | None = None
    run_options: Pairs = ()
    baseline: Baseline | None = None
    fence: int = 0
    origin: SourcePositions = ()
    unknown_keys: Unknown = field(default_factory=dict, compare=False, repr=False)

    @property
    def declared(self) -> DeclaredDefinition:
        """What the user wrote."""
        return self.resolved.declared

    @property
    def suspended_by_user(self) -> bool:
        """Whether the user suspended it; nothing but RESUME or OR REPLACE ends that."""
        return self.status is RefreshStatus.SUSPENDED and not self.status_reason
