"""Fills a table by the first batch of a stream, so that content and state come about together."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.guard import guarded
from dbt.adapters.spark_mt.resolution.content import null_column
from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode
from dbt.adapters.spark_mt.spark.private_session import PrivateSession
from dbt.adapters.spark_mt.spark.streams.batches import BatchContext
from dbt.adapters.spark_mt.spark.streams.ends import BatchEnds
from dbt.adapters.spark_mt.spark.streams.runner import OUTPUT_MODES
from dbt.adapters.spark_mt.spark.streams.stream import BatchQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.planning.steps import Fill
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.checkpoints import Checkpoint
    from dbt.adapters.spark_mt.spark.streams.parts import StreamParts
    from dbt.adapters.spark_mt.spark.write_errors import WriteErrors

    Write = Callable[[PrivateSession, Fill, CommitFacts, str], int]

_BATCH = "__materialized_table_first_batch"
_ONE_BATCH = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""A batch that only closes windows would come after the commit that fills the table."""
_NO_BATCH = -1


class _FilledError(Exception):
    """The table is filled; further batches belong to whoever goes on in the checkpoint."""


class StreamFiller:
    """Runs a new stream until its first batch, which is the commit that fills the table.

    Args:
        sessions: Opens the session in which the stream runs.
        parts: What streams are made of.
        errors: Explains failures.
    """

    def __init__(self, sessions: PrivateSessions, parts: StreamParts, errors: WriteErrors) -> None:
        self._sessions = sessions
        self._parts = parts
        self.errors = errors

    def fill(self, step: Fill, facts: CommitFacts, write: Write) -> tuple[int, Positions]:
        """Fill a table from the beginning of its sources, or from where the step counts them.

        The checkpoint is new; the one before is removed once the commit stands.

        Args:
            step: What to fill.
            facts: What the commit says, but for positions and batch.
            write: Makes the commit from a query in a session.

        Returns:
            The version of the commit, and up to where its rows reflect the sources.

        Raises:
            MaterializedTableError: The table keeps its rows, and the stream before its checkpoint.
        """
        definition = step.definition
        name = f"{step.seq:06}-{step.run.refresh_id[:8]}"
        checkpoint = self._parts.checkpoints.of(definition.table_id, name, is_kept=True)
        first = _FirstBatch(self, step, facts, write, checkpoint)
        try:
            version, positions = first.committed(self._sessions, self._parts)
        except BaseException:
            self._parts.checkpoints.remove(checkpoint)
            raise
        self._parts.checkpoints.remove_others(definition.table_id, name)
        return version, positions

    def write_first(self, frame: DataFrame, step: Fill, facts: CommitFacts, write: Write) -> int:
        """Make the commit from the rows of a batch."""
        session = PrivateSession(frame.sparkSession)
        frame.createOrReplaceTempView(_BATCH)
        with self.errors.explaining(session, step) as attempt:
            attempt.content = f"SELECT * FROM {_BATCH}"
            rows = guarded(attempt.content, step.definition.resolved)
            return write(session, step, facts, rows)

    def write_none(
        self, session: PrivateSession, step: Fill, facts: CommitFacts, write: Write
    ) -> int:
        """Make the commit where the sources have nothing yet."""
        with self.errors.explaining(session, step):
            return write(session, step, facts, _no_rows(step.definition))


class _FirstBatch:
    def __init__(
        self,
        filler: StreamFiller,
        step: Fill,
        facts: CommitFacts,
        write: Write,
        checkpoint: Checkpoint,
    ) -> None:
        self._filler = filler
        self._step = step
        self._facts = facts
        self._write = write
        self._checkpoint = checkpoint
        self._done: tuple[int, Positions] | None = None

    def committed(self, sessions: PrivateSessions, parts: StreamParts) -> tuple[int, Positions]:
        step, run = self._step, self._step.run
        mode = run.engine.output_mode if run.engine else None
        with ExitStack() as stack:
            session = stack.enter_context(sessions.open(step.definition.resolved.context))
            session.configure(_ONE_BATCH)
            after = dict(step.since or ())
            frame, opened = parts.queries.open(session, step.definition, run, after)
            ends = BatchEnds(run, opened, parts.sources, parts.details, parts.log)
            context = BatchContext(run, self._checkpoint, ends)

            def on_batch(rows: DataFrame, number: int) -> None:
                if self._done is not None:
                    raise _FilledError
                positions = parts.writer.positions(context, number)
                facts = self._told(positions, number)
                version = self._filler.write_first(rows, step, facts, self._write)
                self._done = version, positions

            query = BatchQuery(on_batch, OUTPUT_MODES[mode or OutputMode.APPEND], ExitStack())
            stack.callback(query.stop)
            with self._filler.errors.explaining(session, step):
                query.start(frame, self._checkpoint.path, str(step.definition.name), None)
                query.wait()
                if self._done is None and query.failure is not None:
                    raise query.failure
            if self._done is not None:
                return self._done
            facts = self._told(run.positions, _NO_BATCH)
            return self._filler.write_none(session, step, facts, self._write), run.positions

    def _told(self, positions: Positions, number: int) -> CommitFacts:
        stream = self._checkpoint.facts(number)
        return replace(self._facts, positions=positions, stream=stream)


def _no_rows(definition: StoredDefinition) -> str:
    columns = ", ".join(null_column(column) for column in definition.resolved.columns)
    return f"SELECT {columns} WHERE false"
