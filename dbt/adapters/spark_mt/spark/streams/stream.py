"""A query of Structured Streaming whose batches are commits of a table."""

from __future__ import annotations

from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.errors import is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    OnBatch = Callable[[DataFrame, int], None]


_WAITING_S = 1


class _StoppedError(Exception):
    """A batch that begins while its stream is being stopped."""


class BatchQuery:
    """A query whose batches run in a thread of Spark's, everything else in the caller's.

    Args:
        on_batch: Called with each batch and its number.
        output_mode: Which rows a batch hands over, in Spark's words.
        resources: Closed when the query has ended.
    """

    def __init__(self, on_batch: OnBatch, output_mode: str, resources: ExitStack) -> None:
        self._on_batch = on_batch
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
            self._query = writer.trigger(processingTime=f"{every_ms} milliseconds").start()

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        return self._query is not None and self._query.isActive

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is being written."""
        return self._between_batches.locked()

    @property
    def failure(self) -> Exception | None:
        """Why it ended by itself: what a batch raised, or else what Spark says."""
        if self._failed is not None or self._query is None or self._is_stopping:
            return self._failed
        return self._query.exception()

    @property
    def looked_at_ms(self) -> int:
        """When the newest trigger that has ended began, milliseconds since the epoch, UTC."""
        progress = None if self._query is None else self._query.lastProgress
        if not progress:
            return 0
        began = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))
        return int(began.timestamp() * 1000)

    def wait(self) -> None:
        """Wait until it has ended by itself; a failure is told by `failure`."""
        try:
            while self.is_active and self._query is not None:
                self._query.awaitTermination(_WAITING_S)
        except Exception as error:
            if not is_spark_error(error):
                raise

    def stop(self) -> None:
        """End it: a batch that has begun ends first.

        Spark waits for a batch that begins meanwhile, so that must not wait for us: it finds that
        the stream is about to stop.
        """
        self._is_stopping = True
        with self._between_batches:
            pass
        if self._query is not None:
            self._query.stop()
        self._resources.close()

    def _run(self, frame: DataFrame, number: int) -> None:
        with self._between_batches:
            if self._is_stopping:
                raise _StoppedError
            try:
                self._on_batch(frame, number)
            except Exception as error:
                self._failed = error
                raise
