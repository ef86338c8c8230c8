"""What streams are made of, for one session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.driver_files import DriverFiles
from dbt.adapters.spark_mt.spark.streams.batches import BatchWriter
from dbt.adapters.spark_mt.spark.streams.checkpoints import Checkpoints
from dbt.adapters.spark_mt.spark.streams.query import StreamQueries

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.table_details import TableDetails


@dataclass(frozen=True, slots=True)
class StreamParts:
    """Readers and writers that every stream of a session shares."""

    sources: SparkSourceReader
    details: TableDetails
    log: DeltaLog
    checkpoints: Checkpoints
    queries: StreamQueries
    writer: BatchWriter


def stream_parts(
    spark: SparkSession,
    reading: tuple[SparkSourceReader, DeltaLog, TableDetails],
    settings: Callable[[], Settings],
    now_ms: Callable[[], int],
) -> StreamParts:
    """Put the parts together.

    Args:
        spark: A classic session.
        reading: What tells of sources, of Delta logs, and of tables.
        settings: Reads the settings in force.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    sources, log, details = reading
    checkpoints = Checkpoints(spark, DriverFiles(spark), settings)
    writer = BatchWriter(log, details, checkpoints, now_ms)
    queries = StreamQueries(sources, log, settings)
    return StreamParts(sources, details, log, checkpoints, queries, writer)
