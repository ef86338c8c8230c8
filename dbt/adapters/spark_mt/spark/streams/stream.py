"""A query of Structured Streaming whose batches are commits of a table."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.streams import BatchDone
    from dbt.adapters.spark_mt.spark.streams.batches import BatchWriter, DeltaBatches


class _StoppedError(Exception):
    """A batch that begins while its stream is being stopped."""


class SparkStream:
    """A stream; its batches run in a thread of Spark's, everything else in the host's.

    Args:
        table: The table as it is when the stream starts.
        batches: Where its batches are told.
        writer: Writes them.
        clean_up: Removes the checkpoint.
    """

    def __init__(
        self,
        table: StoredTable,
        batches: DeltaBatches,
        writer: BatchWriter,
        clean_up: Callable[[], None],
    ) -> None:
        self._table = table
        self._batches = batches
        self._writer = writer
        self._clean_up = clean_up
        self._between_batches = Lock()
        self._is_stopping = False
        self._query: StreamingQuery | None = None
        self._kept: ExitStack | None = None
        self._failed: Exception | None = None
        self.done: BatchDone | None = None

    def start(self, frame: DataFrame, every_ms: int, name: str) -> None:
        """Start the query."""
        writer = frame.writeStream.foreachBatch(self._on_batch).queryName(name)
        writer = writer.option("checkpointLocation", self._batches.checkpoint)
        self._query = writer.trigger(processingTime=f"{every_ms} milliseconds").start()

    def keep(self, resources: ExitStack) -> None:
        """Hold what the query needs until it has ended."""
        self._kept = resources

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        return self._query is not None and self._query.isActive

    @property
    def failure(self) -> Exception | None:
        """Why it ended by itself: what a batch raised, or else what Spark says."""
        if self._failed is not None or self._query is None or self._is_stopping:
            return self._failed
        return self._query.exception()

    def stop(self) -> None:
        """End it: a batch that has begun is committed first."""
        self._is_stopping = True
        with self._between_batches:
            if self._query is not None:
                self._query.stop()
        if self._kept is not None:
            self._kept.close()
            self._kept = None
            self._clean_up()

    def _on_batch(self, frame: DataFrame, number: int) -> None:
        with self._between_batches:
            if self._is_stopping:
                raise _StoppedError
            try:
                self._write(frame, number)
            except Exception as error:
                self._failed = error
                raise

    def _write(self, frame: DataFrame, number: int) -> None:
        before = self.done
        table = before.table if before else self._table
        done = self._writer.write(frame, number, self._batches, table)
        if before is not None:
            done = replace(done, batches=before.batches + 1, rows=before.rows + done.rows)
        self.done = done
