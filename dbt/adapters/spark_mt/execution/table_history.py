"""History of a table from its commits: state of its rows, newest definition, fence.

Pure: a store reads the commits, newest first, and this module interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.definition.table_state import ForeignCommit, LastRefresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata, StreamMetadata


_FENCED = frozenset(
    {CommitKind.CONTENT, CommitKind.PARTITION, CommitKind.DEFINITION, CommitKind.ADOPTION}
)
_WRITTEN = frozenset({CommitKind.CONTENT, CommitKind.ADOPTION})


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table's log.

    Args:
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
    """

    version: int
    timestamp_ms: int
    operation: str
    metadata: CommitMetadata | None
    rows: int | None
    identity: str = ""
    problem: str = ""
    effect: CommitEffect = CommitEffect.ROWS
    restored: int | None = None
    changed: int | None = None


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
        released: The metadata of the commit by which the table became a plain one again.
        is_unsure: Whether a RESTORE to a timestamp hides the version that the table is at.
        unreadable: A commit of ours that cannot be read, and that no newer one makes irrelevant.
        is_seq_hidden: Whether a commit that cannot be read may have a higher number than `seq`.
        is_replaced: Whether another program replaced the table since all rows were written.
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

    @property
    def is_ours(self) -> bool:
        """Whether a commit of ours shows that this is a materialized table."""
        return self.newest is not None or (self.is_unsure and self.seq > 0)

    @property
    def stream(self) -> StreamMetadata | None:
        """The batch of the stream that wrote the newest rows."""
        metadata = self.written.metadata if self.written else None
        return metadata.stream if metadata else None

    def is_known(self, published_generation: int) -> bool:
        """Whether nothing older can matter to a table with this published definition."""
        if self.newest is None or self.written is None:
            return False
        return bool(self.definition) or self.newest.generation <= published_generation

    def last_refresh(self) -> LastRefresh | None:
        """Return the refresh that wrote the rows, or None if the log no longer has it."""
        metadata = self.newest
        if metadata is None or metadata.refresh is None:
            return None
        written = self.written
        return LastRefresh(
            refresh_id=metadata.refresh.refresh_id,
            strategy=metadata.refresh.strategy,
            trigger=metadata.refresh.trigger,
            started_at_ms=metadata.refresh.started_at_ms,
            committed_at_ms=written.timestamp_ms if written else metadata.refresh.started_at_ms,
            rows=written.rows if written else None,
            repeated=metadata.refresh.repeated,
            earlier=metadata.refresh.earlier,
            unknown_keys=metadata.refresh.unknown_keys,
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
        if commit.metadata is not None:
            history.seq = max(history.seq, commit.metadata.seq)
        history.is_seq_hidden = history.is_seq_hidden or bool(commit.problem)
        if restored is not None and commit.version > restored:
            continue
        if commit.effect is CommitEffect.RESTORE:
            if commit.restored is None:
                _find_fence(history, remaining)
                break
            restored = commit.restored
            continue
        if commit.problem:
            history.unreadable = commit
            break
        _absorb(history, commit)
        if history.released or history.is_known(published_generation):
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
        if history.written is None and commit.effect is not CommitEffect.NO_ROWS:
            foreign = ForeignCommit(commit.version, commit.operation)
            history.foreign = (foreign, *history.foreign)
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
        carried = tuple(
            ForeignCommit(version, operation) for version, operation in metadata.foreign
        )
        history.foreign = (*carried, *history.foreign)
