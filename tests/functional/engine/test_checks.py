"""Comparing a table with its query, for types that Spark compares in ways of its own."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.verification import Side

QUERY = """
SELECT id, map('a', id, 'b', 2) AS m, named_struct('x', array(map('k', id))) AS s,
  CAST('NaN' AS DOUBLE) AS d, parse_json(concat('{"n":', id, '}')) AS v, CAST(NULL AS STRING) AS n,
  CAST(id AS DECIMAL(10,2)) AS `odd name`
FROM src
"""


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE src USING delta AS SELECT id FROM range(3)")
    return MaterializedTables(session)


def test_rows_of_every_type_are_compared(tables):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    assert tables.difference("t").is_equal
    tables.sql("DELETE FROM t WHERE id = 1")
    tables.sql("INSERT INTO t SELECT * FROM t WHERE id = 2")
    found = tables.difference("t")
    assert found.total == 2
    by_side = {row.side: json.loads(row.row) for row in found.rows}
    assert by_side[Side.MISSING]["id"] == 1
    assert by_side[Side.MISSING]["n"] is None
    assert by_side[Side.UNEXPECTED]["m"] == {"a": 2, "b": 2}
    (problem,) = tables.health("t")[:1]
    assert "changed rows" in problem
