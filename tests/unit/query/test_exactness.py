"""Values that are the same whenever a query computes them again."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName, QueryContext, SourceColumns
from dbt.adapters.spark_mt.query.exactness import computes_exactly
from dbt.adapters.spark_mt.query.operator_builder import operator_tree

TYPES = {"i": "INT", "l": "BIGINT", "d": "DECIMAL(9,2)", "x": "DOUBLE", "s": "STRING", "o": "ODD"}
UNTIL = "ROWS BETWEEN UNBOUNDED PRECEDING AND"


def tree_of(query):
    sources = [SourceColumns("c.s.t", tuple(map(FieldName, TYPES)))]
    types = (("c.s.t", tuple(TYPES.items())),)
    return operator_tree(query, QueryContext("c", "s", ()), sources=sources, types=types)


def is_exact(query, types=None):
    tree = tree_of(query)
    assert not tree.gaps
    return computes_exactly(tree.root, tree.types if types is None else types)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sum(i)", True),
        ("sum(l)", True),
        ("sum(d)", True),
        ("sum(x)", False),
        ("sum(s)", False),
        ("sum(o)", False),
        ("avg(i)", True),
        ("avg(d)", True),
        ("avg(l)", False),
        ("avg(x)", False),
        ("min(x)", False),
        ("max(i)", True),
        ("max(s)", True),
        ("max(o)", False),
        ("max(upper(s))", True),
        ("max(abs(s))", False),
        ("max(s + 1)", False),
        ("max(coalesce(s, 1))", False),
        ("max(coalesce(s, NULL, 'x'))", True),
        ("max(nullif(s, 'x'))", True),
        ("max(CAST(x AS DATE))", True),
        ("bool_or(x > 1)", True),
        ("count(x)", True),
        ("stddev(i)", False),
        ("max_by(i, l)", False),
        ("sort_array(collect_list(x))", False),
        ("sort_array(collect_list(i))", True),
        ("sum(-(i + 1) * l - d % 2)", True),
        ("sum(i / 2)", False),
        ("sum(d / i)", True),
        ("sum(i div 2)", True),
        ("sum(i = 1)", False),
        ("sum(d * 1.5)", True),
        ("sum(d * 1.5e0)", False),
        ("sum(d * 1.5D)", False),
        ("sum(d * 2BD)", True),
        ("avg(i + 2L)", False),
        ("avg(i + 12345678901)", False),
        ("sum(CAST(x AS INT))", True),
        ("sum(CAST(i AS DOUBLE))", False),
        ("sum(CASE WHEN x > 1 THEN i ELSE NULL END)", True),
        ("sum(CASE WHEN i > 1 THEN i ELSE x END)", False),
        ("sum(CASE WHEN i > 1 THEN d END)", True),
        ("sum(coalesce(i, 0))", True),
        ("sum(coalesce(i, x))", False),
        ("sum(if(x > 1, d, i))", True),
        ("sum(round(d, 1))", True),
        ("sum(nullif(x, 0))", False),
        ("sum(length(s))", False),
        ("sum(i) FILTER (WHERE x > 1)", True),
        ("sum(DISTINCT d)", True),
    ],
)
def test_aggregates(value, expected):
    assert is_exact(f"SELECT s, {value} AS v FROM t GROUP BY s") is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("rank() OVER (PARTITION BY s ORDER BY x)", True),
        ("row_number() OVER (PARTITION BY s ORDER BY x)", False),
        ("lag(i) OVER (PARTITION BY s ORDER BY x)", False),
        ("sum(d) OVER (PARTITION BY s)", True),
        ("sum(d) OVER (PARTITION BY s ORDER BY i)", True),
        (f"sum(d) OVER (PARTITION BY s ORDER BY i {UNTIL} CURRENT ROW)", False),
        (f"sum(d) OVER (PARTITION BY s ORDER BY i {UNTIL} UNBOUNDED FOLLOWING)", True),
        ("sum(x) OVER (PARTITION BY s)", False),
        ("max(x) OVER (PARTITION BY s)", False),
        ("max(d) OVER (PARTITION BY s)", True),
        ("sum(d) FILTER (WHERE i > 1) OVER (PARTITION BY s)", False),
    ],
)
def test_window_functions(value, expected):
    assert is_exact(f"SELECT s, {value} AS v FROM t") is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT s, i + 1 AS j FROM t", True),
        ("SELECT s, sum(m) AS v FROM (SELECT s, sum(d) AS m FROM t GROUP BY s) GROUP BY s", True),
        ("SELECT s, avg(m) AS v FROM (SELECT s, sum(i) AS m FROM t GROUP BY s) GROUP BY s", False),
        ("SELECT s, sum(m) AS v FROM (SELECT s, avg(i) AS m FROM t GROUP BY s) GROUP BY s", False),
        ("SELECT s, sum(m) AS v FROM (SELECT s, avg(d) AS m FROM t GROUP BY s) GROUP BY s", True),
        ("SELECT s, sum(m) AS v FROM (SELECT s, max(d) AS m FROM t GROUP BY s) GROUP BY s", True),
        ("SELECT m, sum(n) AS v FROM (SELECT i m, count(x) n FROM t GROUP BY i) GROUP BY m", True),
        ("SELECT sum(m) AS v FROM (SELECT i AS m FROM t UNION ALL SELECT d FROM t)", True),
        ("SELECT sum(m) AS v FROM (SELECT i AS m FROM t UNION ALL SELECT x FROM t)", False),
        ("SELECT sum(m) AS v FROM (SELECT i AS m FROM t EXCEPT SELECT l FROM t)", True),
        ("SELECT sum(m) AS v FROM (SELECT (SELECT max(i) FROM t) AS m FROM t)", True),
        ("SELECT sum(m) AS v FROM (SELECT (SELECT max(x) FROM t) AS m FROM t)", False),
        ("SELECT count(*) AS n FROM (SELECT sum(x) AS m FROM t GROUP BY s)", False),
    ],
)
def test_operators_below(query, expected):
    assert is_exact(query) is expected


def test_nothing_is_exact_by_types_that_are_not_known():
    assert not is_exact("SELECT s, sum(i) AS v FROM t GROUP BY s", {})
    assert is_exact("SELECT s, count(i) AS v FROM t GROUP BY s", {})
