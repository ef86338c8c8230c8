"""Queries over tables that Spark reads only as streams: STREAM over Kafka, generated rows."""

from __future__ import annotations

from collections import Counter

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import QueryError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import described, rows

PATIENCE_S = 60
LIVE = "FRESHNESS = INTERVAL '1' SECOND"
RECORDS = "SELECT CAST(o.value AS STRING) AS value FROM STREAM orders AS o"
HOURS = (
    "SELECT window(timestamp, '1 hour').start AS hour, count(*) AS n "
    "FROM STREAM orders WATERMARK timestamp DELAY OF INTERVAL 1 HOUR "
    "GROUP BY window(timestamp, '1 hour')"
)


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    made = MaterializedTables(session)
    yield made
    made.stop_all()


def engine(tables, name="t"):
    return ", ".join(described(tables, name)["Engine"].split(", ")[:2])


@pytest.mark.conformance
def test_a_stream_over_kafka(tables, topics, session, schema):
    topics.create(schema, 2)
    topics.table(session, "orders", schema)
    topics.write(schema, range(3))
    tables.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS {RECORDS}")
    tables.execute(f"CREATE MATERIALIZED TABLE hours {LIVE} AS {HOURS}")
    assert engine(tables) == "stream, strategy append"
    assert engine(tables, "hours") == "stream, strategy stateful"
    topics.write(schema, range(3, 6), partition=1)
    tables.refresh("t")
    tables.refresh("hours")
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    for name in "t", "hours":
        tables.start(name)
    topics.write(schema, range(6, 8))
    for name in "t", "hours":
        tables.await_fresh(name, PATIENCE_S)
    found = Counter(row[0] for row in tables.sql("SELECT value FROM t").collect())
    assert found == Counter(map(str, range(8)))
    assert rows(tables, "SELECT sum(n) FROM hours") == [(8,)]


@pytest.mark.conformance
def test_generated_rows(tables, session):
    session.sql("CREATE TABLE ticks USING rate OPTIONS ('rowsPerSecond' '20')")
    with pytest.raises(QueryError, match="nothing"):
        tables.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT nothing FROM ticks")
    tables.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT value AS n FROM ticks")
    assert engine(tables) == "stream, strategy append"
    hosted = []
    for _ in range(2):
        tables.start("t")
        hosted.append(
            more_than(tables, max(hosted, default=0), lambda: tables.await_fresh("t", PATIENCE_S))
        )
        tables.stop("t")
    more_than(tables, hosted[-1], lambda: tables.refresh("t"))


def more_than(tables, before, act):
    """Act until there are more rows than before, each number once from 0 on."""
    for _ in range(PATIENCE_S):
        act()
        ((count, distinct, last),) = rows(
            tables, "SELECT count(*), count(DISTINCT n), max(n) FROM t"
        )
        assert (count, distinct) == ((last or 0) + (last is not None),) * 2
        if count > before:
            return count
    raise AssertionError(before)
