"""Identification of a table and of its state by properties, commits and columns. Pure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind
from dbt.adapters.spark_mt.definition.definition import (
    FoundTable,
    InconsistentTable,
    PlainTable,
    StoredTable,
    UnmanagedTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.errors import (
    InvalidTypeError,
    MaterializedTableError,
    UnreadableDefinitionError,
)
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.positions import most_commits
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution import table_history
from dbt.adapters.spark_mt.planning import properties as table_properties
from dbt.adapters.spark_mt.query.types import unbounded_type
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.row_lineage import unfollowed_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.table_history import History


_FAR = 200
"""Number of commits that are searched for our metadata, of a table without our properties."""
_CLONE = "clone of a materialized table"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with versions, as a store reads it.

    Args:
        identity: Reads the format's own identity of the table; only called if needed.
        properties: The table's properties, none of them redacted.
        clustered_by: Its clustering columns.
        commits: Reads its commits, the newest first; only as far as needed.
        columns: Reads its actual columns; not called for plain tables that stay plain.
    """

    name: TableName
    format: TableFormat
    identity: Callable[[], str]
    properties: Mapping[str, str]
    clustered_by: tuple[str, ...]
    commits: Callable[[], Iterable[table_history.Commit]]
    columns: Callable[[], tuple[Column, ...]]

    @property
    def plain(self) -> UnmanagedTable:
        """The table as one that is not materialized."""
        return UnmanagedTable(self.name, f"{self.format.name} table")


def identify(table: Table) -> FoundTable:
    """Return the state of `table`: unmanaged, materialized, inconsistent or unreadable."""
    try:
        published = published_definition(table.properties, table.name)
        if published is None:
            return _unmarked(table)
        return _marked(table, published)
    except UnreadableDefinitionError as error:
        return _unreadable(table, table_history.read_history(islice(table.commits(), _FAR)), error)


def _marked(table: Table, published: StoredDefinition) -> FoundTable:
    """Identify a table with a definition among its properties: its own, a copied or an old one."""
    history = table_history.read_history(table.commits(), published.generation)
    if history.released:
        return table.plain
    if history.unreadable is not None:
        return _unreadable_commit(table, history, history.unreadable, published)
    if history.is_ours or table.properties.get(table.format.identity_property) == table.identity():
        return _stored(table, published, history)
    return UnmanagedTable(table.name, _CLONE)


def plain_table(table: Table, partitioned_by: tuple[str, ...]) -> PlainTable:
    """Return an unmanaged table, as `identify` returned it, with the facts for its adoption.

    Raises:
        UnreadableDefinitionError: It has a definition that cannot be read.
    """
    commits = tuple(islice(table.commits(), _FAR))
    history = table_history.read_history(commits)
    is_whole = bool(commits) and commits[-1].previous < 0
    is_clone = any(commit.effect is CommitEffect.CLONE for commit in commits)
    return PlainTable(
        name=table.name,
        columns=table.columns(),
        partitioned_by=partitioned_by,
        version=history.version,
        seq=history.seq,
        is_fence_known=history.seq > 0 or (is_whole and not is_clone),
        leftover=published_definition(table.properties, table.name),
    )


def published_definition(properties: Mapping[str, str], name: TableName) -> StoredDefinition | None:
    """Return the definition among a table's properties, or None if there is none.

    Raises:
        UnreadableDefinitionError: The definition is there and cannot be read.
    """
    encoded = properties.get(table_properties.DEFINITION)
    return None if encoded is None else _decoded(encoded, name)


def readable_definition(properties: Mapping[str, str], name: TableName) -> StoredDefinition | None:
    """Return the definition among a table's properties, or None if there is no readable one."""
    with suppress(UnreadableDefinitionError):
        return published_definition(properties, name)
    return None


def _decoded(encoded: str, name: TableName) -> StoredDefinition:
    return replace(decode_definition(encoded, str(name)), name=name)


def _stored(table: Table, published: StoredDefinition, history: History) -> FoundTable:
    definition = published
    metadata = history.newest
    if metadata is not None and metadata.generation > published.generation and history.definition:
        definition = _decoded(history.definition, table.name)
    finished = definition is published and _is_in_line(table, definition)
    found = _checked_table(table, definition, history, published=None if finished else published)
    is_rolled_back = metadata is not None and metadata.generation < published.generation
    if is_rolled_back and isinstance(found, StoredTable):
        # A rollback of a format whose properties have no versions: the rows are those of an earlier
        # definition, and no positions say what the published one lacks.
        return replace(found, positions=None, last_refresh=None, stream=None)
    return found


def _checked_table(
    table: Table,
    definition: StoredDefinition,
    history: History,
    *,
    published: StoredDefinition | None,
) -> FoundTable:
    metadata, columns = history.newest, _published_columns(table, definition)
    seq = _seq(history, definition.fence)
    if problem := _inconsistency(definition, columns):
        return InconsistentTable(table.name, problem, seq, definition)
    return StoredTable(
        definition=definition,
        seq=seq,
        version=history.version,
        columns=columns,
        positions=metadata.positions if metadata else None,
        last_refresh=history.last_refresh(),
        published=published,
        foreign_commits=history.foreign,
        stream=history.stream,
    )


def _is_in_line(table: Table, definition: StoredDefinition) -> bool:
    """Whether everything was written that follows from the published definition.

    A CREATE publishes the definition in its one commit, and the identity property after it. A
    refresh drops the clustering, and sets it again after its commit. RESTORE may take back the
    constraint of a NOT NULL.
    """
    if table.format.identity_property not in table.properties:
        return False
    constraints = table.format.constraints(table.properties)
    if table_properties.missing_not_null(
        definition, constraints
    ) or table_properties.obsolete_not_null(definition, constraints):
        return False

    def folded(columns: Iterable[str]) -> list[str]:
        return [column.replace("`", "").lower() for column in columns]

    return folded(table.clustered_by) == folded(definition.declared.clustered_by)


def _seq(history: History, fence: int = 0) -> int:
    """Return the seq to continue from; if a commit cannot be read, the highest that it may have.

    The log may no longer have our last commit, if that is older than 30 days. Then the result is
    the highest possible seq. Every seq has at least one version. The first seq is 1 in version 0,
    or follows the fence of a table that was adopted.
    """
    highest = fence + most_commits(history.version)
    return max(history.seq, highest) if history.is_seq_hidden else history.seq or highest


def _unmarked(table: Table) -> FoundTable:
    """Identify a table without our properties: never materialized, not yet, or no longer."""
    history = table_history.read_history(islice(table.commits(), _FAR))
    if history.unreadable is not None:
        return _unreadable_commit(table, history, history.unreadable)
    if not history.definition:
        return table.plain
    definition = _decoded(history.definition, table.name)
    adopted = history.written.metadata if history.written and not history.is_replaced else None
    if adopted is not None and adopted.kind is CommitKind.ADOPTION:
        # The definition has not been published yet. No refresh fills an adopted table before that,
        # see `never_published`.
        resolved = replace(definition.resolved, columns=table.columns())
        nothing = replace(definition, generation=0, resolved=resolved)
        return _checked_table(table, definition, history, published=nothing)
    problem = "its definition is no longer among its properties (replaced by hand, or UNSET)"
    return InconsistentTable(table.name, problem, history.seq, definition)


def _unreadable_commit(
    table: Table,
    history: History,
    commit: table_history.Commit,
    published: StoredDefinition | None = None,
) -> Unreadable:
    """Return a table with a commit whose positions or definition this release cannot read.

    Continuing from an older commit would read source rows twice, or undo an ALTER. The commit may
    have the generation after the published one, so the next definition takes the one after that.
    """
    error = conditions.UNREADABLE_COMMIT(
        table=table.name, version=commit.version, problem=commit.problem
    )
    return _unreadable(table, history, error, published)


def _unreadable(
    table: Table,
    history: History,
    error: UnreadableDefinitionError | MaterializedTableError,
    published: StoredDefinition | None = None,
) -> Unreadable:
    newest = history.newest
    return Unreadable(
        table.name,
        error,
        table_id=published.table_id if published else newest.table_id if newest else "",
        generation=max(
            published.generation + 1 if published else 0, newest.generation if newest else 0
        ),
        seq=_seq(history, published.fence if published else 0),
    )


def _published_columns(table: Table, definition: StoredDefinition) -> tuple[Column, ...]:
    """Return the columns of a table without those that a write added and has not yet published."""
    staged = table.format.staged_columns(table.properties)
    if not staged:
        return table.columns()
    known = {column.name.lower() for column in definition.resolved.columns}
    hidden = staged - known
    return tuple(column for column in table.columns() if column.name.lower() not in hidden)


def _inconsistency(definition: StoredDefinition, columns: tuple[Column, ...]) -> str:
    """Describe how the columns differ from those of the definition; empty if they do not."""
    real = [(c.name, c.type) for c in columns]
    wanted = [_stored_as(c, real) for c in definition.resolved.columns]
    if wanted == real:
        return ""
    lost = [str(Column(*pair)) for pair in wanted if pair not in real]
    strange = [str(Column(*pair)) for pair in real if pair not in wanted]
    parts = [f"columns {', '.join(lost)} are gone" if lost else ""]
    parts.append(f"columns {', '.join(strange)} are not of its definition" if strange else "")
    return " and ".join(part for part in parts if part) or "its columns are in another order"


def _stored_as(column: Column, real: list[tuple[str, str]]) -> tuple[str, str]:
    """Return name and type of a column of the definition, as the table can have it.

    The CHAR and VARCHAR of a column list became STRING in tables that were created before 0.1.
    """
    try:
        unbounded = (column.name, unbounded_type(column.type))
    except InvalidTypeError:
        return column.name, column.type
    return unbounded if unbounded in real else (column.name, column.type)


def state_of(
    name: TableName, commits: Iterable[table_history.Commit], definition: StoredDefinition | None
) -> table_history.TableState | None:
    """Return the state that a materialized table reflects; None for any other table.

    Args:
        name: The full name.
        commits: Its commits from that version backwards; read only as far as needed.
        definition: Its definition, for the sources that it does not follow; None if it cannot be
            read.
    """
    seen: list[table_history.Commit] = []

    def noting() -> Iterator[table_history.Commit]:
        for commit in commits:
            seen.append(commit)
            yield commit

    history = table_history.read_history(noting(), table_history.NO_OLDER_DEFINITION)
    if history.released or not history.is_ours:
        return None
    metadata, version = history.newest, seen[0].version
    last = history.last_refresh()
    unfollowed = frozenset() if definition is None else unfollowed_names(definition.resolved)
    positions = metadata.positions if metadata else None
    read_at_ms = last.started_at_ms if last else None
    took_ms = max(0, last.committed_at_ms - last.started_at_ms) if last else 0
    written = history.written.version if history.written else -1
    if metadata and _is_by_partition(definition) and (newest := _partition(seen, written)):
        # The partition that was written last counts: the others are those of other periods.
        positions = newest.metadata.partition_positions if newest.metadata else None
        read_at_ms = newest.timestamp_ms
    return table_history.TableState(name, version, positions, read_at_ms, took_ms, unfollowed)


def _is_by_partition(definition: StoredDefinition | None) -> bool:
    if definition is None or definition.resolved.refresh_mode is not RefreshMode.FULL:
        return False
    return bool(read_options(definition.declared.options).date_formatters)


def _partition(
    commits: Iterable[table_history.Commit], written: int
) -> table_history.Commit | None:
    """Return the newest commit that wrote partitions after the one that wrote all rows."""
    for commit in commits:
        kind = commit.metadata.kind if commit.metadata else None
        if commit.version > written and kind is CommitKind.PARTITION:
            return commit
    return None
