"""Materialized tables in a Hive Metastore: every statement, and what the metastore then has."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from tests.faults.checks import assert_nothing_is_left
from tests.functional.engine.oracle import (
    assert_equals_query,
    described,
    fenced_commits,
    outcome,
    rows,
    version,
)

SUMS = "SELECT k, sum(v) AS total FROM source GROUP BY k"
WIDER = "SELECT k, sum(v) AS total, count(*) AS n FROM source GROUP BY k"
ALTER = "CREATE OR ALTER MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' HOUR AS"
FOLLOWING = """CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '2' SECOND
REFRESH_MODE = CONTINUOUS AS SELECT k, v * 2 AS w FROM source"""
WITHIN_S = 120


@pytest.fixture
def tables(session, schema, metastore):
    session.sql("CREATE TABLE source (k INT, v BIGINT) USING delta")
    session.sql("INSERT INTO source VALUES (1, 10), (1, 20), (2, 30)")
    tables = MaterializedTables(session)
    yield tables
    tables.stop_all()
    assert_nothing_is_left(tables, schema, metastore.warehouse / f"{schema}.db")


def test_a_table_from_its_creation_to_its_end(tables, session, schema):
    assert outcome(tables, f"{ALTER} {SUMS}").action is Action.CREATED
    assert_equals_query(tables, "t")
    before = version(tables, "t")
    assert outcome(tables, f"{ALTER} {SUMS}").action is Action.UNCHANGED
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    assert version(tables, "t") == before

    session.sql("INSERT INTO source VALUES (3, 5)")
    assert tables.refresh("t").status is RefreshResult.REFRESHED
    assert_equals_query(tables, "t")

    assert outcome(tables, f"{ALTER} {WIDER}").action is Action.ALTERED
    assert_equals_query(tables, "t")
    assert rows(tables, "SELECT * FROM t") == [(1, 30, 2), (2, 30, 1), (3, 5, 1)]

    outcome(tables, "ALTER MATERIALIZED TABLE t SUSPEND")
    assert described(tables, "t")["Status"].startswith("SUSPENDED")
    session.sql("INSERT INTO source VALUES (4, 1)")
    outcome(tables, "ALTER MATERIALIZED TABLE t RESUME")
    assert_equals_query(tables, "t")
    assert len(fenced_commits(tables, "t")) >= 5

    outcome(tables, "DROP MATERIALIZED TABLE t")
    assert not session.catalog.tableExists("t")
    assert tables.names(schema) == frozenset()


def test_a_definition_that_is_longer_than_a_column_of_the_metastore(tables):
    """The metastore's longest text has 32,672 characters; Delta keeps definitions in its log."""
    labels = ", ".join(f"'label {number}'" for number in range(4_000))
    long = f"SELECT k, sum(v) AS total FROM source WHERE k < 9 OR k IN (length({labels[:9]})"
    query = f"{long}) AND 'x' NOT IN ({labels}) GROUP BY k"
    assert len(query) > 32_672
    outcome(tables, f"CREATE MATERIALIZED TABLE t REFRESH_MODE = FULL AS {query}")
    assert_equals_query(tables, "t")
    assert rows(tables, "SELECT * FROM t") == [(1, 30), (2, 30)]


def test_a_stream(tables, session):
    outcome(tables, FOLLOWING)
    tables.start("t")
    tables.await_fresh("t", WITHIN_S)
    session.sql("INSERT INTO source VALUES (9, 1)")
    tables.await_fresh("t", WITHIN_S)
    assert_equals_query(tables, "t")
    assert tables.progress("t").batches >= 1
