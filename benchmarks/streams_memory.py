"""What a driver keeps in memory after many batches."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import Measurement, progress
from benchmarks.streams_sides import NoProgressError
from benchmarks.streams_sources import SCHEMA
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOKS = 20
_PATIENCE_S = 300.0
_MB = 2**20
_TRIGGER = "1 ms"


def measure(spark: SparkSession, folder: Path, batches: int) -> list[Measurement]:
    """Make tiny batches, each of one file, as fast as they can be made.

    What is held in their last half is compared with what was in the second fifth: the first one
    fills caches that are bounded.

    Args:
        spark: The session.
        folder: Where files may land.
        batches: How many.
    """
    progress(f"memory, {batches:,} batches …")
    table, landed = f"{SCHEMA}.memory", folder / "landed"
    landed.mkdir()
    spark.sql(
        f"CREATE TABLE {SCHEMA}.memory_events (id BIGINT) USING json "
        f"OPTIONS ('maxFilesPerTrigger' '1') LOCATION '{landed.as_uri()}'"
    )
    tables = MaterializedTables(spark)
    tables.execute(
        f"CREATE MATERIALIZED TABLE {table} WITH ('continuous.trigger-interval' = '{_TRIGGER}') "
        f"FRESHNESS = INTERVAL '1' SECOND AS SELECT id, id * 2 AS twice FROM {SCHEMA}.memory_events"
    )
    for number in range(batches):
        (landed / f"{number:06}.json").write_text(json.dumps({"id": number}), encoding="utf-8")
    tables.start(table)
    looks = []
    try:
        for look in range(1, _LOOKS + 1):
            done = look * batches // _LOOKS
            _wait(tables, table, done)
            looks.append(used(spark))
            heap, resident = looks[-1]
            progress(f"  {done:,}: heap {heap:.0f} MB, Python {resident:.0f} MB")
    finally:
        tables.stop_all()
    early, late = looks[_LOOKS // 5 : 2 * _LOOKS // 5], looks[_LOOKS // 2 :]
    heaps, residents = zip(zip(*late, strict=True), zip(*early, strict=True), strict=True)
    return [
        Measurement("memory: heap after GC", *heaps, most_ratio=1.10, unit="MB"),
        Measurement("memory: Python's RSS", *residents, most_ratio=1.10, unit="MB"),
    ]


def _wait(tables: MaterializedTables, table: str, batches: int) -> None:
    end = time.monotonic() + _PATIENCE_S
    while tables.progress(table).batches < batches:
        if time.monotonic() > end:
            raise NoProgressError(str(tables.progress(table)))
        time.sleep(0.05)


def used(spark: SparkSession) -> tuple[float, float]:
    """Megabytes of the JVM's heap after a full collection, and of this process."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public method returns it
    for _ in range(2):
        jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE")
    return (runtime.totalMemory() - runtime.freeMemory()) / _MB, resident / _MB
