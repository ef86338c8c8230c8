"""REFRESH of a whole table: when it runs, over which state of the sources, with other writers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import RefreshSchemaError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import (
    assert_equals_query,
    delta_id,
    faulty,
    fenced_commits,
    outcome,
    rows,
    version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.planning.steps import Step

DONE, UP_TO_DATE = RefreshResult.REFRESHED, RefreshResult.UP_TO_DATE


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in a schema with the source `src(id, g)`."""
    session.sql(f"CREATE TABLE {schema}.src USING delta AS SELECT id, id % 3 AS g FROM range(6)")
    return MaterializedTables(session)


def create(tables: MaterializedTables, query: str, clauses: str = "") -> None:
    outcome(tables, f"CREATE MATERIALIZED TABLE t {clauses} AS {query}")


def test_it_runs_when_a_source_has_moved(tables, schema):
    create(tables, "SELECT g, count(*) AS n FROM src GROUP BY g", "CLUSTER BY (g)")
    assert tables.refresh("t").status is UP_TO_DATE
    before, identity = version(tables, "t"), delta_id(tables, "t")
    tables.sql("INSERT INTO src VALUES (6, 0), (7, 9)")
    done = tables.refresh("t")
    source = f"spark_catalog.{schema}.src"
    assert (done.status, done.rows, done.strategy) == (DONE, 4, "recompute")
    assert (done.positions_from, done.positions_to) == (
        ((source, "version 0"),),
        ((source, "version 1"),),
    )
    newest = fenced_commits(tables, "t")[0]
    assert (newest["version"], newest["refresh"]["id"]) == (before + 1, done.refresh_id)
    assert (delta_id(tables, "t"), tables.refresh("t").status) == (identity, UP_TO_DATE)
    assert tables.sql("DESCRIBE DETAIL t").collect()[0]["clusteringColumns"] == ["g"]
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_the_statement_returns_one_row(tables):
    create(tables, "SELECT id FROM src")
    tables.sql("DELETE FROM src WHERE id = 0")
    (row,) = tables.sql("ALTER MATERIALIZED TABLE t REFRESH").collect()
    assert (row["status"], row["rows"], row["partitions"]) == ("REFRESHED", 5, [])
    assert list(row.asDict()) == [
        "refresh_id",
        "table",
        "strategy",
        "status",
        "rows",
        "partitions",
        "positions_from",
        "positions_to",
        "duration_ms",
    ]
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_changes_of_other_writers_are_named_and_stay_until_a_source_changes(tables):
    create(tables, "SELECT id FROM src")
    tables.sql("UPDATE t SET id = -1 WHERE id = 1")
    tables.sql("DELETE FROM t WHERE id = 2")
    skipped = tables.refresh("t")
    assert (skipped.status, rows(tables, "SELECT count(*) FROM t")) == (UP_TO_DATE, [(5,)])
    assert "UPDATE" in skipped.warnings[0]
    assert "DELETE" in skipped.warnings[0]
    forced = tables.refresh("t", force=True)
    assert (forced.status, len(forced.warnings)) == (DONE, 1)
    assert_equals_query(tables, "t")
    assert tables.refresh("t", force=True).warnings == ()


@pytest.mark.conformance
def test_a_source_without_versions_is_never_skipped(tables):
    tables.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    create(tables, "SELECT a, id FROM plain, src")
    assert tables.refresh("t").status is DONE
    tables.sql("INSERT INTO plain VALUES (2)")
    assert tables.refresh("t").rows == 12


@pytest.mark.conformance
def test_a_query_over_the_current_date_is_never_skipped(tables):
    create(tables, "SELECT id, current_date() AS today FROM src")
    assert tables.refresh("t").status is DONE


@pytest.mark.conformance
def test_a_view_that_changes_underneath_counts_as_a_move(tables):
    tables.sql("CREATE VIEW inner_view AS SELECT id FROM src WHERE id > 1")
    tables.sql("CREATE VIEW outer_view AS SELECT * FROM inner_view")
    create(tables, "SELECT * FROM outer_view")
    assert tables.refresh("t").status is UP_TO_DATE
    tables.sql("CREATE OR REPLACE VIEW inner_view AS SELECT id FROM src WHERE id > 2")
    assert tables.refresh("t").rows == 3
    assert_equals_query(tables, "t")


def test_a_source_recreated_with_the_same_version_has_changed(tables):
    create(tables, "SELECT id FROM src")
    tables.sql("DROP TABLE src")
    tables.sql("CREATE TABLE src USING delta AS SELECT id, id AS g FROM range(100, 102)")
    assert version(tables, "src") == 0
    assert tables.refresh("t").rows == 2
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_cascading_tables(tables):
    create(tables, "SELECT id FROM src")
    outcome(tables, "CREATE MATERIALIZED TABLE u AS SELECT count(*) AS n FROM t")
    tables.sql("INSERT INTO src VALUES (9, 9)")
    assert tables.refresh("u").status is UP_TO_DATE
    tables.refresh("t")
    assert tables.refresh("u").status is DONE
    assert rows(tables, "SELECT n FROM u") == [(7,)]


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("change", "query"),
    [
        ("CREATE OR REPLACE TABLE src USING delta AS SELECT 1 AS id, 1L AS h", "SELECT * FROM src"),
        (
            "CREATE OR REPLACE TABLE src USING delta AS SELECT 'x' AS id, 1L AS g",
            "SELECT * FROM src",
        ),
        (
            "CREATE OR REPLACE TABLE src USING delta AS SELECT 5000000000 AS id, 1L AS g",
            "SELECT id, g FROM src",
        ),
    ],
)
def test_a_result_with_other_columns_is_refused(tables, change, query):
    tables.sql("CREATE OR REPLACE TABLE src USING delta AS SELECT 1 AS id, 1L AS g")
    create(tables, query)
    before = version(tables, "t")
    tables.sql(change)
    with pytest.raises(RefreshSchemaError):
        tables.refresh("t")
    assert (version(tables, "t"), rows(tables, "SELECT id FROM t")) == (before, [(1,)])


@pytest.mark.conformance
def test_a_narrower_result_is_cast(tables):
    create(tables, "SELECT * FROM src")
    tables.sql(
        "CREATE OR REPLACE TABLE src USING delta AS SELECT 1 AS id, CAST(2 AS SMALLINT) AS g"
    )
    assert tables.refresh("t").rows == 1
    assert tables.sql("SELECT * FROM t").dtypes == [("id", "bigint"), ("g", "bigint")]
    assert_equals_query(tables, "t")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.id FROM a JOIN b ON a.id = b.id",
        pytest.param(
            "SELECT a.id FROM a JOIN IDENTIFIER('b') AS b ON a.id = b.id",
            marks=pytest.mark.conformance,
        ),
    ],
)
def test_several_sources_are_read_in_one_state_while_they_change(tables, session, query):
    """Row n goes into b before it goes into a; without one state, rows of a would miss theirs."""
    for name in "a", "b":
        tables.sql(f"CREATE TABLE {name} USING delta AS SELECT 0L AS id")
    create(tables, query)
    writer = _Writer(session)
    writer.start()
    try:
        for _ in range(2):
            tables.refresh("t", force=True)
            assert_equals_query(tables, "t")
    finally:
        writer.stop()
    tables.refresh("t")
    assert_equals_query(tables, "t")


class _Writer(threading.Thread):
    """Commits to two tables in turn until it is stopped, three pairs at most."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__()
        self._session = session.newSession()
        self._session.sql(f"USE {session.catalog.currentDatabase()}")
        self._stopped = threading.Event()

    def run(self) -> None:
        for number in range(1, 4):
            for name in "b", "a":
                if self._stopped.is_set():
                    return
                self._session.sql(f"INSERT INTO {name} VALUES ({number})")

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def test_of_two_refreshes_planned_at_the_same_time_one_plans_again(tables, session):
    create(tables, "SELECT g, count(*) AS n FROM src GROUP BY g")
    tables.sql("INSERT INTO src VALUES (6, 0)")
    late, runner = faulty(session)

    def commit_first(_: Step) -> None:
        if runner.seen == ["Fill"]:
            tables.refresh("t")
            tables.sql("INSERT INTO src VALUES (7, 0)")

    runner.before = commit_first
    assert late.refresh("t").rows == 3
    assert runner.seen.count("Fill") == 2
    assert [commit["seq"] for commit in fenced_commits(tables, "t")] == [3, 2, 1]
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_stream_over_the_table_survives_refreshes_and_evolution(tables, session, tmp_path):
    create(tables, "SELECT id FROM src", "WITH ('delta.enableChangeDataFeed' = 'true')")
    found: list[tuple[int, str]] = []

    def read() -> None:
        stream = session.readStream.option("readChangeFeed", "true").table("t")
        writer = stream.writeStream.foreachBatch(
            lambda batch, _: found.extend((r["id"], r["_change_type"]) for r in batch.collect())
        )
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        writer.start().awaitTermination()

    read()
    tables.sql("DELETE FROM src WHERE id > 0")
    tables.refresh("t")
    read()
    assert found.count((0, "insert")) == 2
    outcome(
        tables,
        "CREATE OR ALTER MATERIALIZED TABLE t WITH ('delta.enableChangeDataFeed' = 'true') "
        "AS SELECT id + 100 AS id, id AS more FROM src",
    )
    read()
    assert (100, "insert") in found
    assert_equals_query(tables, "t")
