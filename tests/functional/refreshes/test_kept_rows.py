"""Kept rows of every plan whose rows have an order, which Spark records in a checkpoint."""

from __future__ import annotations

from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.spark.query.query_relations import failure_at
from dbt.adapters.spark_mt.spark.session import kept_rows as module
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.kept_rows import FEW_ROWS, Wanted, kept_rows
from dbt.adapters.spark_mt.spark.session.private_session import interrupt_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGGREGATES = (
    *("max({})", "min({})", "first({})", "any_value({})", "mode({})", "count(DISTINCT {})"),
    *("sum({})", "avg({})", "stddev({})", "median({})", "percentile_approx({}, 0.5)"),
    *("collect_list({})", "collect_set({})", "max_by({}, w)", "min_by(w, {})", "bit_xor({})"),
    *("listagg({}) WITHIN GROUP (ORDER BY {})", "approx_count_distinct({})", "bool_or({})"),
    *("max({}) FILTER (WHERE w > 1)", "max(DISTINCT {})", "histogram_numeric({}, 2)"),
)
TYPES = {
    "STRING": "STRING(id)",
    "STRING COLLATE UTF8_LCASE": "STRING(id) COLLATE UTF8_LCASE",
    "BINARY": "BINARY(STRING(id))",
    "INT": "INT(id)",
    "DOUBLE": "DOUBLE(id)",
    "DECIMAL(38,10)": "CAST(id AS DECIMAL(38,10))",
    "BOOLEAN": "id > 5",
    "DATE": "DATE '2020-01-01' + INT(id)",
    "TIMESTAMP": "TIMESTAMP_SECONDS(id)",
    "INTERVAL": "make_dt_interval(INT(id))",
    "STRUCT": "struct(id AS a, STRING(id) AS b)",
    "ARRAY": "array(STRING(id))",
    "MAP": "map(STRING(id), id)",
}
PLANS = {
    "merge join": "SELECT /*+ MERGE(b) */ a.{k} AS {k}, b.w FROM {f} a JOIN {f} b USING ({k})",
    "window": "SELECT {k} AS {k}, row_number() OVER (PARTITION BY {k} ORDER BY w) AS r FROM {f}",
    "sort": "SELECT {k} AS {k}, w FROM {f} SORT BY {k}",
    "order": "SELECT {k} AS {k}, w FROM {f} ORDER BY {k}, w LIMIT 5",
    "having": "SELECT {k} AS {k} FROM {f} GROUP BY {k} HAVING max(STRING(w)) > '0'",
    "session window": "SELECT {k} AS {k}, count(*) AS n FROM {f} "
    "GROUP BY {k}, session_window(TIMESTAMP_SECONDS(w), '1 second')",
}
ALWAYS = ("STRING",)
LOCAL, CACHED = "LocalRelation", "InMemoryRelation"


EXECUTORS, DRIVER = -1, FEW_ROWS
BOTH = pytest.mark.parametrize("few", [EXECUTORS, DRIVER], indirect=True)
EXECUTORS_IN_CI = pytest.mark.parametrize(
    "few", [EXECUTORS, pytest.param(DRIVER, marks=pytest.mark.conformance)], indirect=True
)


@pytest.fixture
def few(request, monkeypatch):
    """Up to how many rows are kept in the driver."""
    monkeypatch.setattr(module, "FEW_ROWS", request.param)
    return request.param


def rows_of(value: str) -> str:
    """Return rows whose names are those of a rendered tree, where each level names all columns."""
    return f"(SELECT id % 3 AS `k#1`, id AS w, {value} AS `x#2` FROM range(12))"


def kind(session: SparkSession, view: str) -> str:
    """Return the kind of relation that Spark reads for a view."""
    plan = session.table(view)._jdf.queryExecution().withCachedData()
    return str(plan.collectLeaves().head().getClass().getSimpleName())


def held(session: SparkSession) -> int:
    """Return how many results the executors hold."""
    return session.sparkContext._jsc.getPersistentRDDs().size()


def jobs(session: SparkSession) -> int:
    """Return how many jobs Spark has begun."""
    return session.sparkContext._jsc.sc().dagScheduler().numTotalJobs()


def read_twice(session: SparkSession, query: str) -> None:
    """Keep the rows of a query, and read them in one query twice, under names of its own."""
    expected = session.sql(query).count()
    with kept_rows(session) as kept:
        found = kept.keep(query)
        first, again = (sorted(map(repr, session.table(found.view).collect())) for _ in range(2))
        assert (found.rows, len(first)) == (expected, expected)
        assert first == again
        both = session.sql(
            f"SELECT count(*) FROM (SELECT `k#1` AS `k#3` FROM {found.view}) a "
            f"JOIN {found.view} b ON a.`k#3` <=> b.`k#1`"
        )
        assert both.collect()[0][0] >= found.rows


@pytest.mark.parametrize(
    "type_", [t if t in ALWAYS else pytest.param(t, marks=pytest.mark.conformance) for t in TYPES]
)
@EXECUTORS_IN_CI
@pytest.mark.usefixtures("few")
def test_rows_of_every_aggregate_can_be_read_again(session, type_):
    done = 0
    for aggregate in AGGREGATES:
        call = aggregate.replace("{}", "`x#2`")
        query = (
            f"SELECT `k#1` AS `k#1`, {call} AS `m#4` FROM {rows_of(TYPES[type_])} GROUP BY `k#1`"
        )
        if failure_at(session, query) is None:  # Spark has the aggregate for the type
            read_twice(session, query)
            done += 1
    assert done > 2


@pytest.mark.parametrize("plan", PLANS)
@EXECUTORS_IN_CI
@pytest.mark.usefixtures("few")
def test_rows_of_every_plan_with_an_order_can_be_read_again(session, plan):
    read_twice(session, PLANS[plan].format(k="`k#1`", f=rows_of("1")))


@BOTH
def test_few_rows_are_a_local_relation_that_no_executor_holds(session, few):
    before = held(session)
    with kept_rows(session) as kept:
        found = kept.keep("SELECT id, id % 3 AS k FROM range(9)", "max(id)", "min(k)")
        assert (found.rows, found.measures) == (9, (8, 0))
        assert kind(session, found.view) == (LOCAL if few > 0 else CACHED)
        assert (held(session) == before) == (few > 0)
        assert sorted(row[0] for row in session.table(found.view).collect()) == list(range(9))
        name, begun = kept.new_view(), jobs(session)
        assert kept.keep(f"SELECT id + 1 AS n FROM {found.view} WHERE k = 0", view=name).rows == 3
        assert (jobs(session) == begun) == (few > 0)
        assert kind(session, name) == (LOCAL if few > 0 else CACHED)
        assert sorted(row.n for row in session.table(name).collect()) == [1, 4, 7]
    assert held(session) == before


@BOTH
def test_what_is_joined_with_no_row_is_not_read(session, few):
    with kept_rows(session) as kept:
        none = kept.keep("SELECT id FROM range(9) WHERE id > 10", "max(id)")
        assert (none.rows, none.measures) == (0, (None,))
        joined = f"SELECT r.id FROM range(1000000) AS r JOIN {none.view} AS n ON n.id = r.id"
        begun = jobs(session)
        assert kept.keep(joined).rows == 0
        assert (jobs(session) == begun) == (few > 0)
        assert kept.keep(joined, "count(id)").measures == (0,)
        assert kept.keep_source(joined, "max(id)").measures == (None,)


def test_files_are_divided_as_before_and_local_rows_are_one_partition(session, tmp_path):
    session.range(0, 4000, 1, 1).write.parquet(str(tmp_path / "p"))

    def partitions(query):
        return session.sql(query).rdd.getNumPartitions()

    files, values = f"SELECT * FROM parquet.`{tmp_path}/p`", "VALUES (1), (2), (3)"
    session.conf.set("spark.sql.files.openCostInBytes", "0")
    before = partitions(files)
    assert before > 1
    with kept_rows(session):
        assert (partitions(files), partitions(values)) == (before, 1)


@pytest.mark.parametrize(("part", "megabytes"), [(1, 20), (10**9, 10)])
def test_a_small_driver_broadcasts_no_more_than_spark_would(session, monkeypatch, part, megabytes):
    monkeypatch.setattr(module, "_PART_OF_MEMORY", part)
    key = "spark.sql.autoBroadcastJoinThreshold"
    with kept_rows(session):
        assert session.conf.get(key) == str(megabytes * 1024**2)


def test_few_rows_that_are_large_stay_in_executors(session):
    """A hundred documents of 30 kB; the driver may collect a gigabyte at most, all in all."""
    large = "SELECT id, repeat(md5(string(id)), 1000) AS document FROM range(100)"
    with kept_rows(session) as kept:
        found = kept.keep(large)
        assert (found.rows, kind(session, found.view)) == (100, CACHED)
        small = kept.keep(f"SELECT id FROM {found.view}")
        assert (small.rows, kind(session, small.view)) == (100, LOCAL)


@pytest.mark.parametrize("least", [1, 10**12])
def test_executors_hold_many_rows_once_and_on_disk_where_they_have_little_memory(
    session, monkeypatch, least
):
    monkeypatch.setattr(module, "_SMALLEST_MEMORY", least)
    before = {block.id() for block in session.sparkContext._jsc.sc().getRDDStorageInfo()}
    with kept_rows(session) as kept:
        found = kept.keep("SELECT id, md5(string(id)) AS text FROM range(9000)", "sum(id)")
        assert (found.rows, found.measures) == (9000, (9000 * 8999 // 2,))
        blocks = session.sparkContext._jsc.sc().getRDDStorageInfo()
        held = [each for each in blocks if each.id() not in before]
        assert len(held) == 1, f"executors hold the rows {len(held)} times"
        (block,) = held
        assert (block.memSize() > 0, block.diskSize() > 0) == (least == 1, least > 1)
        assert session.table(found.view).distinct().count() == 9000


@BOTH
@pytest.mark.usefixtures("few")
def test_results_are_kept_at_once_each_after_those_that_it_reads(session):
    with kept_rows(session) as kept:
        views = [kept.new_view() for _ in range(9)]
        first = [
            Wanted((f"SELECT id FROM range({n + 1})",), views[n], ("max(id)",)) for n in range(7)
        ]
        union = " UNION ALL ".join(f"SELECT id FROM {view}" for view in views[:7])
        named = Wanted((union,), views[7], reads=frozenset(views[:7]), is_named_only=True)
        last = f"SELECT id, count(*) AS n FROM {views[7]} GROUP BY id"
        found = kept.keep_all(
            [*first, named, Wanted((last,), views[8], reads=frozenset(views[7:8]))]
        )
        assert {view: (each.rows, each.measures) for view, each in found.items()} == {
            **{views[n]: (n + 1, (n,)) for n in range(7)},
            views[8]: (7, ()),
        }
        rows = session.table(views[8]).orderBy("id").collect()
        assert [(row.id, row.n) for row in rows] == [(n, 7 - n) for n in range(7)]


def test_of_several_queries_the_first_that_spark_does_not_refuse_is_kept(session):
    with kept_rows(session) as kept:
        queries = ("SELECT nothing FROM range(2)", "SELECT id FROM range(3)")
        views = [kept.new_view() for _ in range(2)]
        found = kept.keep_all([Wanted(queries, view) for view in views])
        assert [found[view].rows for view in views] == [3, 3]


def test_a_failure_ends_what_was_not_begun(session):
    """What was begun has ended, so that nothing runs in a session that is closed next."""
    with kept_rows(session) as kept:
        views = [kept.new_view() for _ in range(3)]
        failing = Wanted(("SELECT raise_error('no such day') FROM range(1)",), views[0])
        other = Wanted(("SELECT max(id) FROM range(3000000)",), views[1])
        after = Wanted(
            (f"SELECT * FROM {views[0]}, {views[1]}",), views[2], reads=frozenset(views[:2])
        )
        with pytest.raises(Exception, match="no such day") as failure:
            kept.keep_all([failing, other, after])
        assert is_spark_error(failure.value)
        assert session.sparkContext.statusTracker().getActiveJobsIds() == []
        assert session.catalog.tableExists(views[1])
        assert not session.catalog.tableExists(views[2])


def test_jobs_of_kept_rows_have_the_properties_of_the_thread(session):
    context = session.sparkContext
    context.addJobTag("asked-for-by-a-test")
    try:
        with kept_rows(session) as kept:
            query = "SELECT id % 7 AS k, count(*) AS n FROM range({}) GROUP BY k"
            kept.keep_all([Wanted((query.format(n),), kept.new_view()) for n in (1000, 2000)])
    finally:
        context.removeJobTag("asked-for-by-a-test")
    store = context._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    tags = [jobs.apply(n).jobTags().mkString(" ") for n in range(jobs.size())]
    newest = sorted(range(len(tags)), key=lambda n: jobs.apply(n).jobId())[-2:]
    assert all("asked-for-by-a-test" in tags[n] for n in newest)


@pytest.mark.parametrize("number", [1, 2])
def test_rows_that_are_computed_are_interrupted(session, number):
    """Also by a job that is no query, which Spark's own interrupt would miss."""
    query = "SELECT a.id FROM range(100000) a, range(100000) b WHERE hash(a.id, b.id) = 7"
    failures = []

    def keep():
        try:
            with kept_rows(session) as kept:
                kept.keep_all([Wanted((query,), kept.new_view()) for _ in range(number)])
        except Exception as error:  # noqa: BLE001 - looked at below
            failures.append(error)

    thread = Thread(target=keep)
    thread.start()
    tracker, end = session.sparkContext.statusTracker(), monotonic() + 60
    while len(tracker.getActiveJobsIds()) < number and monotonic() < end:
        sleep(0.05)
    interrupt_session(session)
    thread.join(30)
    has_ended = not thread.is_alive()
    session.sparkContext.cancelAllJobs()
    thread.join()
    assert has_ended
    assert [failure_of(each).is_cancelled for each in failures] == [True]
