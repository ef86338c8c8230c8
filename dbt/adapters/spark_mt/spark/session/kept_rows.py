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
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from itertools import count
from multiprocessing.pool import ThreadPool
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.spark.session import private_session
from dbt.adapters.spark_mt.spark.session.driver_java import heap_bytes, java_class
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.storagelevel import StorageLevel


MOST_BROADCAST = 1_000_000
"""Up to how many rows of the source of a MERGE are broadcast."""
_BROADCAST_BYTES = 20 * 1024 * 1024
_PART_OF_MEMORY = 100
"""What is broadcast is at most this part of the driver's memory, or Spark's own threshold. Cached
columns are compressed: their rows in a hash table took ten times as much."""
FEW_ROWS = 1_000
"""Up to how many rows the driver keeps: it holds them until the block ends."""
FEW_BYTES = 1024**2
"""Up to how many bytes these may have in the executors: documents and images are large."""
_SMALLEST_MEMORY = 1024**3
"""With how many bytes for blocks executors hold results in memory: those of a heap of 2 GB."""
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
_AT_ONCE = 4
"""How many results a refresh computes at once."""
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """A result to keep.

    Args:
        queries: The query; of several, the first one that Spark does not refuse.
        measures: Aggregates over its rows.
        view: The name of its view, as `new_view` returned it.
        reads: The views of other wanted results that the query reads.
        is_named_only: Whether each reader computes it.
    """

    queries: Sequence[str]
    view: str
    measures: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    is_named_only: bool = False


@dataclass(frozen=True, slots=True)
class _Few:
    """Rows that the driver keeps, and how many they are."""

    frame: DataFrame
    rows: int


class KeptRows:
    """Temporary views of one session, each of a result that was computed once.

    Args:
        spark: A private session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._cached: list[DataFrame] = []
        self._held: dict[int, Any] = {}
        self._is_in_driver = not private_session.is_connect(spark)
        self._level = self._level_of_results()
        if spark.conf.get(_THRESHOLD) == _DEFAULT_THRESHOLD:
            spark.conf.set(_THRESHOLD, str(self._most_broadcast()))
        if self._is_in_driver:
            _read_local_rows_at_once(spark)

    def _most_broadcast(self) -> int:
        """Return how many bytes are broadcast; the memory of a Connect server is not known."""
        if not self._is_in_driver:
            return _BROADCAST_BYTES
        most = min(_BROADCAST_BYTES, heap_bytes(self._spark) // _PART_OF_MEMORY)
        return max(most, _SPARKS_BROADCAST_BYTES)

    def keep_all(self, wanted: Sequence[Wanted]) -> dict[str, Kept]:
        """Keep several results, each as soon as those that it reads are there.

        The driver plans a query in one thread, which takes most of the time of a small one. So it
        plans some of them at once.

        Returns:
            The results that were computed, by the names of their views.
        """
        if self._is_in_driver and len(wanted) > 1:
            found = self._kept_at_once({each.view: each for each in wanted})
        else:
            found = {each.view: self._kept(each) for each in wanted}
        return {view: kept for view, kept in found.items() if kept is not None}

    def _kept_at_once(self, wanted: Mapping[str, Wanted]) -> dict[str, Kept | None]:
        """Keep results in threads whose jobs have the properties of this one: its pool, its tags.

        After a failure none is begun, and it is raised when those that were have ended.
        """
        context: Any = self._spark.sparkContext._jsc.sc()  # noqa: SLF001 - no public way
        properties = context.getLocalProperties()
        order = TopologicalSorter({v: each.reads & wanted.keys() for v, each in wanted.items()})
        order.prepare()
        ended: SimpleQueue[tuple[str, Kept | BaseException | None]] = SimpleQueue()
        found: dict[str, Kept | None] = {}
        failures: list[BaseException] = []

        def keep(view: str) -> Kept | None:
            if failures:
                return None
            context.setLocalProperties(properties.clone())
            return self._kept(wanted[view])

        running = 0
        # Executors of concurrent.futures refuse work when the main thread has returned.
        with ThreadPool(_AT_ONCE) as threads:
            while running or (order.is_active() and not failures):
                for view in order.get_ready():
                    end = partial(_end, ended, view)
                    work = partial(copy_context().run, keep, view)
                    threads.apply_async(work, callback=end, error_callback=end)
                    running += 1
                view, outcome = ended.get()
                running -= 1
                if isinstance(outcome, BaseException):
                    failures.append(outcome)
                else:
                    found[view] = outcome
                    order.done(view)
        if failures:
            raise failures[0]
        return found

    def _kept(self, wanted: Wanted) -> Kept | None:
        if wanted.is_named_only:
            self.define(wanted.queries[0], wanted.view)
            return None
        *others, last = wanted.queries
        for query in others:
            try:
                with unlogged():
                    return self.keep(query, *wanted.measures, view=wanted.view)
            except Exception as error:  # noqa: PERF203 - of two queries
                if not is_spark_error(error) or failure_of(error).is_cancelled:
                    raise
        return self.keep(last, *wanted.measures, view=wanted.view)

    def keep(self, query: str, *measures: str, view: str = "") -> Kept:
        """Compute a query and some aggregates over its rows.

        Args:
            query: The query.
            measures: The aggregates.
            view: The name of the view, as `new_view` returned it; empty for any.
        """
        frame = self._checkpoint(query)
        few = self._few(frame)
        if few is not None:
            values = list(few.frame.selectExpr(*measures).collect()[0]) if measures else []
            return Kept(self._view(few.frame, view), few.rows, tuple(values))
        if not self._is_in_driver:
            self._cached.append(frame.persist(self._level))
            rows, *values = self._measured(frame, "count(*)", *measures)
        else:
            self._cache(frame)
            rows, *values = frame.selectExpr("count(*)", *measures).collect()[0]
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
            self._held.popitem()[1].unpersist(False)  # noqa: FBT003 - of the JVM: do not wait

    def _checkpoint(self, query: str) -> DataFrame:
        """Return the rows of a query, which the first job that reads all of them computes.

        Rows that Spark's optimizer reduces to a local relation are there already.
        """
        frame: Any = self._without_broken_rules(partial(self._lazily, query))
        if not self._is_in_driver:
            # PySpark 4.2 assigns it to the active session, whatever session computes it; the
            # server knows it in this session only, and frees it with the relation.
            frame._session = frame._plan._spark_session = self._spark  # noqa: SLF001 - no public way
        elif not _is_local(plan := frame._jdf.logicalPlan()):  # noqa: SLF001 - no public way
            rdd = plan.rdd()
            self._held[rdd.id()] = rdd
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
        return frame.localCheckpoint(eager=False, storageLevel=self._level)

    def _without_broken_rules(self, plan: Callable[[], DataFrame]) -> DataFrame:
        """Plan a query without the rules of Spark's optimizer that make an invalid plan of it.

        Spark 4.2 does so for some unions of grouping sets. A rule changes what a plan costs, and
        never its rows.
        """
        broken = self._spark.conf.get(_EXCLUDED, None) or ""
        for _ in range(_MOST_BROKEN_RULES):
            try:
                with (
                    private_session.set_for_now(self._spark, {_EXCLUDED: broken} if broken else {}),
                    unlogged(),
                ):
                    return plan()
            except Exception as error:  # noqa: PERF203 - of few rules
                failure = failure_of(error) if is_spark_error(error) else None
                if failure is None or not failure.broken_rule or failure.broken_rule in broken:
                    raise
                broken = ",".join(filter(None, (broken, failure.broken_rule)))
        with private_session.set_for_now(self._spark, {_EXCLUDED: broken}):
            return plan()

    def _few(self, frame: DataFrame) -> _Few | None:
        """Return the rows of a checkpoint that the driver keeps; None where executors keep them."""
        if not self._is_in_driver:
            return None
        plan: Any = frame._jdf.logicalPlan()  # noqa: SLF001 - no public way
        if _is_local(plan):
            return _Few(frame, plan.data().size())
        rdd = plan.rdd()
        with private_session.interruptible(self._spark):
            rows = int(rdd.count())  # computes the rows, as a job that Spark need not plan
            if rows > FEW_ROWS or self._size_of(rdd) > FEW_BYTES:
                return None
            found = rdd.collect()
        self._free(rdd)
        sequences = java_class(self._spark, "scala.collection.immutable.ArraySeq")
        none = java_class(self._spark, "scala.Option").apply(None)
        relation = java_class(self._spark, _LOCAL)
        is_stream = False
        local = relation(plan.output(), sequences.unsafeWrapArray(found), is_stream, none)
        return _Few(self._frame(local), rows)

    def _cache(self, frame: DataFrame) -> None:
        """Let the executors cache all rows of a checkpoint, and free the checkpoint's blocks.

        It is no query: adaptive execution reads a cache in several jobs, and has taken one that
        was being filled for an empty one (SPARK-57547). To leave it off would be a conf of the
        session, in which others plan meanwhile.
        """
        self._cached.append(frame.persist(self._level))
        plan: Any = frame._jdf.queryExecution()  # noqa: SLF001 - no public way
        with private_session.interruptible(self._spark):
            plan.withCachedData().cacheBuilder().cachedColumnBuffers().count()
        self._free(plan.logical().rdd())

    def _free(self, rdd: Any) -> None:  # noqa: ANN401 - of the JVM
        """Free the blocks of a checkpoint whose rows are elsewhere by now."""
        self._held.pop(rdd.id()).unpersist(False)  # noqa: FBT003 - of the JVM: do not wait

    def _level_of_results(self) -> StorageLevel:
        """Return where executors hold results: on disk only, if they have little memory for blocks.

        Spark frees blocks for the memory that it manages, and not for the column chunks of Parquet
        files: each task holds those of a row group. With a heap of 1 GB, blocks left too little.
        """
        from pyspark.storagelevel import StorageLevel

        if self._is_in_driver:
            context: Any = self._spark.sparkContext._jsc.sc()  # noqa: SLF001 - no public way
            each, most = context.getExecutorMemoryStatus().valuesIterator(), 0
            while each.hasNext():
                most = max(most, int(each.next()._1()))  # noqa: SLF001 - of a Scala tuple
            if most < _SMALLEST_MEMORY:
                return StorageLevel.DISK_ONLY
        return StorageLevel.MEMORY_AND_DISK_DESER

    def _size_of(self, rdd: Any) -> int:  # noqa: ANN401 - of the JVM
        """Return how many bytes the executors hold of rows, as the driver knows it."""
        master = java_class(self._spark, "org.apache.spark.SparkEnv").get().blockManager().master()
        block = java_class(self._spark, "org.apache.spark.storage.RDDBlockId")
        ask_executors = False
        held = (
            master.getBlockStatus(block(rdd.id(), part), ask_executors).values().toList()
            for part in range(rdd.getNumPartitions())
        )
        each = (found.apply(place) for found in held for place in range(found.size()))
        return sum(status.memSize() + status.diskSize() for status in each)

    def _frame(self, local: Any) -> DataFrame:  # noqa: ANN401 - of the JVM
        from pyspark.sql import DataFrame

        datasets = java_class(self._spark, "org.apache.spark.sql.classic.Dataset")
        with private_session.active(self._spark):
            found = datasets.ofRows(self._spark._jsparkSession, local)  # noqa: SLF001 - as above
        return DataFrame(found, self._spark)

    def measured(self, query: str, *measures: str) -> Row:
        """Return aggregates over the rows of a query, which are not kept."""
        return self._measured(self._spark.sql(query), *measures)

    def _measured(self, frame: DataFrame, *measures: str) -> Row:
        """Return aggregates over all rows, in one job instead of one for each stage."""
        with private_session.set_for_now(self._spark, {_ADAPTIVE: "false"}):
            return frame.selectExpr(*measures).collect()[0]

    def _view(self, frame: DataFrame, name: str = "") -> str:
        name = name or self.new_view()
        frame.createOrReplaceTempView(name)
        return name


def _end(
    ended: SimpleQueue[tuple[str, Kept | BaseException | None]],
    view: str,
    outcome: Kept | BaseException | None,
) -> None:
    ended.put((view, outcome))


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
