"""Results of queries that a session keeps, so that several statements use them.

A small result becomes a part of the plans that use it, so that Spark broadcasts it and knows its
size. A larger one is held by the executors until the block ends: as a local checkpoint, because a
MERGE may refuse a source that is cached. In either case Spark computes it once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession


MOST_IN_PLAN = 100_000
"""Up to how many rows are a part of the plan."""
_VIEW = "__materialized_table_kept_"
_TIMES = "spark.sql.datetime.java8API.enabled"


class KeptRows:
    """Temporary views of one session, each of a result that was computed once.

    Args:
        spark: A private session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._held: list[Any] = []
        self._count = 0
        self._is_large = False

    def keep_first(self, queries: Sequence[str]) -> str:
        """Keep the rows of the first query that Spark does not refuse."""
        *others, last = queries
        for query in others:
            try:
                with unlogged():
                    return self.keep(query)
            except Exception as error:  # noqa: PERF203 - of two queries
                if not is_spark_error(error) or failure_of(error).is_cancelled:
                    raise
        return self.keep(last)

    def keep(self, query: str) -> str:
        """Compute a query and return the name of a view of its rows; empty where it has none."""
        frame = self._spark.sql(query)
        kept = self._held_elsewhere(frame) if is_connect(self._spark) else self._in_plan(frame)
        if kept is None:
            return ""
        name = f"{_VIEW}{self._count}"
        self._count += 1
        kept.createOrReplaceTempView(name)
        return name

    def release(self) -> None:
        """Free what the executors hold; over Connect the server does it with the frame."""
        while self._held:
            self._held.pop().unpersist(False)  # noqa: FBT003 - of the JVM: do not wait

    def _in_plan(self, frame: DataFrame) -> DataFrame | None:
        """Let the driver hold the rows, as the JVM has them: Python would change some types.

        After one result that was too large for it, the executors compute and hold the others at
        once: those of a refresh are of similar sizes.
        """
        if self._is_large:
            return self._held_elsewhere(frame)
        self._spark.conf.set(_TIMES, "true")
        first: Any = frame.limit(MOST_IN_PLAN + 1)
        rows = first._jdf.collectAsList()  # noqa: SLF001 - see above
        if rows.isEmpty() or rows.size() > MOST_IN_PLAN:
            self._is_large = not rows.isEmpty()
            return None if rows.isEmpty() else self._held_elsewhere(frame)
        session: Any = self._spark
        local = session._jsparkSession.createDataFrame(rows, first._jdf.schema())  # noqa: SLF001
        kept: DataFrame = type(first)(local, session)
        return kept

    def _held_elsewhere(self, frame: DataFrame) -> DataFrame | None:
        kept: Any = frame.localCheckpoint(eager=True)
        if not is_connect(self._spark):
            self._held.append(kept._jdf.logicalPlan().rdd())  # noqa: SLF001 - no public way
        return None if kept.isEmpty() else kept


@contextmanager
def kept_rows(spark: SparkSession) -> Iterator[KeptRows]:
    """Keep results while the block runs."""
    kept = KeptRows(spark)
    try:
        yield kept
    finally:
        kept.release()
