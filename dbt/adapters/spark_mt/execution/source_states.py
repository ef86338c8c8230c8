"""Source states that materialized tables reflect, from their commits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.table_history import read_history
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.row_lineage import unfollowed_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, Positions
    from dbt.adapters.spark_mt.execution.table_history import Commit


_NO_OLDER_DEFINITION = 2**31
"""A published generation with which a walk through commits does not search for a definition."""


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of its sources that a materialized table reflects at one of its versions.

    Args:
        name: The full name.
        version: Its version.
        positions: Up to where its rows reflect its sources; None if its commits do not have that.
        read_at_ms: When the refresh that wrote its rows read the sources, milliseconds since the
            epoch, UTC; None if its commits do not have that.
        took_ms: The time from then to the commit.
        unfollowed: Full names, in lower case, of sources whose changes are not applied to it.
        is_newest: Whether this is its newest version.
    """

    name: TableName
    version: int
    positions: Positions | None
    read_at_ms: int | None = None
    took_ms: int = 0
    unfollowed: frozenset[str] = frozenset()
    is_newest: bool = True


@dataclass(frozen=True, slots=True)
class Unread:
    """The changes of a source that a reader at a position has not read.

    Args:
        changed_at_ms: When the first commit after the position that changes rows was made; None
            without one.
        state: For a materialized table: the state that it reflected right before that commit, and
            without one, the state that it reflects now.
    """

    changed_at_ms: int | None
    state: TableState | None = None


class SourceStates(Protocol):
    """Reads the changes of sources that their readers have not read; for lags."""

    def newest(self, name: TableName) -> TableState | None:
        """Return the state that a materialized table reflects now; None without such a table."""
        ...

    def unread(self, source: TableName, position: FollowedPosition) -> Unread:
        """Return the changes of a source that a reader at a position has not read.

        A commit that changes no rows (compaction, properties, a refresh without changes) does not
        count. For a log, the time of the first record after the position counts. For a table that
        was dropped and created again, all commits are unread.

        Raises:
            SourceNotFoundError: It is gone.
        """
        ...

    def forget(self) -> None:
        """Read paths and definitions of tables from the catalog again."""
        ...


def state_of(
    name: TableName, commits: Iterable[Commit], definition: StoredDefinition | None
) -> TableState | None:
    """Return the state that a materialized table reflects; None for any other table.

    If scheduled runs of a table in mode FULL write partitions, the partition that was written last
    counts. The other partitions are those of other periods.

    Args:
        name: The full name.
        commits: Its commits from that version backwards; read only as far as needed.
        definition: Its definition, for the sources that it does not follow; None if it cannot be
            read.
    """
    seen: list[Commit] = []
    history = read_history(_noting(commits, seen), _NO_OLDER_DEFINITION)
    if history.released or not history.is_ours:
        return None
    metadata, version = history.newest, seen[0].version
    last, unfollowed = history.last_refresh(), _unfollowed(definition)
    positions = metadata.positions if metadata else None
    read_at_ms = last.started_at_ms if last else None
    took_ms = max(0, last.committed_at_ms - last.started_at_ms) if last else 0
    written = history.written.version if history.written else -1
    if metadata and _is_by_partition(definition) and (newest := _partition(seen, written)):
        positions = newest.metadata.partition_positions if newest.metadata else None
        read_at_ms = newest.timestamp_ms
    return TableState(name, version, positions, read_at_ms, took_ms, unfollowed)


def _noting(commits: Iterable[Commit], seen: list[Commit]) -> Iterator[Commit]:
    for commit in commits:
        seen.append(commit)
        yield commit


def _is_by_partition(definition: StoredDefinition | None) -> bool:
    if definition is None or definition.resolved.refresh_mode is not RefreshMode.FULL:
        return False
    return bool(read_options(definition.declared.options).date_formatters)


def _partition(commits: Iterable[Commit], written: int) -> Commit | None:
    """Return the newest commit that wrote partitions after the one that wrote all rows."""
    for commit in commits:
        if (
            commit.version > written
            and commit.metadata
            and commit.metadata.kind is CommitKind.PARTITION
        ):
            return commit
    return None


def _unfollowed(definition: StoredDefinition | None) -> frozenset[str]:
    if definition is None:
        return frozenset()
    return unfollowed_names(definition.resolved)
