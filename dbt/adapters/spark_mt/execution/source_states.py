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
"""As the published generation: a walk through commits then does not look for a definition."""


@dataclass(frozen=True, slots=True)
class TableState:
    """What a materialized table reflects at one of its versions.

    Args:
        name: The full name.
        version: Its version.
        positions: Up to where its rows reflect its sources; None where its commits do not tell.
        read_at_ms: When the refresh that wrote its rows read the sources, milliseconds since the
            epoch, UTC; None where its commits do not tell.
        took_ms: From then to the commit.
        unfollowed: Full names, in lower case, of sources whose changes are not to reach it.
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
    """What a reader that stopped at a position has not read of a source.

    Args:
        changed_at_ms: When the first commit behind the position was made that changes rows; None
            without one.
        state: For a materialized table: what it reflected right before that commit, and without
            one, what it reflects now.
    """

    changed_at_ms: int | None
    state: TableState | None = None


class SourceStates(Protocol):
    """Tells what readers of sources have not read; for lags."""

    def newest(self, name: TableName) -> TableState | None:
        """Return what a materialized table reflects now; None where there is no such table."""
        ...

    def unread(self, source: TableName, position: FollowedPosition) -> Unread:
        """Return what a reader that stopped at a position has not read of a source.

        A commit that changes no rows (compaction, properties, a refresh that found nothing) is no
        change. Of a log, the time of the first record behind the position counts. Of a table that
        was dropped and created again, all commits are unread.

        Raises:
            SourceNotFoundError: It is gone.
        """
        ...

    def forget(self) -> None:
        """Ask the catalog again where tables live and how they are defined."""
        ...


def state_of(
    name: TableName, commits: Iterable[Commit], definition: StoredDefinition | None
) -> TableState | None:
    """Return what a materialized table reflects; None for a table that is none.

    A table in mode FULL whose scheduled runs write partitions has the state of the partition that
    was written last: its other partitions are those of other periods.

    Args:
        name: The full name.
        commits: From the version that counts backwards; read only as far as needed.
        definition: What tells which sources it does not follow; None where it cannot be read.
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
    """The newest commit that wrote partitions after the one that wrote all rows."""
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
