"""A stream of a hosted table: what it is to do, what it did, and what the log is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.positions import OffsetPosition, VersionedPosition
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.follow import defined_anew
from dbt.adapters.spark_mt.execution.jobs import JobTeller, job_of
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.streams import StreamTask
from dbt.adapters.spark_mt.planning.planner import plan_registration

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.streams import BatchDone, Stream
    from dbt.adapters.spark_mt.planning.steps import RefreshRun, Register


class Overtaken(Enum):
    """What somebody else did to the table of a stream.

    Attributes:
        NO: Nothing that concerns the stream.
        CHANGED: It is another table now, has another definition, or lost its sources: what was done
            is done.
        WRITTEN: A number was taken, maybe by a statement that waits for its turn.
    """

    NO = "no"
    CHANGED = "changed"
    WRITTEN = "written"


FOLLOWED = (VersionedPosition, OffsetPosition)
"""Positions from which a source can be read on."""


def stream_task(
    environment: Environment, table: StoredTable, run: RefreshRun, every_ms: int | None = None
) -> StreamTask | None:
    """Return what a stream has to do for a table; None where a refresh must do it.

    A stream goes on from the positions of the table's rows, or in the checkpoint out of which they
    came. Several sources without state are followed by refreshes: their states are then ones that
    existed at the same moment, which a stream does not tell.

    Args:
        environment: The ports.
        table: The table.
        run: The refresh, with the engine.
        every_ms: As that of `StreamTask`.
    """
    engine, streams = run.engine, environment.streams
    if engine is None or not engine.is_stream or table.positions is None or streams is None:
        return None
    if defined_anew(table, run):
        return None
    task = StreamTask(table, replace(run, strategy=engine.strategy), None, every_ms)
    if run.keeps_checkpoint:
        stream = table.stream
        resumes = stream is not None and streams.can_resume(table.definition.table_id, stream)
        return replace(task, resumes=stream) if resumes else None
    return task if _has_positions(task) and _are_readable(environment, task) else None


def _are_readable(environment: Environment, task: StreamTask, *, also_logs: bool = True) -> bool:
    """Whether the sources are those that the positions name.

    A table that was made anew has other rows behind a version's number, and no stream can tell.
    """
    positions = task.table.positions or {}
    return all(
        environment.sources.is_readable(source.name, position)
        for source in task.run.sources
        if str(source.name) in task.followed
        and isinstance(position := positions.get(str(source.name)), FOLLOWED)
        and (also_logs or isinstance(position, VersionedPosition))
    )


def _has_positions(task: StreamTask) -> bool:
    """Whether a stream without a checkpoint can go on from what the table says."""
    positions = task.table.positions or {}
    known = all(isinstance(positions.get(name), FOLLOWED) for name in task.followed)
    return len(task.followed) == 1 and known and task.table.definition.baseline is None


@dataclass(frozen=True, slots=True)
class NewBatches:
    """What a stream committed since it was asked last."""

    positions: Positions | None
    batches: int
    rows: int
    committed_at_ms: int


class HostedStream:
    """A stream with the row that tells of it in the log of refreshes, as long as it runs."""

    def __init__(self, environment: Environment, stream: Stream, task: StreamTask) -> None:
        self._env = environment
        self._stream = stream
        self.task = task
        job = job_of(environment, task.table.definition, task.run)
        self._teller = JobTeller(environment, job)
        self._taken: BatchDone | None = None
        self._registered: BatchDone | None = None
        self._seen_version = task.table.version
        self._looked_for, self._looked_at_ms = task.table.seq, environment.now_ms()
        self._beating = environment.conduct.heartbeat(self._beat)

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        return self._stream.is_active

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written.

        Its commit would look like somebody else's, and the fence tells it what it has to know.
        """
        return self._stream.is_in_batch

    @property
    def failure(self) -> Exception | None:
        """Why it ended by itself."""
        return self._stream.failure

    @property
    def looked_at_ms(self) -> int:
        """Since when nothing that the sources had is missing."""
        return self._stream.looked_at_ms

    def take(self) -> NewBatches | None:
        """Return what was committed since the last call; None for nothing."""
        done, before = self._stream.done, self._taken
        if done is None or done is before:
            return None
        self._taken = done
        batches, rows = (before.batches, before.rows) if before else (0, 0)
        return NewBatches(
            done.table.positions, done.batches - batches, done.rows - rows, done.committed_at_ms
        )

    def overtaken(self) -> Overtaken:
        """Whether somebody else changed the table in a way that concerns the stream.

        Maintenance and changes of rows by users do not; what we commit elsewhere does, and so does
        a source that was made anew: its stream may wait for a version that it already had.
        """
        if self._has_lost_its_sources():
            return Overtaken.CHANGED
        known = max(self._seen_version, self._version())
        if self._env.store.is_newest(self.task.table.name, known):
            return Overtaken.NO
        self._env.store.forget()
        found = self._env.store.find(self.task.table.name)
        if not isinstance(found, StoredTable):
            return Overtaken.CHANGED
        if (overtaken := self._compared(found)) is Overtaken.NO:
            self._seen_version = found.version
        return overtaken

    def end(self) -> None:
        """Stop it between two batches, and tell so."""
        self._stream.stop()
        self._beating.stop()
        if self._teller.is_over:
            return
        done, failure = self._stream.done, self._stream.failure
        if failure is not None and not isinstance(failure, CommitConflictError):
            self._teller.fail(failure, self._registration(done))
        elif done is not None:
            ended = self._teller.ended(JobStatus.FINISHED, rows=done.rows)
            self._teller.write(ended, self._registration(done))

    def _version(self) -> int:
        done = self._stream.done
        return done.table.version if done else self.task.table.version

    def _compared(self, found: StoredTable) -> Overtaken:
        """A batch that was committed a moment ago has this stream's own name."""
        ours, there = self.task.table.definition, found.definition
        if (there.table_id, there.generation) != (ours.table_id, ours.generation):
            return Overtaken.CHANGED
        done = self._stream.done
        seq = done.table.seq if done else self.task.table.seq
        last = found.last_refresh
        is_ours = last is not None and last.refresh_id == self.task.run.refresh_id
        return Overtaken.NO if is_ours or found.seq <= seq else Overtaken.WRITTEN

    def _has_lost_its_sources(self) -> bool:
        """Looked at once per batch that could have been, as long as there is none."""
        done, now = self._stream.done, self._env.now_ms()
        table = done.table if done else self.task.table
        if table.seq != self._looked_for:
            self._looked_for, self._looked_at_ms = table.seq, now
            return False
        if now - self._looked_at_ms < (self.task.every_ms or 0):
            return False
        self._looked_at_ms = now
        return not _are_readable(self._env, replace(self.task, table=table), also_logs=False)

    def _beat(self) -> None:
        done = self._stream.done
        if self._teller.write(self._teller.going_on(), self._registration(done)):
            self._registered = done

    def _registration(self, done: BatchDone | None) -> Register | None:
        """What brings the table's row in the registry up to a batch; None if it is."""
        if done is None or done is self._registered:
            return None
        return plan_registration(done.table)
