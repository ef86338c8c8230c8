"""Runs streams of tables in the driver's own process: each batch is one fenced commit."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.execution.hosting_errors import StreamNotStartedError
from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.streams.batches import BatchContext
from dbt.adapters.spark_mt.spark.streams.checkpoints import PASSING
from dbt.adapters.spark_mt.spark.streams.ends import BatchEnds
from dbt.adapters.spark_mt.spark.streams.stream import BatchQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.commit_facts import StreamFacts
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.streams import BatchDone, StreamTask
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.parts import StreamParts

OUTPUT_MODES = {OutputMode.APPEND: "append", OutputMode.UPDATE: "update"}


class SparkStreamRunner:
    """Starts streams that go on from the state of their tables.

    Args:
        sessions: Opens the sessions in which streams run.
        parts: What streams are made of.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self, sessions: PrivateSessions, parts: StreamParts, now_ms: Callable[[], int]
    ) -> None:
        self._now_ms = now_ms
        self._sessions = sessions
        self._parts = parts

    def can_resume(self, table_id: str, stream: StreamFacts) -> bool:
        """Whether a checkpoint is there and has the batch, and no later one is complete in it."""
        return self._parts.checkpoints.can_resume(table_id, stream)

    def start(self, task: StreamTask) -> SparkStream:
        """Follow the sources behind what the table's rows reflect.

        Raises:
            StreamNotStartedError: Spark cannot run the query as a stream.
        """
        parts, definition = self._parts, task.table.definition
        resumes = task.resumes
        name = resumes.checkpoint if resumes else f"{PASSING}{uuid4().hex[:12]}"
        checkpoint = parts.checkpoints.of(definition.table_id, name, is_kept=resumes is not None)
        with ExitStack() as stack:
            if resumes is None:
                parts.checkpoints.remove_abandoned(definition.table_id, self._now_ms())
                stack.callback(parts.checkpoints.remove, checkpoint)
            session = stack.enter_context(self._sessions.open(definition.resolved.context))
            try:
                frame, opened = parts.queries.open(session, definition, task.run, _after(task))
                ends = BatchEnds(task.run, opened, parts.sources, parts.details, parts.log)
                context = BatchContext(task.run, checkpoint, ends)
                stream = SparkStream(task, context, parts, stack.pop_all())
                stream.start(frame)
            except Exception as error:
                if not is_spark_error(error):
                    raise
                failure = failure_of(error)
                problem = f"[{failure.condition}] {failure.message}"
                raise StreamNotStartedError(table=definition.name, problem=problem) from error
        return stream


class SparkStream:
    """A stream that was started.

    Args:
        task: What it has to do.
        context: What its batches have in common.
        parts: What streams are made of.
        resources: Closed when it has ended.
    """

    def __init__(
        self, task: StreamTask, context: BatchContext, parts: StreamParts, resources: ExitStack
    ) -> None:
        mode = task.run.engine.output_mode if task.run.engine else None
        self._task = task
        self._context = context
        self._parts = parts
        self._query = BatchQuery(self._on_batch, OUTPUT_MODES[mode or OutputMode.APPEND], resources)
        self.done: BatchDone | None = None

    def start(self, frame: DataFrame) -> None:
        """Start the query."""
        name = str(self._task.table.name)
        self._query.start(frame, self._context.checkpoint.path, name, self._task.every_ms)

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        return self._query.is_active

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written."""
        return self._query.is_in_batch

    @property
    def failure(self) -> Exception | None:
        """Why it ended by itself."""
        return self._query.failure

    @property
    def looked_at_ms(self) -> int:
        """When it began to look the last time that it has committed what it found."""
        return self._query.looked_at_ms

    def wait(self) -> None:
        """Wait until it has ended by itself."""
        self._query.wait()

    def stop(self) -> None:
        """End it between two batches."""
        self._query.stop()

    def _on_batch(self, frame: DataFrame, number: int) -> None:
        before = self.done
        table = before.table if before else self._table
        done = self._parts.writer.write(frame, number, self._context, table)
        if done is not None and before is not None:
            done = replace(done, batches=before.batches + 1, rows=before.rows + done.rows)
        self.done = done or self.done

    @property
    def _table(self) -> StoredTable:
        """The table as it was, with the batch that it has of this very checkpoint."""
        return replace(self._task.table, stream=self._task.resumes)


def _after(task: StreamTask) -> dict[str, Position]:
    """Positions behind which sources are read; those of a kept checkpoint are in it."""
    if task.resumes is not None and task.resumes.batch >= 0:
        return {}
    known = task.table.positions or {}
    if task.resumes is not None:
        baseline = task.table.definition.baseline
        return dict(baseline.positions) if baseline else {}
    return {name: known[name] for name in task.followed if name in known}
