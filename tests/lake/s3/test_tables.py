"""Materialized tables on S3: every statement, and rows that are those of the query."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import (
    assert_equals_query,
    fenced_commits,
    outcome,
    rows,
    version,
)

TOTALS = """CREATE OR ALTER MATERIALIZED TABLE totals REFRESH_MODE = FULL
AS SELECT k, count(*) AS n, sum(v) AS total FROM source GROUP BY k"""
FOLLOWING = """CREATE MATERIALIZED TABLE following FRESHNESS = INTERVAL '2' SECOND
REFRESH_MODE = CONTINUOUS AS SELECT k, v * 2 AS w FROM source"""
INCREMENTAL = """WITH ('incremental' = 'strict')
FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS"""
WITHIN_S = 120


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE source (k INT, v BIGINT) USING delta")
    session.sql("INSERT INTO source VALUES (1, 10), (1, 20), (2, 30)")
    tables = MaterializedTables(session)
    yield tables
    tables.stop_all()


def location(session, table):
    described = session.sql(f"DESCRIBE DETAIL {table}").collect()
    return described[0]["location"]


def test_a_table_from_its_creation_to_its_end(tables, session, schema):
    outcome(tables, TOTALS)
    assert location(session, "totals") == f"s3a://lake/warehouse/{schema}.db/totals"
    assert_equals_query(tables, "totals")

    for change in ("INSERT INTO source VALUES (2, 1), (3, 5)", "DELETE FROM source WHERE v = 20"):
        session.sql(change)
        assert tables.refresh("totals").status is RefreshResult.REFRESHED
        assert_equals_query(tables, "totals")
    assert rows(tables, "SELECT * FROM totals") == [(1, 1, 10), (2, 2, 31), (3, 1, 5)]

    before = version(tables, "totals")
    outcome(tables, TOTALS)
    assert tables.refresh("totals").status is RefreshResult.UP_TO_DATE
    assert version(tables, "totals") == before

    outcome(tables, "DROP MATERIALIZED TABLE totals")
    assert not session.catalog.tableExists("totals")


def test_a_refresh_by_the_changes_of_the_source(tables, session):
    session.sql("INSERT INTO source SELECT id % 100, id FROM range(1000)")
    outcome(tables, TOTALS.replace("REFRESH_MODE = FULL", INCREMENTAL))
    for change in (
        "INSERT INTO source VALUES (1, 7), (999, 8)",
        "UPDATE source SET v = v + 1 WHERE k = 1",
    ):
        session.sql(change)
        assert tables.refresh("totals").strategy == "differential"
        assert_equals_query(tables, "totals")


def test_a_stream_with_its_checkpoint_on_s3(tables, session, store):
    outcome(tables, FOLLOWING)
    tables.start("following")
    tables.await_fresh("following", WITHIN_S)
    store.requests()
    for value in range(3):
        session.sql(f"INSERT INTO source VALUES (9, {value})")
        tables.await_fresh("following", WITHIN_S)
        assert_equals_query(tables, "following")
    assert tables.progress("following").batches >= 3
    checkpoints = "lake/warehouse/.materialized-table-checkpoints/"
    assert any(key.startswith(checkpoints) for _, key in store.requests())
    tables.stop("following")
    assert rows(tables, "SELECT count(*) FROM following WHERE k = 9") == [(3,)]


def test_the_log_of_refreshes_is_on_s3(tables, session):
    outcome(tables, TOTALS)
    session.sql("INSERT INTO source VALUES (7, 7)")
    done = tables.refresh("totals")
    logged = tables.execute("SHOW JOBS").rows
    assert any(done.refresh_id in row for row in logged)
    for name in ("registry", "leases"):
        table = f"materialized_table_system.{name}"
        if session.catalog.tableExists(table):
            assert location(session, table).startswith("s3a://lake/warehouse/")


def test_a_driver_that_does_not_confirm_to_be_the_only_one_writes_nothing(tables, session):
    outcome(tables, TOTALS)
    before = version(tables, "totals")
    session.conf.set("spark.materialized-table.single-driver", "false")
    session.sql("INSERT INTO source VALUES (8, 8)")
    refused = MaterializedTables(session)
    for statement in (
        "ALTER MATERIALIZED TABLE totals REFRESH",
        TOTALS.replace("totals", "others"),
    ):
        with pytest.raises(MaterializedTableError) as raised:
            refused.execute(statement)
        assert raised.value.condition == "MATERIALIZED_TABLE_SINGLE_DRIVER_STORAGE"
    assert version(tables, "totals") == before
    assert not session.catalog.tableExists("others")
    session.conf.set("spark.materialized-table.single-driver", "true")
    assert tables.refresh("totals").status is RefreshResult.REFRESHED
    assert len(fenced_commits(tables, "totals")) == 2
