"""Columns that a query reads of its sources, by its operator tree."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import (
    FieldName,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.query.analyzer import ViewQuery
from dbt.adapters.spark_mt.query.columns_read import columns_read, narrowed
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operators import keys_in, scans, walk

CONTEXT = QueryContext("c", "s", ())
SOURCES = tuple(
    SourceColumns(f"c.s.{name}", tuple(map(FieldName, columns.split())))
    for name, columns in {"t": "a b c d ys", "u": "a k v", "w": "K Z"}.items()
)
VIEW = ViewQuery(TableName("v", "s", "c"), "SELECT a AS x, b AS y FROM t", "c", "s", ("x", "y"))


def read(query):
    tree = operator_tree(query, CONTEXT, sources=SOURCES, views=(VIEW,))
    found = columns_read(tree)
    return {name.rpartition(".")[2]: " ".join(sorted(names)) for name, names in found.items()}


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT a FROM t", {"t": "a"}),
        ("SELECT a FROM (SELECT * FROM t)", {"t": "a"}),
        ("WITH q AS (SELECT a, b + c AS x FROM t) SELECT a FROM q", {"t": "a"}),
        ("SELECT a FROM t WHERE b > 1", {"t": "a b"}),
        ("SELECT count(*) AS n FROM t", {"t": ""}),
        ("SELECT 1 AS one FROM t WHERE true", {"t": ""}),
        ("SELECT DISTINCT a FROM (SELECT a, b FROM t)", {"t": "a"}),
        ("SELECT a FROM (SELECT DISTINCT a, b FROM t)", {"t": "a b"}),
        ("SELECT a FROM (SELECT a FROM t UNION SELECT k FROM u)", {"t": "a", "u": "k"}),
        ("SELECT a FROM (SELECT a, b FROM t UNION ALL SELECT k, v FROM u)", {"t": "a", "u": "k"}),
        ("SELECT a FROM (SELECT a, b FROM t EXCEPT SELECT k, v FROM u)", {"t": "a b", "u": "k v"}),
        ("SELECT x.a FROM t x JOIN u y ON x.b = y.k", {"t": "a b", "u": "k"}),
        ("SELECT b FROM t JOIN u USING (a)", {"t": "a b", "u": "a"}),
        ("SELECT b FROM t NATURAL JOIN u", {"t": "a b", "u": "a"}),
        ("SELECT x.a FROM t x JOIN t y ON x.b = y.c", {"t": "a b c"}),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.b)", {"t": "a b", "u": "k"}),
        ("SELECT a FROM t WHERE b > 1 OR EXISTS (SELECT * FROM u)", {"t": "a b", "u": ""}),
        (
            "SELECT 1 AS o FROM w WHERE z = 1 OR EXISTS (SELECT * FROM t JOIN u ON t.a = u.v)",
            {"t": "a", "u": "v", "w": "z"},
        ),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT DISTINCT * FROM u) OR b = 1",
            {"t": "a b", "u": "a k v"},
        ),
        ("SELECT a FROM t WHERE b NOT IN (SELECT v FROM u)", {"t": "a b", "u": "v"}),
        ("SELECT a, (SELECT max(v) FROM u WHERE u.k = t.c) AS m FROM t", {"t": "a c", "u": "k v"}),
        ("SELECT max(b) AS m FROM t GROUP BY a HAVING min(c) > 1", {"t": "a b c"}),
        ("SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) AS n FROM t", {"t": "a b c"}),
        ("SELECT a FROM t ORDER BY b LIMIT 2", {"t": "a b"}),
        ("SELECT e FROM t LATERAL VIEW explode(ys) x AS e", {"t": "ys"}),
        ("SELECT z FROM w", {"w": "z"}),
        ("SELECT x FROM v", {"t": "a"}),
    ],
)
def test_columns_that_an_operator_needs(query, columns):
    assert read(query) == columns


def test_of_a_query_that_is_not_understood_every_column_may_be_read():
    assert read("SELECT a FROM t TABLESAMPLE (5 ROWS)") == {}
    assert read("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))") == {}


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT b FROM (SELECT a, b, c AS x FROM t WHERE d > 1)", "b d"),
        ("SELECT 1 AS one FROM (SELECT b, c FROM t)", "b"),
        ("SELECT b FROM (SELECT a, b FROM t UNION ALL SELECT k, v FROM u)", "b"),
        ("SELECT count(*) AS n FROM t", "a"),
        ("SELECT DISTINCT a, b FROM t", "a b"),
    ],
)
def test_a_narrowed_tree_reads_what_it_needs(query, columns):
    root = operator_tree(query, CONTEXT, sources=SOURCES).root
    found = narrowed(root, keys_in(root))
    assert found.output == root.output
    assert " ".join(a.name for a in scans(found)[0].output) == columns
    assert all(node.output for node in walk(found))
