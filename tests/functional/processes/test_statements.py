"""Statements of several processes on one table: nothing is doubled, lost or half changed."""

from __future__ import annotations

from collections import Counter

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.behaviour.suite import SUMS, WIDER
from tests.faults.checks import assert_history, assert_nothing_is_left, look
from tests.faults.victims import run_parallel
from tests.functional.engine.oracle import fenced_commits

EXISTS = "MATERIALIZED_TABLE_ALREADY_EXISTS"
REFRESH = "ALTER MATERIALIZED TABLE t REFRESH"


@pytest.fixture
def tables(session, schema, server) -> MaterializedTables:
    """Materialized tables with the source `orders`; nothing may be left in the end."""
    session.sql("CREATE TABLE orders (k INT, day STRING, amount INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 'a', 10), (1, 'b', 5), (2, 'b', 7)")
    tables = MaterializedTables(session)
    yield tables
    assert_history(tables)
    assert_nothing_is_left(tables, schema, server.warehouse / f"{schema}.db")


def test_two_creators(tables, server, schema):
    """One creates the table, the other gets the message that it exists."""
    statements = [[f"CREATE MATERIALIZED TABLE t AS {query}"] for query in (SUMS, WIDER)]
    said = Counter(each for (each,) in run_parallel(server.url, schema, statements))
    assert said == {"CREATED": 1, EXISTS: 1}
    assert len(fenced_commits(tables, "t")) == 1


def test_two_writers_with_the_same_fence(tables, server, schema):
    """One refreshes, the other plans again and finds the work done."""
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    for number in range(2):
        tables.sql(f"INSERT INTO orders VALUES ({number}, 'c', 1)")
        said = run_parallel(server.url, schema, [[REFRESH], [REFRESH]])
        assert sorted(each for (each,) in said) == ["REFRESHED", "UP_TO_DATE"]
        assert len(fenced_commits(tables, "t")) == 2 + number


def test_two_changes_of_the_definition(tables, server, schema):
    """Both happen, one after the other."""
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    said = run_parallel(
        server.url,
        schema,
        [
            ["ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' DAY"],
            ["ALTER MATERIALIZED TABLE t SET COMMENT 'changed'"],
        ],
    )
    assert said == [["ALTERED"], ["ALTERED"]]
    seen = look(tables, schema)
    assert seen.metadata.comment == "changed"
    assert "FRESHNESS = INTERVAL '1' DAY" in seen.created


@pytest.mark.conformance
def test_refreshes_in_parallel_with_changes(tables, server, schema):
    """One process changes the definition back and forth, one refreshes, one moves the source."""
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {WIDER}")
    rounds = 5
    changes = [
        f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT '{n}' AS {WIDER}" for n in range(rounds)
    ]
    changed_queries = [
        f"CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER.replace('count(*)', f'count({n})')}"
        for n in range(rounds)
    ]
    moves = [f"INSERT INTO orders VALUES ({n}, 'm', 1), (2, 'm', 1)" for n in range(2 * rounds)]
    altered, refreshed, _ = run_parallel(
        server.url,
        schema,
        [
            [each for pair in zip(changes, changed_queries, strict=True) for each in pair],
            [REFRESH] * 2 * rounds,
            moves,
        ],
    )
    assert set(altered) == {"ALTERED"}
    assert set(refreshed) <= {"REFRESHED", "UP_TO_DATE"}
    tables.execute(REFRESH)
    found = look(tables, schema)
    assert found.rows == sorted(tuple(r) for r in tables.sql(WIDER).collect())
    assert found.metadata.comment == ""
