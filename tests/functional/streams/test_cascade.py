"""Tables over tables over Kafka, hosted together: every record is counted once at the end."""

from __future__ import annotations

from collections import Counter

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.oracle import described

_PATIENCE_S = 60
_LEVELS = {
    "one": "CREATE MATERIALIZED TABLE one FRESHNESS = INTERVAL '1' SECOND AS "
    "SELECT CAST(value AS STRING) AS value, timestamp AS ts FROM orders",
    "two": "CREATE MATERIALIZED TABLE two FRESHNESS = INTERVAL '2' SECOND AS "
    "SELECT value, ts, length(value) AS size FROM one",
    "three": "CREATE MATERIALIZED TABLE three WITH ('watermark' = 'ts DELAY OF INTERVAL 1 HOUR') "
    "FRESHNESS = INTERVAL '3' SECOND AS SELECT value, count(*) AS n FROM two GROUP BY value",
}


@pytest.mark.conformance
def test_every_record_is_counted_once_at_the_third_level(session, schema, topics):
    topics.create(schema, 2)
    topics.table(session, "orders", schema)
    topics.write(schema, range(3))
    tables = MaterializedTables(session)
    strategies = [_created(tables, name) for name in _LEVELS]
    assert strategies == ["append", "append", "stateful"]
    try:
        for name in _LEVELS:
            tables.start(name)
        topics.write(schema, range(3, 6), partition=1)
        assert _counted(tables) == Counter(map(str, range(6)))
        tables.stop("two")
        topics.write(schema, [5, 6])
        tables.await_fresh("one", _PATIENCE_S)
        topics.write(schema, [7], partition=1)
        tables.await_fresh("one", _PATIENCE_S)
        assert session.table("two").count() == 6
        tables.start("two")
        assert _counted(tables) == Counter(map(str, (*range(8), 5)))
    finally:
        tables.stop_all()


def _created(tables: MaterializedTables, name: str) -> str:
    tables.execute(_LEVELS[name])
    engine, strategy = described(tables, name)["Engine"].split(", ")[:2]
    assert engine == "stream"
    return strategy.removeprefix("strategy ")


def _counted(tables: MaterializedTables) -> Counter[str]:
    """How often each record was counted, once every level has what the one before it has."""
    for name in _LEVELS:
        tables.await_fresh(name, _PATIENCE_S)
    return Counter({row["value"]: row["n"] for row in tables.sql("SELECT * FROM three").collect()})
