"""Runs a source's stream to its end, and looks at what came."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.spark.query.stream_sources import StreamSource


def texts(frame: DataFrame) -> list[str]:
    """Return the values of Kafka's records as texts, sorted."""
    return sorted(row[0] for row in frame.selectExpr("CAST(value AS STRING)").collect())


def followed(
    source: StreamSource, after: Position | None, checkpoint: Path
) -> tuple[list[list[tuple[object, ...]]], Position | None]:
    """Stream what follows a position and end there.

    Returns:
        The rows of each batch, sorted, and the position after the last one.
    """
    batches: list[list[tuple[object, ...]]] = []
    offsets: list[str] = []

    def take(rows: DataFrame, number: int) -> None:
        batches.append(sorted((tuple(row) for row in rows.collect()), key=repr))
        entry = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8")
        offsets.append(entry.splitlines()[-1])

    writer = source.stream(after).writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", checkpoint.as_uri())
    writer.trigger(availableNow=True).start().awaitTermination()
    return batches, source.position_of(offsets[-1]) if offsets else None
