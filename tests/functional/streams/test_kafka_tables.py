"""Materialized tables over Kafka by statements alone: every record arrives once, or is reported."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import own_commits, rows
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.topics import Topics

QUERY = "SELECT CAST(value AS STRING) AS value FROM orders"


@pytest.fixture
def tables(session: SparkSession, schema: str, topics: Topics) -> MaterializedTables:
    """Materialized tables in a schema with `orders`, a table over a topic of the schema's name."""
    topics.create(schema, 2)
    topics.table(session, "orders", schema)
    return MaterializedTables(session)


def create(tables: MaterializedTables, clauses: str = "", query: str = QUERY) -> None:
    tables.execute(f"CREATE MATERIALIZED TABLE t {clauses} AS {query}")


def arrived(tables: MaterializedTables) -> Counter[str]:
    """How often each record's value is in the table."""
    return Counter(row[0] for row in tables.sql("SELECT value FROM t").collect())


def once(*values: object) -> Counter[str]:
    return Counter(str(value) for value in values)


def test_records_added_to_the_topic_are_added(tables, topics, schema):
    topics.write(schema, range(3))
    create(tables, "FRESHNESS = INTERVAL '1' MINUTE")
    assert (arrived(tables), tables.refresh("t").status) == (
        once(*range(3)),
        RefreshResult.UP_TO_DATE,
    )
    topics.write(schema, range(3, 6), partition=1)
    done = tables.refresh("t")
    assert (done.strategy, done.rows, arrived(tables)) == ("append", 3, once(*range(6)))
    offset = f'{{"{schema}":{{"0":3,"1":3}}}}'
    source = f"spark_catalog.{schema}.orders"
    assert done.positions_to == ((source, f"kafka offset {offset}"),)
    newest = own_commits(tables, "t")[0]
    assert newest["positions"] == {source: {"format": "kafka", "offset": offset}}

    topics.write(schema, ["lost", "left"])
    topics.expire(schema, 4)
    with raises(conditions.SOURCE_HISTORY_GONE):
        tables.refresh("t")
    described = tables.execute("DESC MATERIALIZED TABLE EXTENDED t")
    status = next(row[1] for row in described.rows if row[0] == "Status")
    assert (status[:9], arrived(tables)) == ("SUSPENDED", once(*range(6)))


def test_from_now_on(tables, topics, schema):
    topics.write(schema, range(3))
    create(tables, "FRESHNESS = INTERVAL '1' MINUTE START_MODE = FROM_NOW")
    topics.write(schema, range(3, 6))
    tables.refresh("t")
    assert arrived(tables) == once(3, 4, 5)


@pytest.mark.conformance
def test_a_table_whose_records_expired_starts_again_from_now(tables, topics, schema):
    create(tables, "FRESHNESS = INTERVAL '1' MINUTE START_MODE = FROM_NOW")
    topics.write(schema, range(3))
    tables.refresh("t")
    topics.write(schema, ["lost"])
    topics.expire(schema, 4)
    topics.write(schema, ["kept"])
    with raises(conditions.SOURCE_HISTORY_GONE) as caught:
        tables.refresh("t")
    assert caught.value.parameters["source"] == f"spark_catalog.{schema}.orders"
    assert arrived(tables) == once(0, 1, 2)
    for mode in ("RESUME_OR_FROM_NOW", "FROM_NOW"):  # as the error says
        tables.execute(
            "CREATE OR ALTER MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' MINUTE "
            f"START_MODE = {mode} AS {QUERY}"
        )
    topics.write(schema, ["again"])
    tables.refresh("t")
    assert arrived(tables) == once(0, 1, 2, "again")


@pytest.mark.conformance
def test_since_an_instant(tables, topics, schema):
    topics.write(schema, range(3))
    later = "CAST(max(timestamp) + INTERVAL '0.001' SECOND AS STRING)"
    literal = rows(tables, f"SELECT {later} FROM orders")[0][0]
    topics.write(schema, range(3, 6))
    start = f"FROM_TIMESTAMP(TIMESTAMP '{literal}')"
    create(tables, f"FRESHNESS = INTERVAL '1' MINUTE START_MODE = {start}")
    assert arrived(tables) == once(3, 4, 5)
    topics.write(schema, range(6, 8), partition=1)
    tables.refresh("t")
    assert arrived(tables) == once(*range(3, 8))


@pytest.mark.conformance
def test_another_query_continues_where_the_rows_end(tables, topics, schema):
    topics.write(schema, range(3))
    create(tables, "FRESHNESS = INTERVAL '1' MINUTE")
    topics.write(schema, range(3, 5))
    changed = "SELECT concat('new ', CAST(value AS STRING)) AS value FROM orders"
    tables.execute(
        "CREATE OR ALTER MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' MINUTE "
        f"START_MODE = RESUME_OR_FROM_BEGINNING AS {changed}"
    )
    assert arrived(tables) == once(0, 1, 2, "new 3", "new 4")


@pytest.mark.conformance
@pytest.mark.parametrize(
    "query",
    [
        "SELECT `partition` AS p, count(*) AS n, max(`offset`) AS last FROM orders GROUP BY 1",
        "SELECT a.value, b.`offset` AS other FROM orders a JOIN orders b ON a.value = b.value",
        "SELECT o.value, p.name FROM behind o JOIN products p ON p.id = CAST(o.value AS INT)",
    ],
)
def test_a_whole_table_equals_its_query_over_the_offsets_that_it_records(
    tables, topics, schema, query
):
    tables.sql("CREATE VIEW behind AS SELECT CAST(value AS STRING) AS value FROM orders")
    tables.sql("CREATE TABLE products USING delta AS SELECT 1 AS id, 'one' AS name")
    topics.write(schema, range(3))
    create(tables, "REFRESH_MODE = FULL", query)
    before = rows(tables, query)
    assert rows(tables, "SELECT * FROM t") == before
    topics.write(schema, range(3), partition=1)
    assert (rows(tables, "SELECT * FROM t"), rows(tables, query) != before) == (before, True)
    assert tables.refresh("t").status is RefreshResult.REFRESHED
    assert rows(tables, "SELECT * FROM t") == rows(tables, query)
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE


def test_what_a_topic_has_dropped_is_not_lost_by_another_query(tables, topics, schema):
    """Only whoever asks for the beginning in so many words gives older rows up."""
    fresh = "FRESHNESS = INTERVAL '1' MINUTE"
    topics.write(schema, range(3))
    create(tables, fresh)
    topics.expire(schema, 2)
    wider = QUERY.replace(" FROM", ", offset FROM")
    again = f"CREATE OR ALTER MATERIALIZED TABLE t {fresh} START_MODE AS {wider}"
    with raises(conditions.LOG_HISTORY_LOST):
        tables.execute(again.replace(" START_MODE", ""))
    with raises(conditions.LOG_HISTORY_LOST):
        tables.refresh("t", force=True)
    assert arrived(tables) == once(*range(3))
    tables.execute(again.replace("START_MODE", "START_MODE = RESUME_OR_FROM_BEGINNING"))
    topics.write(schema, [3])
    tables.refresh("t")
    assert arrived(tables) == once(*range(4))
    outcome = tables.execute(again.replace("START_MODE", "START_MODE = FROM_BEGINNING")).outcome
    assert any("no longer has" in warning for warning in outcome.warnings)
    assert arrived(tables) == once(2, 3)
