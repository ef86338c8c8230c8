"""Definition of a materialized table, as declared, resolved and stored; state of a table's name.

A name in the catalog has no table, an unmanaged table or a materialized table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import modes
from dbt.adapters.spark_mt.definition.columns import (
    Column,
    ColumnSpec,
    Constraint,
    Pairs,
    PrimaryKey,
    QueryContext,
)
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.definition.modes import ResolvedStartMode, StartMode, StateRetention
    from dbt.adapters.spark_mt.definition.positions import Baseline, Positions, SourcePositions


Unknown = dict[str, Any]
"""Keys of a stored document that a newer release wrote, by the path to them; `{}` for none."""


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
    refresh_mode: modes.LogicalRefreshMode | None = None
    start_mode: StartMode | None = None
    state_retention: StateRetention | None = None

    @property
    def logical_refresh_mode(self) -> modes.LogicalRefreshMode:
        """The asked mode, AUTOMATIC where the clause is absent."""
        return self.refresh_mode or modes.LogicalRefreshMode.AUTOMATIC

    @property
    def keeps_state(self) -> bool:
        """Whether state is to be kept when the query changes, by STATE_RETENTION."""
        return self.state_retention not in (None, modes.KEEP_NONE)

    @property
    def primary_key(self) -> PrimaryKey | None:
        """The declared key, if there is one."""
        return next((c for c in self.constraints if isinstance(c, PrimaryKey)), None)


@dataclass(frozen=True, slots=True)
class ResolvedDefinition:
    """A definition in which nothing is left open.

    Args:
        declared: What the user wrote.
        columns: The table's columns in its own order.
        expanded_query: The query with every relation by its full name; what refreshes run.
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
    refresh_mode: modes.RefreshMode
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
    status: modes.RefreshStatus = modes.RefreshStatus.ACTIVATED
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
        return self.status is modes.RefreshStatus.SUSPENDED and not self.status_reason


@dataclass(frozen=True, slots=True)
class EarlierRefresh:
    """A refresh of a table before its newest one.

    Args:
        strategy: The strategy that it used.
        duration_ms: From the moment at which it read the positions to its commit.
        ago: How many refreshes came after it.
        source_rows: How many rows of the sources it was about; None where that was not known.
        is_cold: As that of `LastRefresh`.
    """

    strategy: str
    duration_ms: int
    ago: int
    source_rows: int | None = None
    is_cold: bool | None = None


@dataclass(frozen=True, slots=True)
class StreamMetadata:
    """The batch of a stream that a commit holds.

    Args:
        checkpoint: The name of the stream's checkpoint below that of the table.
        batch: Its number in that checkpoint, from 0.
    """

    checkpoint: str
    batch: int


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing has this name."""

    name: TableName


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article: `a view`, `an orc table`."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


@dataclass(frozen=True, slots=True)
class UnmanagedTable:
    """Something has this name that is no materialized table.

    Args:
        kind: What it is, for people: `view`, `parquet table`, `clone of a materialized table`.
    """

    name: TableName
    kind: str

    @property
    def what(self) -> str:
        """The kind with its article."""
        return with_article(self.kind)


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
        source_rows: How many rows of the sources it was about; None where that was not known.
        is_cold: Whether it was one of the first of its process, which take longer than later ones;
            None where a release before did not store it.
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
    source_rows: int | None = None
    is_cold: bool | None = None
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


def unknown_keys(found: dict[str, Any], known: dict[str, Any]) -> Unknown:
    """Return the keys of `found` that `known` has not, at any depth.

    Args:
        found: A document as it was stored.
        known: The same document, decoded and encoded again by this release.
    """
    beyond = {
        key: _beyond(value, known[key]) if key in known else value for key, value in found.items()
    }
    return {key: value for key, value in beyond.items() if key not in known or value}


def with_unknown_keys(document: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
    """Return `document` with unknown keys in the objects that it still has.

    An item of a list is found again by its `name`, or else by being equal. The keys of an object
    that the document no longer has are dropped with it.
    """
    more = {
        key: _with(document[key], value) if key in document else value
        for key, value in unknown.items()
    }
    return {**document, **more}


def _beyond(found: object, known: object) -> Unknown | tuple[tuple[str, Any], ...]:
    if isinstance(found, dict) and isinstance(known, dict):
        return unknown_keys(found, known)
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        items = [(_identity(k), _beyond(f, k)) for f, k in zip(found, known, strict=True)]
        return tuple((identity, more) for identity, more in items if more)
    return {}


def _with(document: object, unknown: object) -> object:
    if isinstance(document, dict) and isinstance(unknown, dict):
        return with_unknown_keys(document, unknown)
    if isinstance(document, list) and isinstance(unknown, tuple):  # a list would be a stored value
        by_identity = dict(unknown)
        return [_with(item, by_identity.get(_identity(item))) for item in document]
    return document


def _identity(item: object) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else json.dumps(item, sort_keys=True)
