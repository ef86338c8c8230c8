"""How the cost of a refresh by changes grows with its source, while the change stays the same.

For each size there is a new source, with a table of each query of `benchmarks.peers`. Before each
refresh 500 rows are inserted and 500 of the newest rows are updated. The driver has the executor's
threads in its JVM, so the heap is that of both.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks import peers
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

PART = "growth"
SIZES = (1_000_000, 6_000_000, 20_000_000, 60_000_000)
_CHANGED = 1_000
_WARM_UP = 2
_MB = 2**20


def measure(
    spark: SparkSession, sizes: Sequence[int], samples: int, shapes: Sequence[str]
) -> list[Measurement]:
    """Refresh tables after equal changes of sources of each size.

    Args:
        spark: The session.
        sizes: Rows of the sources, the smallest first; its figures are the baseline.
        samples: How often each is measured, after two refreshes that are not counted.
        shapes: Keys of `peers.SHAPES`.
    """
    found = {rows: _at(spark, rows, samples, shapes) for rows in sizes}
    measurements: list[Measurement] = []
    for name in shapes:
        least_seconds, least_heap = found[sizes[0]][name]
        for rows, of_size in found.items():
            seconds, heap = of_size[name]
            measured = f"{name}, {rows:,} rows"
            measurements += [
                Measurement(measured, seconds, least_seconds),
                Measurement(f"{measured}, heap", heap, least_heap, unit="MB"),
            ]
    return measurements


def _at(
    spark: SparkSession, rows: int, samples: int, shapes: Sequence[str]
) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Seconds, and the most of the heap in use during a refresh in MB, by shape."""
    source, tables = peers.Source(spark, rows), MaterializedTables(spark)
    for place, name in enumerate(shapes):
        progress(f"{rows:,} rows, {name}: first build …")
        tables.execute(
            f"CREATE MATERIALIZED TABLE ours{place} WITH ('incremental' = 'strict') "
            "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS "
            f"AS {peers.SHAPES[name].query}"
        )
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in shapes}
    for _ in range(_WARM_UP + samples):
        source.change(_CHANGED / rows, is_near=True)
        for place, name in enumerate(shapes):
            heap = _Heap(spark)
            start = time.perf_counter()
            tables.refresh(f"ours{place}")
            taken[name].append((time.perf_counter() - start, heap.most()))
            seconds, most = taken[name][-1]
            progress(f"{rows:,} rows, {name}: {seconds:.2f} s, at most {most:.0f} MB")
    for place in range(len(shapes)):
        tables.execute(f"DROP MATERIALIZED TABLE ours{place}")
    spark.sql("USE default")
    spark.sql(f"DROP SCHEMA {peers.SCHEMA} CASCADE")
    counted = {name: each[_WARM_UP:] for name, each in taken.items()}
    return {
        name: (tuple(seconds for seconds, _ in each), tuple(most for _, most in each))
        for name, each in counted.items()
    }


class _Heap:
    """The heap of the JVM from now on, which begins after a full collection."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public method returns it
        jvm.java.lang.System.gc()
        pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        self._pools = [pool for pool in pools if str(pool.getType().name()) == "HEAP"]
        for pool in self._pools:
            pool.resetPeakUsage()

    def most(self) -> float:
        """The most megabytes in use since then, garbage included."""
        return float(sum(pool.getPeakUsage().getUsed() for pool in self._pools)) / _MB
