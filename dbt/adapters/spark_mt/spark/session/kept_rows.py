"""Results of queries that a session keeps, so that several statements use them.

Spark computes each of them once, and the executors hold it until the block ends. It is a local
checkpoint, so that no change of a table makes it stale. The checkpoint is cached as well: Spark
knows the size of a cached relation, and broadcasts a small one to a large table instead of
shuffling the large table.

Few rows are kept in the driver instead, as a local relation. Spark sends it to the executors
without a job, evaluates simple queries over it while it plans them, and leaves out whatever is
joined with one that has no row.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.private_session import active, is_connect, set_for_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession


MOST_BROADCAST = 1_000_000
"""Up to how many rows of the source of a MERGE are broadcast."""
_BROADCAST_BYTES = 20 * 1024 * 1024
_PART_OF_MEMORY = 100
"""What is broadcast is at most this part of the driver's memory, or Spark's own threshold. Cached
columns are compressed: their rows in a hash table took ten times as much."""
FEW_ROWS = 1_000
"""Up to how many rows the driver keeps: it holds them until the block ends."""
FEW_BYTES = 1024**2
"""Up to how many bytes of cached columns these may have: documents and images are large."""
_PARTITIONS_OF_LOCAL = "spark.sql.leafNodeDefaultParallelism"
_PARTITIONS_OF_FILES = "spark.sql.files.minPartitionNum"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_SPARKS_BROADCAST_BYTES = 10 * 1024 * 1024
_DEFAULT_THRESHOLD = f"{_SPARKS_BROADCAST_BYTES}b"
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_MOST_BROKEN_RULES = 3
"""How many rules a query may be planned without."""
_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"
_VIEW = "__materialized_table_kept_"
_ANY_NUMBER = 100_000
"""Of partitions: COALESCE to so many merges none, and its result has no known order. Spark keeps
the order of a checkpoint's plan in attributes that the checkpoint need not have, as those of a sort
aggregate, a merge join or a window, and then a query over the cached rows fails."""
_NUMBERS = count()
"""Of names: a write keeps rows of its own in the session whose kept rows it reads."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as a temporary view, with its number of rows.

    Args:
        view: The name of a temporary view of its rows.
        rows: How many it has.
        measures: The values of the aggregates that were asked for; None over no row.
    """

    view: str
    rows: int
    measures: tuple[Any, ...] = ()


class KeptRows:
    """Temporary views of one session, each of a result that was computed once.

    Args:
        spark: A private session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._cached: list[DataFrame] = []
        self._held: list[Any] = []
        self._is_in_driver = not is_connect(spark)
        if spark.conf.get(_THRESHOLD) == _DEFAULT_THRESHOLD:
            spark.conf.set(_THRESHOLD, str(self._most_broadcast()))
        if self._is_in_driver:
            _read_local_rows_at_once(spark)

    def _most_broadcast(self) -> int:
        """Return how many bytes are broadcast; the memory of a Connect server is not known."""
        if not self._is_in_driver:
            return _BROADCAST_BYTES
        memory = int(java_class(self._spark, "java.lang.Runtime").getRuntime().maxMemory())
        return max(min(_BROADCAST_BYTES, memory // _PART_OF_MEMORY), _SPARKS_BROADCAST_BYTES)

    def keep_first(self, queries: Sequence[str], *measures: str) -> Kept:
        """Keep the rows of the first query that Spark does not refuse."""
        *others, last = queries
        for query in others:
            try:
                with unlogged():
                    return self.keep(query, *measures)
            except Exception as error:  # noqa: PERF203 - of two queries
                if not is_spark_error(error) or failure_of(error).is_cancelled:
                    raise
        return self.keep(last, *measures)

    def keep(self, query: str, *measures: str, view: str = "") -> Kept:
        """Compute a query and some aggregates over its rows.

        Args:
            query: The query.
            measures: The aggregates.
            view: The name of the view, as `new_view` returned it; empty for any.
        """
        frame = self._checkpoint(query)
        if (local := self._local(frame)) and not measures:
            return Kept(self._view(frame, view), local.data().size())
        if not local:
            self._cached.append(frame.persist())
        rows, *values = self._measured(frame, "count(*)", *measures)
        if not local and self._are_few(frame, rows):
            frame = self._moved(frame)
        return Kept(self._view(frame, view), rows, tuple(values))

    def define(self, query: str, view: str) -> None:
        """Name a query, which is analysed once and which each reader computes.

        Args:
            query: The query.
            view: The name, as `new_view` returned it.
        """
        self._view(self._spark.sql(query), view)

    def new_view(self) -> str:
        """Return the name of a view that is not there yet."""
        return f"{_VIEW}{next(_NUMBERS)}"

    def keep_source(self, query: str, *measures: str) -> Kept:
        """Compute the source of a MERGE, which may not be cached, and aggregates over its rows."""
        frame = self._checkpoint(query)
        rows, *values = self._measured(frame, "count(*)", *measures)
        view = self._view(frame.hint("broadcast") if rows <= MOST_BROADCAST else frame)
        return Kept(view, rows, tuple(values))

    def release(self) -> None:
        """Free what the executors hold; over Connect the server does it with the frame."""
        while self._cached:
            self._cached.pop().unpersist()
        while self._held:
            self._held.pop().unpersist(False)  # noqa: FBT003 - of the JVM: do not wait

    def _checkpoint(self, query: str) -> DataFrame:
        """Return the rows of a query, which the first job that reads all of them computes.

        Rows that Spark's optimizer reduces to a local relation are there already.
        """
        frame: Any = self._without_broken_rules(partial(self._lazily, query))
        if not self._is_in_driver:
            # PySpark 4.2 assigns it to the active session, whatever session computes it; the
            # server knows it in this session only, and frees it with the relation.
            frame._session = frame._plan._spark_session = self._spark  # noqa: SLF001 - no public way
        elif not self._local(frame):
            self._held.append(frame._jdf.logicalPlan().rdd())  # noqa: SLF001 - no public way
        found: DataFrame = frame
        return found

    def _lazily(self, query: str) -> DataFrame:
        frame = self._spark.sql(query).coalesce(_ANY_NUMBER)
        if self._is_in_driver:
            plan = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no public way
            if plan.children().nonEmpty():  # Spark leaves COALESCE out where there is no row
                plan = plan.children().head()
            if _is_local(plan):
                return self._frame(plan)
        return frame.localCheckpoint(eager=False)

    def _without_broken_rules(self, plan: Callable[[], DataFrame]) -> DataFrame:
        """Plan a query without the rules of Spark's optimizer that make an invalid plan of it.

        Spark 4.2 does so for some unions of grouping sets. A rule changes what a plan costs, and
        never its rows.
        """
        broken = self._spark.conf.get(_EXCLUDED, None) or ""
        for _ in range(_MOST_BROKEN_RULES):
            try:
                with set_for_now(self._spark, {_EXCLUDED: broken} if broken else {}), unlogged():
                    return plan()
            except Exception as error:  # noqa: PERF203 - of few rules
                failure = failure_of(error) if is_spark_error(error) else None
                if failure is None or not failure.broken_rule or failure.broken_rule in broken:
                    raise
                broken = ",".join(filter(None, (broken, failure.broken_rule)))
        with set_for_now(self._spark, {_EXCLUDED: broken}):
            return plan()

    def _local(self, frame: DataFrame) -> Any:  # noqa: ANN401 - of the JVM
        """Return the local relation that a frame is; None where it is none."""
        if not self._is_in_driver:
            return None
        plan = frame._jdf.logicalPlan()  # noqa: SLF001 - no public way
        return plan if _is_local(plan) else None

    def _are_few(self, frame: DataFrame, rows: int) -> bool:
        """Whether the driver keeps the rows of a cached frame."""
        if not self._is_in_driver or rows > FEW_ROWS:
            return False
        plan = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - as above
        return bool(plan.stats().sizeInBytes() <= FEW_BYTES)

    def _moved(self, frame: DataFrame) -> DataFrame:
        """Return the few rows of the frame that was cached last, which nothing holds any more."""
        execution = frame._jdf.queryExecution()  # noqa: SLF001 - as above
        sequences = java_class(self._spark, "scala.collection.immutable.ArraySeq")
        rows = sequences.unsafeWrapArray(execution.executedPlan().executeCollect())
        relation = java_class(self._spark, _LOCAL)
        none = java_class(self._spark, "scala.Option").apply(None)
        is_stream = False
        local = relation(execution.analyzed().output(), rows, is_stream, none)
        self._cached.pop().unpersist()
        self._held.pop().unpersist(False)  # noqa: FBT003 - of the JVM: do not wait
        return self._frame(local)

    def _frame(self, local: Any) -> DataFrame:  # noqa: ANN401 - of the JVM
        from pyspark.sql import DataFrame

        datasets = java_class(self._spark, "org.apache.spark.sql.classic.Dataset")
        with active(self._spark):
            found = datasets.ofRows(self._spark._jsparkSession, local)  # noqa: SLF001 - as above
        return DataFrame(found, self._spark)

    def measured(self, query: str, *measures: str) -> Row:
        """Return aggregates over the rows of a query, which are not kept."""
        return self._measured(self._spark.sql(query), *measures)

    def _measured(self, frame: DataFrame, *measures: str) -> Row:
        """Return aggregates over all rows, in one job instead of one for each stage."""
        with set_for_now(self._spark, {_ADAPTIVE: "false"}):
            return frame.selectExpr(*measures).collect()[0]

    def _view(self, frame: DataFrame, name: str = "") -> str:
        name = name or self.new_view()
        frame.createOrReplaceTempView(name)
        return name


def _is_local(plan: Any) -> bool:  # noqa: ANN401 - of the JVM
    return bool(plan.getClass().getName() == _LOCAL)


def _read_local_rows_at_once(spark: SparkSession) -> None:
    """Let a session read local rows as one partition, so that nothing has to shuffle them.

    Files are divided as before: Spark takes the same conf for them where they have none.
    """
    before = spark.conf.get(_PARTITIONS_OF_LOCAL, None)
    if not spark.conf.get(_PARTITIONS_OF_FILES, None):
        partitions = before or spark.sparkContext.defaultParallelism
        spark.conf.set(_PARTITIONS_OF_FILES, str(partitions))
    spark.conf.set(_PARTITIONS_OF_LOCAL, "1")


@contextmanager
def kept_rows(spark: SparkSession) -> Iterator[KeptRows]:
    """Keep results while the block runs."""
    kept = KeptRows(spark)
    try:
        yield kept
    finally:
        kept.release()
