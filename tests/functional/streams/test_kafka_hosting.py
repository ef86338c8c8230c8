"""A hosted table over Kafka: every record is in the table once, whatever happens to the host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import NotFreshError
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from tests.functional.engine.oracle import own_commits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.kafka.topics import Topics

PATIENCE_S = 60


@pytest.fixture
def tables(session: SparkSession, schema: str, topics: Topics) -> Iterator[MaterializedTables]:
    """The table `t` over a topic of the schema's name; a host of it ends with the test."""
    topics.create(schema, 2)
    topics.table(session, "orders", schema)
    made = MaterializedTables(session)
    made.execute(
        "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' SECOND AS "
        "SELECT CAST(value AS STRING) AS value, `partition` AS p FROM orders"
    )
    yield made
    made.stop_all()


def arrived(tables: MaterializedTables) -> Counter[str]:
    return Counter(row[0] for row in tables.sql("SELECT value FROM t").collect())


def once(number: int) -> Counter[str]:
    return Counter(map(str, range(number)))


def test_every_record_arrives_once(tables, topics, schema):
    topics.write(schema, range(3))
    tables.start("t")
    tables.await_fresh("t", PATIENCE_S)
    assert arrived(tables) == once(3)
    topics.write(schema, range(3, 6), partition=1)
    tables.await_fresh("t", PATIENCE_S)
    tables.stop("t")
    topics.write(schema, range(6, 8))
    topics.grow(schema, 3)
    topics.write(schema, range(8, 10), partition=2)
    tables.start("t")
    tables.await_fresh("t", PATIENCE_S)
    assert arrived(tables) == once(10)
    newest = own_commits(tables, "t")[0]
    assert newest["stream"] is not None
    offset = f'{{"{schema}":{{"0":5,"1":3,"2":2}}}}'
    assert list(newest["positions"].values()) == [{"format": "kafka", "offset": offset}]


@pytest.mark.conformance
def test_a_refresh_in_parallel_with_the_stream_duplicates_no_row(tables, topics, schema):
    tables.start("t")
    for number in range(5):
        topics.write(schema, [number])
        tables.refresh("t")
    tables.await_fresh("t", PATIENCE_S)
    assert arrived(tables) == once(5)


@pytest.mark.conformance
def test_records_that_are_gone_before_they_were_read_suspend_the_table(tables, topics, schema):
    topics.write(schema, range(3))
    tables.start("t")
    tables.await_fresh("t", PATIENCE_S)
    tables.stop("t")
    topics.write(schema, range(3, 6))
    topics.expire(schema, 5)
    tables.start("t")
    with pytest.raises(NotFreshError):
        tables.await_fresh("t", PATIENCE_S)
    assert (tables.progress("t").phase, arrived(tables)) == (HostPhase.SUSPENDED, once(3))
