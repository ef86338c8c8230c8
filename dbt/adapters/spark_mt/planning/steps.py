"""Steps of a plan, as values, and the plans that compute no rows.

A plan has at most one commit point. Steps before it change nothing that users see. The commit point
happens or does not. Steps after it only repeat what the committed definition says, so running them
again completes the operation. The commit of a stream's batch is a step outside of plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    StoredDefinition,
    StoredTable,
    Unreadable,
)
from dbt.adapters.spark_mt.strategies.strategy import INCREMENTAL, RECOMPUTE, Choice, Write

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.definition import (
        LastRefresh,
        StoredDefinition,
        StreamMetadata,
    )
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.positions import Baseline, Positions, SourcePositions
    from dbt.adapters.spark_mt.query.analyzer import Source
    from dbt.adapters.spark_mt.query.operators import Tree


CREATED = "CREATE"
"""The trigger of the first build of a table."""
SCHEDULED = "SCHEDULED"
"""The trigger of a run that a scheduler starts."""
HOSTED = "CONTINUOUS"
"""The trigger of what a host does to keep a table fresh."""


class Phase(Enum):
    """When a step runs, before, at or after the commit point, and so what its failure means."""

    BEFORE = "nothing has changed; the step is undone where it left something"
    COMMIT = "happens whole or not at all"
    AFTER = "the new definition is in force; the next statement finishes the rest"


@dataclass(frozen=True, slots=True)
class ReserveSequence:
    """Commit a number to a plain table whose log may hold numbers that can no longer be read.

    The table stays a plain one. Numbers that are taken already make the step fail.
    """

    name: TableName
    seq: int
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class Release:
    """Say in a commit without rows that the table is a plain one from now on.

    Args:
        table_id: Our identity of the table until now.
        generation: The generation of its last definition.
    """

    name: TableName
    table_id: str
    generation: int
    seq: int
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    """Remove our properties from a table that was released; those of the user stay."""

    name: TableName
    phase: ClassVar[Phase] = Phase.AFTER


class FillMode(Enum):
    """How a table is filled."""

    CREATE = "create"
    OVERWRITE = "overwrite"
    """Columns may be appended; identity, change feed and partitioning stay."""
    REPLACE = "replace"
    """Columns and partitioning may be any; the table keeps its identity."""


@dataclass(frozen=True, slots=True)
class RefreshRun:
    """A planned refresh: its id, its trigger, and the state of the sources that it reads.

    Args:
        positions: The newest state of every source when the refresh was planned.
        started_at_ms: When the positions were read, milliseconds since the epoch, UTC.
        fixed: Whether the rows must be computed at just these positions, not at later ones.
        choice: How its rows are computed.
        origin: Where the logs among the sources begin, for a run that computes all rows.
        scheduled_at_ms: The scheduled time that it stands for; None where no schedule asked.
        tree: The operators of the query, for a run that derives the change of the result.
        columns: The columns that the query reads, as of `columns_read`.
        is_cold: Whether it is one of the first refreshes of its process.
    """

    refresh_id: str
    trigger: str
    positions: Positions
    started_at_ms: int
    sources: tuple[Source, ...] = ()
    choice: Choice = Choice(INCREMENTAL, RECOMPUTE)  # noqa: RUF009 - frozen
    fixed: bool = False
    origin: SourcePositions = ()
    scheduled_at_ms: int | None = None
    tree: Tree | None = None
    columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_cold: bool = False

    @property
    def strategy(self) -> str:
        """The strategy, as it is stored."""
        return self.choice.strategy

    def columns_of(self, source: str) -> Collection[str] | None:
        """Return the columns that the query reads of a source; None for all."""
        return self.columns.get(source.lower())


@dataclass(frozen=True, slots=True)
class PrepareStorage:
    """Set what the storage needs before the content can be written: column mapping, NULL.

    Args:
        maps_names: Whether columns get other names in the files of the table than in its schema.
        nullable: Columns so far in which the table refuses NULL until now; None if not known.
    """

    definition: StoredDefinition
    maps_names: bool
    nullable: tuple[str, ...] | None = ()
    phase: ClassVar[Phase] = Phase.BEFORE


@dataclass(frozen=True, slots=True)
class VerifyRows:
    """Check that the rows which the table has satisfy the constraints that are new.

    Args:
        new_columns: Columns of the definition that the table does not have yet.
    """

    definition: StoredDefinition
    new_columns: tuple[Column, ...] = ()
    phase: ClassVar[Phase] = Phase.BEFORE


@dataclass(frozen=True, slots=True)
class Fill:
    """Compute the query over one state of all sources and replace the table's rows by it.

    Args:
        definition: What is computed.
        mode: Which columns and partitioning the table may get by it.
        seq: The fence: this commit happens only directly after that with the number before.
        changes_definition: Whether the same commit stores the definition.
        since: Only rows added to these sources after these positions count; None where all do.
    """

    definition: StoredDefinition
    mode: FillMode
    seq: int
    run: RefreshRun
    changes_definition: bool = True
    since: SourcePositions | None = None
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class FillPartitions:
    """Compute some partitions and replace just these, in one commit.

    Args:
        partitions: Each the (column, SQL literal or None for NULL) pairs that name it.
        table_positions: The table's own positions, which stay.
        table_refresh: The facts of the table's last whole refresh, which stay.
        since: As that of `Fill`.
    """

    definition: StoredDefinition
    partitions: tuple[tuple[tuple[str, str | None], ...], ...]
    seq: int
    run: RefreshRun
    table_positions: Positions | None = None
    table_refresh: LastRefresh | None = None
    since: SourcePositions | None = None
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class ApplyChanges:
    """Apply the query to what changed in the sources that are followed; other rows stay.

    The choice of the run says whether rows are added, replaced by key, or added and removed.

    Args:
        since: The positions after which changes of the sources count, up to those of the run.
        changes_definition: Whether the same commit stores the definition.
        foreign: Changes by others that stay, as (version, operation).
        version: The table's own version that the changes are applied to, where they depend on it.
    """

    definition: StoredDefinition
    seq: int
    run: RefreshRun
    since: SourcePositions
    changes_definition: bool = True
    foreign: tuple[tuple[int, str], ...] = ()
    version: int = -1
    phase: ClassVar[Phase] = Phase.COMMIT

    @property
    def replaces_keys(self) -> bool:
        """Whether the rows of each touched key are replaced; otherwise rows are only added."""
        return self.run.choice.write is Write.KEYS

    @property
    def changes_rows(self) -> bool:
        """Whether rows are removed and added such that the result is that of all source rows."""
        return self.run.choice.write is Write.CHANGE


@dataclass(frozen=True, slots=True)
class CommitDefinition:
    """Store a definition whose change leaves the rows alone.

    Args:
        positions: Up to where the rows reflect the sources under this definition; None where they
            do not, so that the next refresh computes them.
        refresh: The facts of the table's last whole refresh, which stay.
        new_columns: Columns that the same commit appends, NULL in the rows that are there.
        adopts: Whether the table was a plain one until now.
    """

    definition: StoredDefinition
    seq: int
    positions: Positions | None
    refresh: LastRefresh | None
    new_columns: tuple[Column, ...] = ()
    adopts: bool = False
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class Publish:
    """Bring properties, comments, NOT NULL and clustering in line with the definition.

    Args:
        before: The definition published before, None without one: only what differs is written.
        created: Whether the commit before made the table and wrote properties and comment itself.
        schema_replaced: Whether the columns may have lost their comments, or have older ones.
    """

    definition: StoredDefinition
    before: StoredDefinition | None
    created: bool = False
    schema_replaced: bool = False
    phase: ClassVar[Phase] = Phase.AFTER

    @property
    def is_of_another_table(self) -> bool:
        """Whether `before` was copied from another table, as CLONE does."""
        return self.before is not None and self.before.table_id != self.definition.table_id


@dataclass(frozen=True, slots=True)
class Recluster:
    """Set the clustering columns again, which a replacement of all rows may drop."""

    definition: StoredDefinition
    phase: ClassVar[Phase] = Phase.AFTER


@dataclass(frozen=True, slots=True)
class Register:
    """Write the table's row in the registry, with the figures of its newest commit.

    Args:
        job: The refresh that made the commit, where it has a row; only the executor knows it.
        at_ms: When the table became so; None for now. A row about a later change wins.
    """

    definition: StoredDefinition
    seq: int
    positions: Positions | None
    refresh: LastRefresh | None
    job: Job | None = None
    at_ms: int | None = None
    phase: ClassVar[Phase] = Phase.AFTER


@dataclass(frozen=True, slots=True)
class RecordJob:
    """Write the row of a refresh alone, where the registry's row of the table stays as it is."""

    job: Job
    phase: ClassVar[Phase] = Phase.AFTER


@dataclass(frozen=True, slots=True)
class DropTable:
    """Remove metadata and data, and the checkpoints of the table that has this identity."""

    name: TableName
    table_id: str = ""
    phase: ClassVar[Phase] = Phase.COMMIT


@dataclass(frozen=True, slots=True)
class Unregister:
    """Remove the table's row from the registry."""

    name: TableName
    phase: ClassVar[Phase] = Phase.AFTER


Step = (
    PrepareStorage
    | VerifyRows
    | Fill
    | FillPartitions
    | ApplyChanges
    | CommitDefinition
    | Publish
    | Recluster
    | Register
    | RecordJob
    | DropTable
    | Unregister
    | ReserveSequence
    | Release
    | RemoveProperties
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, and what they come from.

    Args:
        changes: One sentence per change of the definition.
        warnings: Sentences that the user should read.
        choice: How the table is kept from then on, where the plan makes or changes it.
    """

    table: TableName
    steps: tuple[Step, ...]
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    choice: Choice | None = None


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Add the rows that a batch of a stream gives.

    Args:
        run: The refresh; its positions are those after the batch.
        stream: Which batch it is.
        foreign: Changes by others that stay, as (version, operation).
    """

    definition: StoredDefinition
    seq: int
    run: RefreshRun
    stream: StreamMetadata
    foreign: tuple[tuple[int, str], ...] = ()


def definition_steps(
    table: StoredTable,
    definition: StoredDefinition,
    positions: Positions | None,
    new_columns: tuple[Column, ...] = (),
) -> tuple[Step, ...]:
    """Store a definition without computing rows, and what follows from that."""
    seq, refresh = table.seq + 1, table.last_refresh
    return (
        CommitDefinition(definition, seq, positions, refresh, new_columns),
        publication(table, definition, schema_replaced=bool(new_columns)),
        Register(definition, seq, positions, refresh),
    )


def publication(
    table: StoredTable | InconsistentTable | Unreadable,
    definition: StoredDefinition,
    *,
    schema_replaced: bool = False,
) -> Publish:
    """Publish what differs from what is published, which may be older than the definition in force.

    If an earlier statement could not publish all, the comments of the columns are not known.
    """
    if isinstance(table, Unreadable):
        return Publish(definition, before=None, schema_replaced=True)
    published = table.published if isinstance(table, StoredTable) else None
    if published is None:
        return Publish(definition, table.definition, schema_replaced=schema_replaced)
    return Publish(definition, published, schema_replaced=True)


def plan_status(table: StoredTable, definition: StoredDefinition, sentence: str) -> Plan:
    """Plan another status, or other run options, for a table whose rows stay as they are."""
    after = replace(definition, generation=table.definition.generation + 1)
    return Plan(table.name, definition_steps(table, after, table.positions), (sentence,))


def plan_publish(table: StoredTable) -> Plan:
    """Plan what a statement before left undone after its commit."""
    return Plan(table.name, (publication(table, table.definition), plan_registration(table)))


def plan_registration(table: StoredTable) -> Register:
    """Return the step that writes a table's row in the registry as the table is."""
    return Register(table.definition, table.seq, table.positions, table.last_refresh)


def counted_from(plan: Plan, baseline: Baseline) -> Plan:
    """Return the plan of a new table such that it counts its sources from a baseline on."""

    def counted(step: Step) -> Step:
        if not isinstance(step, Fill | Publish | Register):
            return step
        definition = replace(step.definition, baseline=baseline)
        if isinstance(step, Fill):
            return replace(step, definition=definition, since=baseline.positions)
        return replace(step, definition=definition)

    return replace(plan, steps=tuple(map(counted, plan.steps)))
