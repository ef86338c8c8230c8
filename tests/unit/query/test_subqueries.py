"""IN (subquery) as a value: what Spark's joins give, or a reason to recompute."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName, QueryContext, SourceColumns
from dbt.adapters.spark_mt.query.differential import obstacles
from dbt.adapters.spark_mt.query.expressions import Expression
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operator_sql import render
from dbt.adapters.spark_mt.query.operators import Apply, walk
from dbt.adapters.spark_mt.query.subqueries import factored, fresh_ids, without_subqueries
from dbt.adapters.spark_mt.query.syntax import read_query
from tests.support.differential_cases import Case, Comparison
from tests.support.subquery_forms import PLACES, TABLES

CONTEXT = QueryContext("c", "s", ())
SOURCES = tuple(
    SourceColumns(f"c.s.{name}", tuple(FieldName(part.split()[0]) for part in ddl.split(", ")))
    for name, ddl in TABLES.items()
)
IN, NOT_IN = "a IN (SELECT k FROM q)", "a NOT IN (SELECT k FROM q)"
KEPT = {"case value", "case of", "is false", "equal", "nullif", "listed", "count_if"}
"""Places where NULL counts as Spark's optimizer decides: the subquery is no join."""
COMPUTED = {"not below", "null below", "where not below", "united below"}
"""Places where another operator computes with the value."""


def tree_of(query):
    return operator_tree(query, CONTEXT, sources=SOURCES)


def joined(query):
    root = tree_of(query).root
    return without_subqueries(root, fresh_ids(root))


def is_join(query):
    return not any(isinstance(node, Apply) for node in walk(joined(query)))


@pytest.mark.parametrize("place", [place for place in PLACES if place != "on"])
def test_the_value_is_a_join_where_its_nulls_are_known(place):
    query = PLACES[place].format(IN)
    assert is_join(query) == (place not in KEPT | {"where false"})
    codes = [found.code for found in obstacles(tree_of(query))]
    assert ("SUBQUERY_VALUE" in codes) == (place in COMPUTED | {"count_if"})


def test_the_value_is_never_null():
    value, negated = (render(joined(f"SELECT a, {form} AS x FROM p")) for form in (IN, NOT_IN))
    assert "NULL" not in value
    assert "FALSE AS `in#" in value
    assert "IS NULL OR `has_null#" in negated
    assert "THEN TRUE" in negated


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        ("SELECT (a, b) IN (SELECT k, v FROM q) AS x FROM p", True),
        ("SELECT (a, b) NOT IN (SELECT k, v FROM q) AS x FROM p", False),
        ("SELECT a IN (SELECT k FROM q WHERE q.v = p.b) AS x FROM p", True),
        ("SELECT a NOT IN (SELECT k FROM q WHERE q.v = p.b) AS x FROM p", False),
        ("SELECT CAST(NULL AS INT) IN (SELECT k FROM q) AS x FROM p", False),
        ("SELECT c IN (SELECT k FROM q) AS x FROM (SELECT a, NULL AS c FROM p) s", False),
        ("SELECT c IN (SELECT k FROM q) AS x FROM (SELECT a AS c FROM p UNION SELECT NULL)", False),
        ("SELECT a FROM p WHERE 3 NOT IN (SELECT k FROM q) OR b = 1", True),
        ("SELECT NOT EXISTS (SELECT 1 FROM q WHERE k = a) AS x FROM p", True),
        ("SELECT a, (SELECT k FROM q WHERE v = 1) AS x FROM p", True),
        ("SELECT a, (SELECT DISTINCT k FROM q) AS x FROM p", True),
        ("SELECT a FROM p WHERE b > (SELECT v FROM q WHERE k = a)", True),
        ("SELECT a FROM p WHERE b > (SELECT v FROM q WHERE k > a)", False),
        ("SELECT a FROM p WHERE b > (SELECT DISTINCT v FROM q WHERE k = a)", False),
        ("SELECT a FROM p WHERE 1 < (SELECT count(*) FROM q WHERE k = a AND v > 1 OR k = a)", True),
        ("SELECT a FROM p WHERE 1 < (SELECT count(*) FROM q WHERE k = a OR v = b)", False),
    ],
)
def test_forms_of_subqueries(query, is_known):
    assert is_join(query) == is_known


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a = 1", ["a = 1"]),
        ("a = 1 OR b = 1", ["a = 1 OR b = 1"]),
        ("a = 1 AND b = 1 OR a = 1 AND b = 2", ["a = 1", "(b = 1) OR (b = 2)"]),
        ("(a = 1 AND b = 1) OR (b = 2 AND (a = 1)) OR a = 1", ["a = 1"]),
        (
            "a = 1 AND b = 1 AND a > b OR (a = 1 AND b = 2)",
            ["a = 1", "(b = 1 AND a > b) OR (b = 2)"],
        ),
    ],
)
def test_what_all_sides_of_a_condition_have(condition, parts):
    tree = read_query(f"SELECT {condition}")[0].selects[0]
    assert [part.sql for part in factored(Expression(tree))] == parts


def test_a_subquery_with_several_rows_fails():
    comparison = Comparison()
    query = "SELECT a, (SELECT k FROM u WHERE v = 1{}) AS x FROM t"
    t = [(1, 1, "1.00", None, "a"), (2, None, None, None, None)]
    one, two = [(1, 1, 1, None)], [(1, 1, 1, None), (2, 2, 1, None)]
    for more in ("", " AND u.a = t.a"):
        none = {"t": t, "u": [], "w": []}
        case = Case(query.format(more), {**none, "u": one}, none)
        assert not comparison.problem(case)
        assert not comparison.problem(replace(case, before=none, after=case.before))
        wrong = replace(case, after={**none, "u": [*two, two[0]]})
        with pytest.raises(duckdb.Error, match="scalar"):
            comparison.problem(wrong)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"SELECT x, a FROM (SELECT a, {IN} AS x FROM p) s", []),
        (f"SELECT x FROM (SELECT a, {IN} AS x FROM p) s WHERE x AND a > 1", []),
        (f"SELECT x FROM (SELECT CASE WHEN {IN} THEN 1 END AS x FROM p) s WHERE NOT x > 1", []),
        (f"SELECT NOT y AS z FROM (SELECT x AS y FROM (SELECT {IN} AS x FROM p) s) s", ["it"]),
        (f"SELECT max(x) AS m FROM (SELECT {NOT_IN} OR a = 1 AS x FROM p) s", ["it"]),
        ("SELECT b, max((a, b) NOT IN (SELECT k, v FROM q)) AS m FROM p GROUP BY b", ["it"]),
        ("SELECT NOT x AS y FROM (SELECT EXISTS (SELECT 1 FROM q) AS x FROM p) s", []),
    ],
)
def test_what_computes_with_the_value_is_recomputed(query, found):
    codes = [each.code for each in obstacles(tree_of(query))]
    assert codes == ["SUBQUERY_VALUE" for _ in found]
