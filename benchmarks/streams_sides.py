"""Streams that are compared: ours, and what an engineer would write without us."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.streams_sources import SCHEMA
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.streams.runner import SparkStream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from benchmarks.streams_sources import Feed

    Job = Callable[["HandWritten", DataFrame, str], StreamingQuery]

TRIGGER_MS = 500
_WRITE = "spark.databricks.delta.write"
_PATIENCE_S = 300.0
_POLL_S = 0.02


class NoProgressError(RuntimeError):
    """A stream did not get where it should, so its time means nothing."""


class Side(Protocol):
    """A stream that runs."""

    name: str
    feed: Feed

    def query(self) -> StreamingQuery | None:
        """Return what Spark runs now."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


@dataclass
class Ours:
    """A materialized table that is hosted.

    Args:
        spark: The session.
        name: The table.
        feed: Its source.
        select: The query, with {source} in it.
        watermark: The option `watermark`.
    """

    spark: SparkSession
    name: str
    feed: Feed
    select: str
    watermark: str = ""
    tables: MaterializedTables = field(init=False)

    def __post_init__(self) -> None:
        """Create and start it."""
        self.tables = MaterializedTables(self.spark)
        self.define(self.select)
        self.tables.start(self.table)

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        return f"{SCHEMA}.{self.name}"

    def define(self, select: str) -> None:
        """Declare the table, whether it is there or not."""
        options = f"'continuous.trigger-interval' = '{TRIGGER_MS} ms'"
        if self.watermark:
            options += f", 'watermark' = '{self.watermark}'"
        query = select.format(source=self.feed.table)
        self.tables.execute(
            f"CREATE OR ALTER MATERIALIZED TABLE {self.table} WITH ({options}) "
            f"FRESHNESS = INTERVAL '1' SECOND AS {query}"
        )

    def query(self) -> StreamingQuery | None:
        """Return the query of the stream that the host runs at this moment, if it runs one."""
        host = self.tables._host  # noqa: SLF001 - durations of batches are only there
        hosted = [each.table._stream for each in host._threads.values()] if host else []  # noqa: SLF001
        (stream,) = hosted or (None,)
        running = stream._stream if stream else None  # noqa: SLF001
        return running._query if isinstance(running, SparkStream) else None  # noqa: SLF001

    def stop(self) -> None:
        """End it."""
        self.tables.stop_all()


@dataclass
class HandWritten:
    """A query of Structured Streaming, as it is written without us.

    Args:
        spark: The session.
        name: The target.
        feed: Its source.
        select: The query over a view, with {source} in it.
        start: Starts it from a streaming frame, given the checkpoint.
        folder: Where checkpoints go.
        watermark: Column and delay.
    """

    spark: SparkSession
    name: str
    feed: Feed
    select: str
    start: Job
    folder: Path
    watermark: tuple[str, str] | None = None
    _query: StreamingQuery = field(init=False)

    def __post_init__(self) -> None:
        """Create the target and start the query."""
        self.fill()
        self.run(0)

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        return f"{SCHEMA}.{self.name}"

    def fill(self) -> None:
        """Make the target, with the columns of the query and no rows."""
        query = self.select.format(source=self.feed.table)
        self.spark.sql(
            f"CREATE OR REPLACE TABLE {self.table} USING delta AS SELECT * FROM ({query}) LIMIT 0"
        )

    def fill_again(self, select: str) -> int:
        """Fill the target again by another query over a Delta table, and return its version."""
        self.select = select
        history = self.spark.sql(f"DESCRIBE HISTORY {self.feed.table} LIMIT 1")
        version = int(history.collect()[0]["version"])
        query = select.format(source=f"{self.feed.table} VERSION AS OF {version}")
        self.spark.sql(f"CREATE OR REPLACE TABLE {self.table} USING delta AS {query}")
        return version

    def run(self, generation: int, **options: str) -> None:
        """Start the query.

        Args:
            generation: Numbers the checkpoints.
            options: Of the reader.
        """
        rows = self._stream(**options)
        if self.watermark is not None:
            rows = rows.withWatermark(*self.watermark)
        view = f"{self.name}_rows"
        rows.createOrReplaceTempView(view)
        frame = self.spark.sql(self.select.format(source=view))
        self._query = self.start(self, frame, str(self.folder / self.name / str(generation)))

    def _stream(self, **options: str) -> DataFrame:
        """Kafka is read by its own reader: as a table of the catalog Spark cannot stream it."""
        servers = getattr(self.feed, "servers", "")
        if not servers:
            return self.spark.readStream.options(**options).table(self.feed.table)
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
        topic = self.feed.table.partition(".")[2]
        return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()

    def query(self) -> StreamingQuery | None:
        """Return the query."""
        return self._query

    def stop(self) -> None:
        """End it."""
        self._query.stop()


def append_once(side: HandWritten, frame: DataFrame, checkpoint: str) -> StreamingQuery:
    """Append in foreachBatch such that a batch that is run again is not appended again."""

    def write(rows: DataFrame, number: int) -> None:
        writer = rows.write.format("delta").mode("append").option("txnAppId", checkpoint)
        writer.option("txnVersion", number).saveAsTable(side.table)

    return _started(frame.writeStream.foreachBatch(write), checkpoint)


def append_natively(side: HandWritten, frame: DataFrame, checkpoint: str) -> StreamingQuery:
    """Append by Delta's own sink."""
    writer = frame.writeStream.format("delta").option("checkpointLocation", checkpoint)
    return writer.trigger(processingTime=f"{TRIGGER_MS} milliseconds").toTable(side.table)


def merge_groups(
    side: HandWritten, frame: DataFrame, checkpoint: str, *, fenced: bool = False
) -> StreamingQuery:
    """Replace groups by MERGE, which is the same however often it is done.

    Args:
        side: The job.
        frame: The groups that a batch touched.
        checkpoint: Where the stream counts.
        fenced: Whether each commit takes a number that no other can take, which alone costs
            Delta a read of the state of the target's log.
    """

    def write(rows: DataFrame, number: int) -> None:
        if fenced:
            rows.sparkSession.conf.set(f"{_WRITE}.txnAppId", checkpoint)
            rows.sparkSession.conf.set(f"{_WRITE}.txnVersion", str(number))
        rows.createOrReplaceTempView(f"{side.name}_batch")
        rows.sparkSession.sql(
            f"MERGE INTO {side.table} AS t USING {side.name}_batch AS s "
            "ON t.minute <=> s.minute AND t.k <=> s.k "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return _started(frame.writeStream.outputMode("update").foreachBatch(write), checkpoint)


def _started(writer: object, checkpoint: str) -> StreamingQuery:
    prepared = writer.option("checkpointLocation", checkpoint)  # type: ignore[attr-defined]
    query: StreamingQuery = prepared.trigger(processingTime=f"{TRIGGER_MS} milliseconds").start()
    return query


def batches(side: Side, rows: int) -> list[float]:
    """Let rows arrive and return how long the batches took that read them, in seconds.

    Waiting looks at the newest progress alone: to read all that a stream remembers takes a core
    away from the batch, and most from the stream that reports most often that it found nothing.

    Raises:
        NoProgressError: The stream failed, or did not read them within five minutes.
    """
    before = _newest(side)
    side.feed.append(rows)
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if _has_read_all(side):
            done = [p for p in _progress(side) if p["batchId"] > before and p["numInputRows"]]
            return [p["durationMs"]["triggerExecution"] / 1000 for p in done]
        query = side.query()
        if query is not None and (failure := query.exception()) is not None:
            raise NoProgressError(side.name) from failure
        time.sleep(_POLL_S)
    raise NoProgressError(side.name)


def _has_read_all(side: Side) -> bool:
    query = side.query()
    progress = query.lastProgress if query is not None else None
    # The fields of a progress have the repr of an offset in some releases.
    end = json.loads(progress.json)["sources"][0]["endOffset"] if progress else None
    return end is not None and side.feed.is_read(json.dumps(end))


def _newest(side: Side) -> int:
    return max((p["batchId"] for p in _progress(side) if p["numInputRows"]), default=-1)


def _progress(side: Side) -> list[dict[str, Any]]:
    query = side.query()
    return list(query.recentProgress) if query is not None else []
