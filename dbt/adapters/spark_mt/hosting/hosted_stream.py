"""Running stream of a hosted table: its batches, its conflicts and its rows in the log."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.context import FIGURES_MS, FIRST_HEARTBEAT_S
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.job_recorder import JobRecorder, job_of
from dbt.adapters.spark_mt.planning.steps import plan_registration

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import BatchDone, Stream, StreamTask
    from dbt.adapters.spark_mt.planning.steps import Register


RECORD_AGAIN_MS = 24 * 3600 * 1000
"""How often a manager records that an idle stream runs. Otherwise the log, whose rows are kept for
30 days, would lose it."""
_LOGGER = logging.getLogger(__name__)


class Conflict(Enum):
    """A change by another writer to the table of a stream.

    Attributes:
        NO: No change that affects the stream.
        CHANGED: It is another table now, has another definition, or lost its sources. Batches that
            were committed stay.
        WRITTEN: A sequence number was taken, maybe by a statement that waits for writer priority.
    """

    NO = "no"
    CHANGED = "changed"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class NewBatches:
    """The commits of a stream since the last call of `take`; the newest one took `took_ms`."""

    positions: Positions | None
    batches: int
    rows: int
    committed_at_ms: int
    took_ms: int


class HostedStream:
    """A running stream and its row in the log of refreshes.

    The row is written when the stream has run for two seconds, when it has committed batches, and
    when it ends. Figures wait for those of other streams. A manager's lease covers its streams;
    without a manager, there is a row a minute.
    """

    def __init__(self, environment: Environment, stream: Stream, task: StreamTask) -> None:
        self._env = environment
        self._stream = stream
        self.task = task
        job = job_of(environment, task.table.definition, task.run)
        self._recorder = JobRecorder(environment, job)
        self._deferred = environment.execution_context.deferred
        self._taken: BatchDone | None = None
        self._registered: BatchDone | None = None
        self._recorded_ms: int | None = None
        self._seen_version = task.table.version
        self._looked_for, self._checked_at_ms = task.table.seq, environment.now_ms()

    @property
    def is_active(self) -> bool:
        """Whether it is running."""
        return self._stream.is_active

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written.

        Its commit would look like that of another writer. The fence detects any conflict.
        """
        return self._stream.is_in_batch

    @property
    def failure(self) -> Exception | None:
        """Why it ended, if it was not stopped."""
        return self._stream.failure

    @property
    def checked_at_ms(self) -> int:
        """An instant up to which no change of the sources is missing."""
        return self._stream.checked_at_ms

    def take(self) -> NewBatches | None:
        """Return what was committed since the last call; None for nothing."""
        done, before = self._stream.done, self._taken
        if done is None or done is before:
            return None
        self._taken = done
        self._deferred.progressed(self._running_job(self._env.now_ms()), self._registration(done))
        batches, rows = (before.batches, before.rows) if before else (0, 0)
        last = done.table.last_refresh
        return NewBatches(
            positions=done.table.positions,
            batches=done.batches - batches,
            rows=done.rows - rows,
            committed_at_ms=done.committed_at_ms,
            took_ms=done.committed_at_ms - last.started_at_ms if last else 0,
        )

    def conflict(self) -> Conflict:
        """Return whether another writer changed the table in a way that affects the stream.

        Maintenance and changes of rows by users do not. Commits of materialized tables by other
        processes do. A source that was created again does, too: its stream may wait for a version
        that the source already had.
        """
        if self._has_lost_its_sources():
            return Conflict.CHANGED
        table = self._table
        if self._env.store.is_newest(table.name, max(self._seen_version, table.version)):
            return Conflict.NO
        self._env.store.forget()
        found = self._env.store.find(table.name)
        if not isinstance(found, StoredTable):
            return Conflict.CHANGED
        if (conflict := self._compared(found)) is Conflict.NO:
            self._seen_version = found.version
        return conflict

    def report(self) -> None:
        """Record that the stream runs, if that is due, and write rows that must not wait longer."""
        now, recorded_ms = self._env.now_ms(), self._recorded_ms
        if recorded_ms is None:
            if now - self._recorder.job.started_at_ms >= FIRST_HEARTBEAT_S * 1000:
                self._deferred.changed(self._running_job(now))
        elif now - recorded_ms >= (RECORD_AGAIN_MS if self._deferred.covered else FIGURES_MS):
            self._deferred.progressed(self._running_job(now))
        self._write_due()

    def end(self) -> None:
        """Stop the stream between two batches, and record that."""
        self._stream.stop()
        if self._recorder.is_over:
            return
        done, failure = self._stream.done, self._stream.failure
        if failure is not None and not isinstance(failure, CommitConflictError):
            row = self._recorder.failed(failure)
        elif done is not None or self._recorded_ms is not None:
            row = self._recorder.ended(JobStatus.FINISHED, rows=done.rows if done else 0)
        else:
            return
        self._deferred.changed(row, self._registration(done))
        self._write_due()

    def _running_job(self, now: int) -> Job:
        self._recorded_ms = now
        return self._recorder.running_job()

    def _write_due(self) -> None:
        """Write the rows that are due, unless a manager does that for all of its streams."""
        if self._deferred.covered:
            return
        try:
            self._deferred.write_due()
        except Exception as error:  # noqa: BLE001 - the next call tries it again
            _LOGGER.warning("the log of refreshes was not written: %s", problem_of(error))

    @property
    def _table(self) -> StoredTable:
        """The table after the newest batch."""
        done = self._stream.done
        return done.table if done else self.task.table

    def _compared(self, found: StoredTable) -> Conflict:
        """Compare the table with the stream's; a batch of its own has the stream's refresh id."""
        ours, there = self.task.table.definition, found.definition
        if (there.table_id, there.generation) != (ours.table_id, ours.generation):
            return Conflict.CHANGED
        last = found.last_refresh
        is_ours = last is not None and last.refresh_id == self.task.run.refresh_id
        return Conflict.NO if is_ours or found.seq <= self._table.seq else Conflict.WRITTEN

    def _has_lost_its_sources(self) -> bool:
        """Whether the sources were created again; without batches, checked once per interval."""
        table, now = self._table, self._env.now_ms()
        if table.seq != self._looked_for:
            self._looked_for, self._checked_at_ms = table.seq, now
            return False
        if now - self._checked_at_ms < (self.task.every_ms or 0):
            return False
        self._checked_at_ms = now
        # A table that was created again has other rows at a version, which no stream can notice.
        positions = table.positions or {}
        return not all(
            self._env.sources.is_readable(source.name, position)
            for source in self.task.run.sources
            if str(source.name) in self.task.followed
            and isinstance(position := positions.get(str(source.name)), VersionedPosition)
        )

    def _registration(self, done: BatchDone | None) -> Register | None:
        """Return the registration of a batch in the registry; None if the row is up to date."""
        if done is None or done is self._registered:
            return None
        self._registered = done
        return replace(plan_registration(done.table), at_ms=done.committed_at_ms)
