"""Sources of streams: what Delta, Kafka, files and generators of rows have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.spark.streams.checkpointed import (
    FILE_FORMATS,
    RATE_FORMATS,
    FilesSource,
    RateSource,
)
from dbt.adapters.spark_mt.spark.streams.delta import DeltaSource
from dbt.adapters.spark_mt.spark.streams.kafka import KafkaSource
from dbt.adapters.spark_mt.spark.streams.kafka_offsets import KAFKA
from dbt.adapters.spark_mt.spark.streams.options import NO_LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.execution.ports import StartPosition
    from dbt.adapters.spark_mt.planning.windows import ChangeKind
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader

DELTA = "delta"
STREAMABLE_FORMATS = FILE_FORMATS | RATE_FORMATS | {DELTA, KAFKA}
"""The formats of tables that `stream_source` opens."""


class StreamSource(Protocol):
    """One table of the catalog that can be read as a stream.

    Frames belong to the session for which the source was opened, and stand in a query through
    `createOrReplaceTempView`.
    """

    def latest(self) -> Position:
        """Return where the source ends now; unknown where only a checkpoint could tell."""
        ...

    def earliest(self) -> Position:
        """Return before the oldest that it still has."""
        ...

    def position_at(self, instant_ms: int) -> StartPosition:
        """Return the position right before what came at or after an instant.

        Args:
            instant_ms: Milliseconds since the epoch, UTC.

        Raises:
            SourceWithoutTimeError: The format does not tell.
        """
        ...

    def stream(
        self, after: Position | None = None, limits: Mapping[str, str] = NO_LIMITS
    ) -> DataFrame:
        """Open it as a stream of what comes behind a position; from its beginning for None.

        Args:
            after: The position.
            limits: How much a batch takes at most; those of other formats have no effect.
        """
        ...

    def batch(self, after: Position | None, upto: Position) -> DataFrame:
        """Open what lies between two positions as rows at rest; from its beginning for None.

        Raises:
            SourceOnlyStreamsError: It has none.
        """
        ...

    def position_of(self, offset: str) -> Position:
        """Return what an entry in the offsets of a checkpoint means.

        Args:
            offset: The source's own JSON.
        """
        ...

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened to its rows between two positions."""
        ...


def stream_source(
    private: SparkSession,
    name: TableName,
    format_: str,
    reader: SparkSourceReader,
    log: DeltaLog,
) -> StreamSource | None:
    """Open a table of the catalog as a source of streams.

    Args:
        private: A session of the caller's own, to which the frames will belong.
        name: The table's full name.
        format_: Its provider, lower case.
        reader: Knows the logs of Delta tables.
        log: Reads them.

    Returns:
        None where tables of this format cannot be read as streams.
    """
    if format_ == DELTA:
        return DeltaSource(private, name, reader, log)
    if format_ == KAFKA:
        return KafkaSource(private, name)
    if format_ in FILE_FORMATS:
        return FilesSource(private, name, format_)
    return RateSource(private, name, format_) if format_ in RATE_FORMATS else None
