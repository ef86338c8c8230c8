"""Commits of a table: their history, and the source states that they record.

Pure: a store reads the commits, newest first, and this module interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
)
from dbt.adapters.spark_mt.definition.definition import ForeignCommit, LastRefresh
from dbt.adapters.spark_mt.definition.table_format import CommitEffect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StreamMetadata
    from dbt.adapters.spark_mt.definition.freshness import SourceActivity
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, Positions


_FENCED = frozenset(
    {CommitKind.CONTENT, CommitKind.PARTITION, CommitKind.DEFINITION, CommitKind.ADOPTION}
)
_WRITTEN = frozenset({CommitKind.CONTENT, CommitKind.ADOPTION})


NO_OLDER_DEFINITION = 2**31
"""A published generation with which a walk through commits does not search for a definition."""
_OF_A_TABLE = frozenset(
    {CommitKind.CONTENT, CommitKind.PARTITION, CommitKind.DEFINITION, CommitKind.RELEASE}
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table's log.

    Args:
        previous: The version before it; -1 for the first one.
        timestamp_ms: When it was made, milliseconds since the epoch, UTC.
        operation: The format's name of the operation, as text.
        metadata: The commit metadata; None for a commit of another program.
        rows: Rows written, if they were counted.
        identity: The format's own identity of this version.
        problem: Why the commit metadata cannot be read; empty if it can, or if there is none.
        effect: The effect of the operation.
        restored: The version that a RESTORE brought back; None if the commit does not have it.
        changed: The number of rows that an UPDATE, DELETE or MERGE added, changed and removed; None
            for any other operation.
        fence: The highest number that the table has accepted, if the format records it for the
            newest commit; else 0.
    """

    version: int
    previous: int
    timestamp_ms: int
    operation: str
    metadata: CommitMetadata | None
    rows: int | None
    identity: str = ""
    problem: str = ""
    effect: CommitEffect = CommitEffect.ROWS
    restored: int | None = None
    changed: int | None = None
    fence: int = 0


@dataclass(slots=True)
class History:
    """Result of a walk from the newest commit backwards.

    `newest`, `written`, `definition` and `foreign` are those of the state that the table has. A
    RESTORE leads to the version that it brought back. `seq` is the highest that was read, also
    among commits that a RESTORE made void, because RESTORE does not lower the fence.

    Args:
        version: The table's newest version; -1 without commits.
        seq: The highest sequence number of our commits; 0 if the log has none of them.
        newest: The metadata of our newest fenced commit.
        written: Our newest commit that wrote all rows, or that adopted them.
        definition: The newest encoded definition in a commit.
        foreign: Commits of others that changed rows since all of them were written, oldest first.
            Those that came before `written`, and that its writer had not seen, are among them.
        released: The metadata of the commit by which the table became a plain one again.
        is_unsure: Whether a RESTORE to a timestamp hides the version that the table is at.
        unreadable: A commit of ours that cannot be read, and that no newer one makes irrelevant.
        is_seq_hidden: Whether a commit that cannot be read may have a higher number than `seq`.
        is_replaced: Whether another program replaced the table since all rows were written.
        seen: Up to which version the writer of `written` had read the commits of others, or had
            replaced what they wrote.
    """

    version: int = -1
    seq: int = 0
    newest: CommitMetadata | None = None
    written: Commit | None = None
    definition: str = ""
    foreign: tuple[ForeignCommit, ...] = ()
    released: CommitMetadata | None = None
    is_unsure: bool = False
    unreadable: Commit | None = None
    is_seq_hidden: bool = False
    is_replaced: bool = False
    seen: int = -1

    @property
    def is_ours(self) -> bool:
        """Whether a commit of ours shows that this is a materialized table."""
        return self.newest is not None or (self.is_unsure and self.seq > 0)

    @property
    def stream(self) -> StreamMetadata | None:
        """The batch of the stream that wrote the newest rows."""
        metadata = self.written.metadata if self.written else None
        return metadata.stream if metadata else None

    def is_unseen(self, commit: Commit) -> bool:
        """Whether a commit came while the rows of `written` were computed."""
        return self.written is not None and commit.version > self.seen

    def is_known(self, published_generation: int) -> bool:
        """Whether nothing older can matter to a table with this published definition."""
        if self.newest is None or self.written is None:
            return False
        return bool(self.definition) or self.newest.generation <= published_generation

    def last_refresh(self) -> LastRefresh | None:
        """Return the refresh that wrote the rows, or None if the log no longer has it."""
        refresh, written = self.newest.refresh if self.newest else None, self.written
        if refresh is None:
            return None
        return LastRefresh(
            refresh.refresh_id,
            refresh.strategy,
            refresh.trigger,
            refresh.started_at_ms,
            committed_at_ms=written.timestamp_ms if written else refresh.started_at_ms,
            rows=written.rows if written else None,
            repeated=refresh.repeated,
            earlier=refresh.earlier,
            source_rows=refresh.source_rows,
            is_cold=refresh.is_cold,
            unknown_keys=refresh.unknown_keys,
        )


def read_history(commits: Iterable[Commit], published_generation: int = -1) -> History:
    """Walk backwards until the table's rows, definition and fence are known.

    Args:
        commits: Newest first; read only as far as needed.
        published_generation: The generation of the definition in the table's properties.
    """
    history = History()
    restored: int | None = None
    remaining = iter(commits)
    for commit in remaining:
        history.version = max(history.version, commit.version)
        history.seq = max(history.seq, commit.fence)
        if commit.metadata is not None:
            history.seq = max(history.seq, commit.metadata.seq)
        history.is_seq_hidden = history.is_seq_hidden or bool(commit.problem)
        if restored is not None and commit.version > restored:
            continue
        if commit.effect is CommitEffect.RESTORE and not history.is_unseen(commit):
            if commit.restored is None:
                _find_fence(history, remaining)
                break
            restored = commit.restored
            continue
        if commit.problem:
            if history.is_known(published_generation):  # its number says that it has no rows
                continue
            history.unreadable = commit
            break
        _absorb(history, commit)
        is_known = history.is_known(published_generation) and commit.previous <= history.seen
        if history.released or is_known:
            break
    return history


def _find_fence(history: History, commits: Iterator[Commit]) -> None:
    """Find our highest number before a RESTORE to a timestamp.

    The timestamp has no zone, so the version that it brought back is not known. The definition is
    the one among the table's properties, and the state of its rows is unknown.
    """
    history.is_unsure = True
    for commit in commits:
        if history.seq or history.is_seq_hidden:
            break
        history.is_seq_hidden = bool(commit.problem)
        if commit.metadata is not None:
            history.seq = commit.metadata.seq


def _absorb(history: History, commit: Commit) -> None:
    metadata = commit.metadata
    if metadata is None:
        is_unseen = history.written is None or history.is_unseen(commit)
        if is_unseen and commit.effect is not CommitEffect.NO_ROWS:
            found = (ForeignCommit(commit.version, commit.operation), *history.foreign)
            history.foreign = tuple(sorted(found, key=lambda each: each.version))
            history.is_replaced = history.is_replaced or commit.effect is CommitEffect.REPLACE
        return
    if metadata.kind is CommitKind.RELEASE and history.newest is None:
        history.released = metadata
    if metadata.kind not in _FENCED:
        return
    history.newest = history.newest or metadata
    history.definition = history.definition or metadata.definition
    if metadata.kind in _WRITTEN and history.written is None:
        history.written = commit
        # Those that came while the rows were computed stay, and it could not list them.
        history.seen = metadata.applied_to if metadata.applied_to >= 0 else commit.version
        carried = tuple(ForeignCommit(*pair) for pair in metadata.foreign)
        history.foreign = (*carried, *history.foreign)


def is_other_table(commits: Iterable[Commit], metadata: CommitMetadata) -> bool:
    """Whether a table was released, or dropped and created again, since a commit was planned.

    The numbers of a new table begin again, so that it would accept the commit.

    Args:
        commits: Those of the table of this name, newest first; read only as far as needed.
        metadata: That of the commit to be made.
    """
    if metadata.kind not in _OF_A_TABLE:
        return False
    history = read_history(commits, NO_OLDER_DEFINITION)
    if history.released:
        return True
    return history.newest is not None and history.newest.table_id != metadata.table_id


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

    def unread(self, source: TableName, position: FollowedPosition) -> Unread:
        """Return the changes of a source that a reader at a position has not read.

        A commit that changes no rows (compaction, properties, a refresh without changes) does not
        count. For a log, the time of the first record after the position counts. For a table that
        was dropped and created again, all commits are unread.

        Raises:
            SourceNotFoundError: It is gone.
        """

    def changed_at(self, name: TableName) -> int | None:
        """Return when the rows of a table last changed, milliseconds since the epoch, UTC.

        Commits that change no rows do not count, as for `unread`. Where none of the commits that
        still exist changed rows, the oldest of them counts: the change is no newer than that.

        Returns:
            None for a table without a commit that ever changed rows.

        Raises:
            SourceNotFoundError: There is no such table, or it has no versions.
        """

    def activity(self, source: TableName) -> SourceActivity | None:
        """Return how often a source changes, and in how many files; None without versions."""

    def forget(self) -> None:
        """Read paths and definitions of tables from the catalog again."""


def partly_refreshed(commits: Iterable[Commit], positions: Positions | None) -> bool:
    """Whether commits wrote partitions over another state of the sources than `positions`.

    Args:
        commits: Commits of a table, newest first; read up to the last one that wrote all rows.
        positions: The state that the table's rows reflect.
    """
    for commit in commits:
        metadata = commit.metadata
        if metadata is None:
            continue
        if metadata.kind is CommitKind.PARTITION and metadata.partition_positions != positions:
            return True
        if metadata.kind is CommitKind.CONTENT:
            return False
    return False
