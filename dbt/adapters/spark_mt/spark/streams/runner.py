"""Runner of streams in the driver's process.

The first batch of a stream can fill a table, so that content and state are created together.
"""

from __future__ import annotations

import traceback
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4
from zlib import crc32

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.planning.constraints import guarded
from dbt.adapters.spark_mt.resolution.columns import null_column
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.input_size import may_interpret
from dbt.adapters.spark_mt.spark.streams import batches
from dbt.adapters.spark_mt.strategies.strategy import OutputMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.definition import StreamMetadata
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.execution.ports import BatchDone, StreamTask
    from dbt.adapters.spark_mt.planning.steps import Fill, RefreshRun
    from dbt.adapters.spark_mt.spark.catalog.commit import WriteErrors
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.batches import BatchWriter, Checkpoint, Checkpoints
    from dbt.adapters.spark_mt.spark.streams.query import StreamQueries

    OnBatch = Callable[[DataFrame, int], None]
    Write = Callable[[PrivateSession, Fill, CommitMetadata, str], int]


_WAITING_S = 1


_BATCH = "__materialized_table_first_batch"
_ONE_BATCH = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""A batch that only closes windows would come after the commit that fills the table."""


def spread_ms(every_ms: int, name: str) -> int:
    """Return an interval that is shorter than another one by up to a hundredth of it.

    Spark begins batches at multiples of the interval since the epoch, so streams with the same
    interval begin theirs at the same instant. With intervals that differ by a few milliseconds
    they are spread over the whole interval.

    Args:
        every_ms: The interval, in milliseconds.
        name: The same name always has the same interval.
    """
    return every_ms - crc32(name.encode()) % (every_ms // 100 + 1)


class _StoppedError(Exception):
    """A batch that begins while its stream is being stopped."""


class BatchQuery:
    """A query whose batches run in a thread of Spark's, everything else in the caller's.

    Args:
        on_batch: Called with each batch and its number.
        output_mode: Spark's output mode, by which a batch has its rows.
        resources: Closed when the query has ended.
    """

    def __init__(self, on_batch: OnBatch, output_mode: str, resources: ExitStack) -> None:
        self._on_batch: OnBatch | None = on_batch
        self._output_mode = output_mode
        self._resources = resources
        self._between_batches = Lock()
        self._is_stopping = False
        self._query: StreamingQuery | None = None
        self._failed: Exception | None = None

    def start(self, frame: DataFrame, checkpoint: str, name: str, every_ms: int | None) -> None:
        """Start the query.

        Args:
            frame: Its rows, as a stream.
            checkpoint: Its directory.
            name: How Spark shows it.
            every_ms: From one batch to the next; None to read what is there and end.
        """
        writer = frame.writeStream.foreachBatch(self._run).outputMode(self._output_mode)
        writer = writer.queryName(name).option("checkpointLocation", checkpoint)
        if every_ms is None:
            self._query = writer.trigger(availableNow=True).start()
        else:
            trigger_ms = spread_ms(every_ms, name)
            self._query = writer.trigger(processingTime=f"{trigger_ms} milliseconds").start()

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return (query := self._query) is not None and query.isActive

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written."""
        return self._between_batches.locked()

    @property
    def failure(self) -> Exception | None:
        """Why it ended without `stop`: what a batch raised, or else what Spark reports."""
        query = self._query
        if self._failed is not None or query is None or self._is_stopping:
            return self._failed
        return query.exception()

    @property
    def checked_at_ms(self) -> int:
        """When the newest trigger that has ended began, milliseconds since the epoch, UTC."""
        query = self._query
        progress = None if query is None else query.lastProgress
        if not progress:
            return 0
        began = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))
        return int(began.timestamp() * 1000)

    def wait(self) -> None:
        """Wait until it has ended; `failure` has the error of one that failed."""
        try:
            while (query := self._query) is not None and query.isActive:
                query.awaitTermination(_WAITING_S)
        except Exception as error:
            if not is_spark_error(error):
                raise

    def stop(self) -> None:
        """End it: a batch that has begun ends first.

        Spark waits for a batch that begins meanwhile, so that batch must not wait for this call: it
        finds that the stream is about to stop.
        """
        self._is_stopping = True
        with self._between_batches:
            pass
        if self._query is not None:
            self._query.stop()
        self._release()
        self._resources.close()

    def _release(self) -> None:
        """Drop everything by which the callback of `foreachBatch` reaches the query.

        The query refers to the callback across the two processes of Py4J, and the callback to the
        query. No garbage collector sees that cycle: the query with its sessions, its sources and
        the files that they listed would stay until the driver ends.
        """
        self._query = None
        self._on_batch = None
        if self._failed is not None:
            _clear_frames(self._failed)

    def _run(self, frame: DataFrame, number: int) -> None:
        with self._between_batches:
            if self._is_stopping or self._on_batch is None:
                raise _StoppedError
            try:
                self._on_batch(frame, number)
            except Exception as error:
                self._failed = error
                raise


def _clear_frames(error: BaseException) -> None:
    """Drop the local variables of the frames that an error went through.

    PySpark keeps the error of a callback, and the frames hold the rows of the batch.
    """
    chained: BaseException | None = error
    seen: set[int] = set()
    while chained is not None and id(chained) not in seen:
        seen.add(id(chained))
        traceback.clear_frames(chained.__traceback__)
        chained = chained.__cause__ or chained.__context__


@dataclass(frozen=True, slots=True)
class StreamParts:
    """Readers and writers that every stream of a session shares."""

    checkpoints: Checkpoints
    queries: StreamQueries
    writer: BatchWriter


class SparkStreamRunner:
    """Streams that continue from the state of their tables."""

    def __init__(
        self, sessions: PrivateSessions, parts: StreamParts, now_ms: Callable[[], int]
    ) -> None:
        self._now_ms = now_ms
        self._sessions = sessions
        self._parts = parts

    def can_resume(self, table_id: str, stream: StreamMetadata) -> bool:
        """Whether a checkpoint is there and has the batch, and no later one is complete in it."""
        return self._parts.checkpoints.can_resume(table_id, stream)

    def start(self, task: StreamTask) -> SparkStream:
        """As `StreamRunner.start`, from what the table's rows reflect."""
        parts, definition = self._parts, task.table.definition
        resumes = task.resumes
        name = resumes.checkpoint if resumes else f"{batches.PASSING}{uuid4().hex[:12]}"
        checkpoint = parts.checkpoints.of(definition.table_id, name, is_kept=resumes is not None)
        with ExitStack() as stack:
            if resumes is None:
                parts.checkpoints.remove_abandoned(definition.table_id, self._now_ms())
                stack.callback(parts.checkpoints.remove, checkpoint)
            session = stack.enter_context(self._sessions.open(definition.resolved.context))
            try:
                frame, opened = parts.queries.open(session, definition, task.run, _after(task))
                interprets = may_interpret(session.spark)
                context = batches.BatchContext(
                    task.run, checkpoint, batches.BatchEnds(opened), interprets
                )
                stream = SparkStream(task, context, parts, stack.pop_all())
                stream.follow(frame)
            except Exception as error:
                if not is_spark_error(error):
                    raise
                failure = failure_of(error)
                problem = f"[{failure.condition}] {failure.message}"
                raise conditions.STREAM_NOT_STARTED(
                    table=definition.name, problem=problem
                ) from error
        return stream


class SparkStream(BatchQuery):
    """A stream that was started: each of its batches is a commit."""

    def __init__(
        self,
        task: StreamTask,
        context: batches.BatchContext,
        parts: StreamParts,
        resources: ExitStack,
    ) -> None:
        super().__init__(self._commit, _mode(task.run), resources)
        self._task = task
        self._context = context
        self._parts = parts
        self.done: BatchDone | None = None

    def follow(self, frame: DataFrame) -> None:
        """Start the query."""
        name = str(self._task.table.name)
        self.start(frame, self._context.checkpoint.path, name, self._task.every_ms)

    def _commit(self, frame: DataFrame, number: int) -> None:
        before = self.done
        # The first batch finds the table with the batch that it has of this very checkpoint.
        table = before.table if before else replace(self._task.table, stream=self._task.resumes)
        done = self._parts.writer.write(frame, number, self._context, table)
        if done is not None and before is not None:
            done = replace(done, batches=before.batches + 1, rows=before.rows + done.rows)
        self.done = done or self.done
        if done is not None:
            self._task.committed(done.table)


def _mode(run: RefreshRun) -> str:
    """Return Spark's output mode, by which a batch has its rows."""
    return (run.choice.output_mode or OutputMode.APPEND).value


def _after(task: StreamTask) -> dict[str, Position]:
    """Return positions after which sources are read; those of a kept checkpoint are in it."""
    if task.resumes is not None and task.resumes.batch >= 0:
        return {}
    known = task.table.positions or {}
    if task.resumes is not None:
        baseline = task.table.definition.baseline
        return dict(baseline.positions) if baseline else {}
    return {name: known[name] for name in task.followed if name in known}


class _FilledError(Exception):
    """The table is filled; further batches belong to the next stream of the checkpoint."""


class StreamFiller:
    """Run of a new stream until its first batch, which is the commit that fills the table."""

    def __init__(self, sessions: PrivateSessions, parts: StreamParts, errors: WriteErrors) -> None:
        self._sessions = sessions
        self._parts = parts
        self._errors = errors

    def fill(self, step: Fill, metadata: CommitMetadata, write: Write) -> tuple[int, Positions]:
        """Fill a table from the beginning of its sources, or from where the step counts them.

        The checkpoint is new; the one before is removed after the commit.

        Args:
            step: What to fill.
            metadata: What the commit says, but for positions and batch.
            write: Makes the commit from a query in a session.

        Returns:
            The version of the commit, and up to where its rows reflect the sources.

        Raises:
            MaterializedTableError: The table keeps its rows, and the stream before its checkpoint.
        """
        definition = step.definition
        name = f"{step.seq:06}-{step.run.refresh_id[:8]}"
        checkpoint = self._parts.checkpoints.of(definition.table_id, name, is_kept=True)
        try:
            version, positions = self._first_batch(step, metadata, write, checkpoint)
        except BaseException:
            self._parts.checkpoints.remove(checkpoint)
            raise
        self._parts.checkpoints.remove_others(definition.table_id, name)
        return version, positions

    def _first_batch(
        self, step: Fill, metadata: CommitMetadata, write: Write, checkpoint: Checkpoint
    ) -> tuple[int, Positions]:
        definition, run = step.definition, step.run
        done: list[tuple[int, Positions]] = []
        with ExitStack() as stack:
            session = stack.enter_context(self._sessions.open(definition.resolved.context))
            session.configure(_ONE_BATCH)
            after = dict(step.since or ())
            frame, opened = self._parts.queries.open(session, definition, run, after)
            interprets = may_interpret(session.spark)
            context = batches.BatchContext(run, checkpoint, batches.BatchEnds(opened), interprets)

            def on_batch(rows: DataFrame, number: int) -> None:
                if done:
                    raise _FilledError
                positions = self._parts.writer.positions(context, number)
                stream = checkpoint.metadata(number)
                of_batch = replace(metadata, positions=positions, stream=stream)
                session = batches.batch_session(rows, _BATCH, context)
                done.append((self._write_rows(session, step, of_batch, write), positions))

            query = BatchQuery(on_batch, _mode(run), ExitStack())
            stack.callback(query.stop)
            with self._errors.explaining(session, step):
                query.start(frame, checkpoint.path, str(definition.name), None)
                query.wait()
                if not done and query.failure is not None:
                    raise query.failure
            if done:
                return done[0]
            # the sources have nothing yet
            stream = checkpoint.metadata(batches.NO_BATCH)
            of_none = replace(metadata, positions=run.positions, stream=stream)
            columns = ", ".join(map(null_column, definition.resolved.columns))
            with self._errors.explaining(session, step):
                version = write(session, step, of_none, f"SELECT {columns} WHERE false")
            return version, run.positions

    def _write_rows(
        self, session: PrivateSession, step: Fill, metadata: CommitMetadata, write: Write
    ) -> int:
        with self._errors.explaining(session, step) as attempt:
            attempt.content = f"SELECT * FROM {_BATCH}"
            rows = guarded(attempt.content, step.definition.resolved)
            return write(session, step, metadata, rows)
