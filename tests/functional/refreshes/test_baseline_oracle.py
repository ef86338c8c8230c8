"""Tables with a baseline over real logs, compared with an oracle at each step."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from tests.functional.engine.oracle import (
    MaterializedTables,
    assert_equals_query,
    assert_follows_from_baseline,
    fenced_commits,
    outcome,
    rows,
    version,
)
from tests.support.errors import raises

EVENTS = "CREATE TABLE events (id INT, k INT, v INT, m MAP<STRING, INT>) USING delta"
RESUME = "FRESHNESS = INTERVAL '1' MINUTE START_MODE = RESUME_OR_FROM_BEGINNING"
NOW = "FRESHNESS = INTERVAL '1' MINUTE START_MODE = FROM_NOW"


def insert(session, *ids, table="events", k="% 3"):
    for first, last in ids:
        session.sql(
            f"INSERT INTO {table} SELECT id, id {k}, id * 10, map('a', id) "
            f"FROM (SELECT CAST(id AS INT) FROM range({first}, {last}))"
        )


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql(EVENTS)
    insert(session, (0, 4), (4, 6))
    return MaterializedTables(session)


@pytest.mark.conformance
def test_rows_without_a_key_come_exactly_once(tables, session):
    outcome(tables, f"CREATE MATERIALIZED TABLE t {RESUME} AS SELECT id, v FROM events")
    insert(session, (6, 8))
    outcome(
        tables,
        f"CREATE OR ALTER MATERIALIZED TABLE t {RESUME} AS "
        "SELECT id, v, v + 1 AS w FROM events WHERE v >= 20",
    )
    assert rows(tables, "SELECT id, w FROM t") == sorted(
        [(n, None) for n in range(6)] + [(6, 61), (7, 71)], key=repr
    )
    insert(session, (8, 10))
    session.sql("OPTIMIZE events")
    insert(session, (10, 11))
    assert tables.refresh("t").rows == 3
    session.sql("OPTIMIZE events")
    assert tables.refresh("t").rows == 0
    assert rows(tables, "SELECT id FROM t") == [(n,) for n in sorted(range(11), key=str)]
    session.sql("DELETE FROM events WHERE id = 2")
    with raises(conditions.SOURCE_REWRITTEN):
        tables.refresh("t")
    assert rows(tables, "SELECT count(*) FROM t") == [(11,)]


@pytest.mark.conformance
def test_groups_with_a_key_are_computed_whole_where_they_are_touched(tables, session):
    session.sql("CREATE TABLE plain USING delta AS SELECT id, k, v FROM events")
    query = "SELECT k, sum(v) AS total, min(id) AS first FROM plain GROUP BY k"
    key = "(PRIMARY KEY (k) NOT ENFORCED)"
    clauses = f"{key} CLUSTER BY (k) {RESUME}"
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE t {clauses} AS SELECT k, sum(v) AS total FROM plain GROUP BY k",
    )
    session.sql("INSERT INTO plain VALUES (20, 1, 5), (21, 7, 5)")
    outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE t {clauses} AS {query}")
    assert_follows_from_baseline(tables, "t")
    assert (1, 55, 1) in rows(tables, "SELECT * FROM t")
    before = version(tables, "t")
    session.sql("DELETE FROM plain WHERE k = 7")
    session.sql("UPDATE plain SET k = 8, v = 1 WHERE id = 3")
    assert tables.refresh("t").strategy == "merge"
    assert_follows_from_baseline(tables, "t")
    assert rows(tables, "SELECT * FROM t WHERE k IN (7, 8)") == [(8, 1, 3)]
    session.sql("INSERT OVERWRITE plain SELECT * FROM plain")
    assert tables.refresh("t").rows == 0
    assert fenced_commits(tables, "t")[0]["refresh"]["strategy"] == "append"
    session.sql(f"RESTORE TABLE t TO VERSION AS OF {before}")
    tables.refresh("t")
    assert_follows_from_baseline(tables, "t")
    outcome(
        tables,
        f"CREATE OR ALTER MATERIALIZED TABLE t {key} CLUSTER BY (k) FRESHNESS = "
        f"INTERVAL '1' MINUTE START_MODE = FROM_BEGINNING AS {query}",
    )
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_rows_since_an_instant(tables, session):
    at = session.sql("DESCRIBE HISTORY events LIMIT 1").collect()[0]["timestamp"]
    start = f"START_MODE = FROM_TIMESTAMP(TIMESTAMP '{at.isoformat(sep=' ')}')"
    clauses = f"FRESHNESS = INTERVAL '1' MINUTE {start}"
    query = "SELECT k, count(*) AS n, max(id) AS last FROM events GROUP BY k"
    outcome(tables, f"CREATE MATERIALIZED TABLE t {clauses} AS {query}")
    assert rows(tables, "SELECT sum(n), max(last) FROM t") == [(2, 5)]
    insert(session, (6, 12))
    session.sql("OPTIMIZE events")
    insert(session, (12, 13))
    assert tables.refresh("t").strategy == "window"
    assert rows(tables, "SELECT sum(n), max(last) FROM t") == [(9, 12)]
    show = tables.execute("SHOW CREATE MATERIALIZED TABLE t").rows[0][0]
    assert "Evaluated to FROM_TIMESTAMP" in show


@pytest.mark.conformance
def test_views_and_lookups_on_the_way(tables, session):
    session.sql("CREATE TABLE names USING delta AS SELECT 1 AS k, 'one' AS name")
    session.sql("CREATE VIEW recent AS SELECT id, k, v FROM events WHERE v >= 0")
    looked_up = (
        "SELECT e.id, n.name FROM events e LEFT JOIN names FOR SYSTEM_TIME AS OF proctime() n "
        "ON e.k = n.k"
    )
    outcome(tables, f"CREATE MATERIALIZED TABLE a {NOW} AS {looked_up}")
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE b {NOW} AS SELECT k, count(*) AS n FROM recent GROUP BY k",
    )
    insert(session, (6, 9))
    tables.refresh("a")
    tables.refresh("b")
    session.sql("UPDATE names SET name = 'ONE'")
    insert(session, (9, 11))
    tables.refresh("a")
    tables.refresh("b")
    assert rows(tables, "SELECT * FROM a") == [
        (10, "ONE"),
        (6, None),
        (7, "one"),
        (8, None),
        (9, None),
    ]
    assert rows(tables, "SELECT * FROM b") == [(0, 2), (1, 2), (2, 1)]
