"""Tables whose rows a stateful processor makes (`transformWithState`).

Spark waits ten seconds for a Python worker, and a stream whose worker comes later fails: these
tests need a machine that is not busy with something else.
"""

from __future__ import annotations

from collections import Counter

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import RefreshFailedError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import described, rows
from tests.support.errors import raises

_KEY = "spark.materialized-table.process-functions"
_MODULE = "tests.functional.streams.counting"
LIVE = "FRESHNESS = INTERVAL '1' SECOND"
PATIENCE_S = 120


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.conf.set(_KEY, f"numbers={_MODULE}:numbers, others={_MODULE}:others")
    session.sql("CREATE TABLE events (k INT, v INT) USING delta")
    made = MaterializedTables(session)
    yield made
    made.stop_all()


def add(tables, *values):
    """Add rows of two keys, which the values' last digit shows."""
    listed = ", ".join(f"({v % 2}, {v})" for v in values)
    tables.sql(f"INSERT INTO events VALUES {listed}")


def define(tables, query, function="numbers", clauses=""):
    """Bring `t` in line with a query."""
    option = f"WITH ('process-function' = '{function}')"
    return tables.execute(
        f"CREATE OR ALTER MATERIALIZED TABLE t {option} {LIVE} {clauses} AS {query}"
    ).outcome


def numbered(tables):
    """The values in the table, after asserting that each key's rows have the numbers 1, 2, …"""
    found = rows(tables, "SELECT k, v, n FROM t")
    for key in {k for k, _, _ in found}:
        numbers = sorted(n for k, _, n in found if k == key)
        assert numbers == list(range(1, len(numbers) + 1)), key
    return Counter(v for _, v, _ in found)


@pytest.mark.conformance
def test_state_is_continued(tables):
    """Refreshed, hosted, under another query: each row once, and counted on from those before."""
    add(tables, 0, 1, 2)
    define(tables, "SELECT k, v FROM events")
    assert described(tables, "t")["Engine"].startswith("stream, strategy stateful")
    assert numbered(tables) == Counter([0, 1, 2])
    add(tables, 3, 4)
    assert tables.refresh("t").strategy == "stateful"
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    assert numbered(tables) == Counter(range(5))
    kept = "STATE_RETENTION = PTF_ONLY"
    with raises(conditions.STATE_NOT_RETAINED, match="others"):
        define(tables, "SELECT k, v + 0 AS v FROM events", "others", kept)
    define(tables, "SELECT k, v + 100 AS v FROM events", clauses=kept)
    add(tables, 5, 6)
    tables.start("t")
    tables.await_fresh("t", PATIENCE_S)
    assert numbered(tables) == Counter([*range(5), 105, 106])


@pytest.mark.conformance
def test_rows_and_state_are_built_together(tables):
    add(tables, 0, 1, 2)
    define(tables, "SELECT k, v FROM events")
    define(tables, "SELECT k, v + 10 AS v FROM events")
    assert numbered(tables) == Counter([10, 11, 12])
    tables.sql("DELETE FROM events WHERE v = 1")  # no stream can follow that
    tables.refresh("t")
    add(tables, 4)
    tables.refresh("t")
    assert numbered(tables) == Counter([10, 12, 14])
    assert rows(tables, "SELECT max(n) FROM t") == [(3,)]


@pytest.mark.conformance
def test_no_statement_computes_rows_without_the_processor(tables):
    add(tables, 0, 1)
    option = "WITH ('process-function' = 'numbers')"
    tables.execute(
        f"CREATE MATERIALIZED TABLE t PARTITIONED BY (k) {option} {LIVE} AS SELECT k, v FROM events"
    )
    with pytest.raises(RefreshFailedError, match="process function"):
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (k = 1)")
    assert numbered(tables) == Counter([0, 1])
