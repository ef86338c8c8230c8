"""Hosted tables against hand-written jobs of Structured Streaming that do the same.

Both sides run in one JVM with the same settings, each over a source of its own; rows arrive at one
after the other, and what is measured is what Spark says about the batches that read them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.report import Measurement, progress
from benchmarks.streams_sides import (
    HandWritten,
    Ours,
    append_natively,
    append_once,
    batches,
    merge_groups,
)
from benchmarks.streams_sources import SCHEMA, DeltaFeed, KafkaFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.streams_sides import Job, Side
    from benchmarks.streams_sources import Feed

_APPEND = "SELECT id, k, v * 2 AS twice, upper(note) AS note, ts FROM {source} WHERE v % 10 <> 0"
_PARSED = (
    "SELECT e.id, e.k, e.v * 2 AS twice, e.ts FROM (SELECT from_json(CAST(value AS STRING), "
    "'id BIGINT, k INT, v INT, note STRING, ts TIMESTAMP') AS e FROM {source}) WHERE e.v % 10 <> 0"
)
_WINDOWS = (
    "SELECT window(ts, '1 minute').start AS minute, k, count(*) AS n, sum(v) AS total "
    "FROM {source} GROUP BY window(ts, '1 minute'), k"
)
_LATE = ("ts", "1 hour")
_WATERMARK = "ts DELAY OF INTERVAL 1 HOUR"
_WARM = 12
"""Each tenth commit writes a checkpoint of the log of the target, the first of them slowly."""
_FEW = 1_000
_STATE_STORE = "spark.sql.streaming.stateStore."
SETTINGS = {
    f"{_STATE_STORE}providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    f"{_STATE_STORE}rocksdb.changelogCheckpointing.enabled": "true",
    # without it no stream begins at the version that the next commit will have
    "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.ui.retainedExecutions": "10",
}
"""What a careful engineer sets for the jobs, too; the rest is for looking at them."""


def delta_append(spark: SparkSession, folder: Path, number: int, many: int) -> list[Measurement]:
    """Delta to Delta, by append.

    Args:
        spark: The session.
        folder: Where checkpoints go.
        number: How many arrivals of few rows are measured on each side.
        many: How many rows a large arrival has.
    """
    feed = partial(DeltaFeed, spark)
    sides = _appending(spark, folder, feed, _APPEND, "delta")
    return _compared("Delta -> Delta", sides, number, many)


def kafka_append(
    spark: SparkSession, folder: Path, servers: str, number: int, many: int
) -> list[Measurement]:
    """Kafka to Delta, by append."""

    def feed(name: str) -> Feed:
        return KafkaFeed(spark, name, servers)

    return _compared(
        "Kafka -> Delta", _appending(spark, folder, feed, _PARSED, "kafka"), number, many
    )


def windows(spark: SparkSession, folder: Path, number: int, many: int) -> list[Measurement]:
    """Windows that are replaced as they grow, by MERGE."""
    ours = Ours(spark, "ours", DeltaFeed(spark, "events_ours"), _WINDOWS, _WATERMARK)
    # A MERGE without a number lets a second host put old groups over new ones.
    jobs: dict[str, Job] = {
        "fenced": partial(merge_groups, fenced=True),
        "free": merge_groups,
    }
    others = [
        HandWritten(
            # a session of its own: the fence is a setting of the session
            spark.newSession(),
            name,
            DeltaFeed(spark, f"events_{name}"),
            _WINDOWS,
            job,
            folder,
            _LATE,
        )
        for name, job in jobs.items()
    ]
    return _compared("windows, MERGE", (ours, *others), number, many, other="no fence")


def _appending(
    spark: SparkSession, folder: Path, feed: Callable[[str], Feed], select: str, of: str
) -> tuple[Side, ...]:
    ours = Ours(spark, f"{of}_ours", feed(f"{of}_events_ours"), select)
    jobs = {"theirs": append_once, "native": append_natively}
    return (
        ours,
        *(
            HandWritten(spark, f"{of}_{name}", feed(f"{of}_events_{name}"), select, job, folder)
            for name, job in jobs.items()
        ),
    )


def _compared(
    what: str, sides: Sequence[Side], number: int, many: int, other: str = "own sink"
) -> list[Measurement]:
    """Measure batches of few rows, and then of many, on each side in turn.

    Args:
        what: What is compared.
        sides: Ours, the job that targets are about, and another one, for comparison.
        number: How many arrivals of few rows.
        many: How many rows a large arrival has.
        other: What the other job is.
    """
    progress(f"{what} …")
    try:
        for side in sides:
            for _ in range(_WARM):
                batches(side, _FEW)
        short = _in_turn(sides, number, _FEW)
        for side in sides:
            batches(side, many)
        long = [
            tuple(many / sum(each) for each in seconds)
            for seconds in _in_turn(sides, max(3, number // 20), many)
        ]
    finally:
        for side in sides:
            side.stop()
    recorded = []
    for name, index in (("", 1), (f", {other}", 2)):
        promised = index == 1
        few = tuple(s for each in short[0] for s in each), tuple(s for e in short[index] for s in e)
        recorded += [
            Measurement(
                f"{what}{name}: batch, {label}",
                *few,
                most_ratio=1.10 if promised else None,
                quantile=quantile,
            )
            for label, quantile in (("p50", 0.5), ("p99", 0.99))
        ]
        recorded.append(
            Measurement(
                f"{what}{name}: {many:,} rows",
                long[0],
                long[index],
                least_ratio=0.95 if promised else None,
                unit="rows/s",
            )
        )
    return recorded


def _in_turn(sides: Sequence[Side], number: int, rows: int) -> list[list[list[float]]]:
    """Durations of batches by side and arrival; who is first changes from round to round."""
    found: list[list[list[float]]] = [[] for _ in sides]
    for turn in range(number):
        for offset in range(len(sides)):
            index = (turn + offset) % len(sides)
            found[index].append(batches(sides[index], rows))
    return found


def prepare(spark: SparkSession) -> None:
    """Make an empty schema."""
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
