"""Queries over the partial sums of their groups, compared with the queries themselves in DuckDB."""

from __future__ import annotations

from collections import Counter

import pytest

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName
from dbt.adapters.spark_mt.query.differential import added_sums, result_change
from dbt.adapters.spark_mt.query.operator_sql import render_query
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.query.partial_sums import partial_sums, summable_types
from dbt.adapters.spark_mt.query.relation_states import SourceChange
from tests.support.differential_cases import TABLES, Case, Comparison
from tests.unit.query.test_differential import CHANGED, ROWS

SUMS = TableName.of("c", "s", "sums")
CHANGED_ROWS = SourceChange(adds=True, removes=True)
CHANGES = {f"c.s.{name}": CHANGED_ROWS for name in TABLES}
QUERIES = (
    "SELECT a, sum(m) AS s FROM t GROUP BY a",
    "SELECT a, avg(b) AS m, sum(b) + 1 AS s FROM t GROUP BY a",
    "SELECT a, sum(m) FILTER (WHERE b > 1) AS s, count(b) AS n FROM t GROUP BY a",
    "SELECT a, count_if(b > 1) AS n FROM t GROUP BY a HAVING count(*) > 1",
    "SELECT sum(b) AS s FROM t WHERE b > 100",
    "SELECT DISTINCT a, s FROM t",
    "SELECT a + 1 AS x, sum(b) / count(*) AS r FROM t GROUP BY a + 1 ORDER BY x",
    "SELECT u.v, sum(t.m) AS s FROM t JOIN u ON t.a = u.k GROUP BY u.v",
    "SELECT x, count(*) AS n FROM (SELECT a AS x FROM t UNION ALL SELECT k FROM u) GROUP BY x",
    "SELECT a, b, sum(m) AS s, count(b) AS n FROM t GROUP BY CUBE (a, b) HAVING count(*) > 0",
    "SELECT a, CAST(grouping(a) AS INT) AS g FROM t GROUP BY ROLLUP (a) HAVING count(*) > 0",
    "SELECT a, avg(b) AS m FROM t GROUP BY a, ROLLUP (b)",
)


def tree_of(query):
    return Case(query, {}, {}).tree


@pytest.fixture(scope="module")
def comparison():
    return Comparison()


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("rows", [ROWS, CHANGED, {name: [] for name in ROWS}])
def test_the_rows_follow_from_the_partial_sums(comparison, query, rows):
    case = Case(query, rows, rows)
    comparison.change(case)
    sums = partial_sums(case.tree)
    places = {s.occurrence: f"`{s.relation.name}`" for s in scans(sums.sums.root)}
    text = render_query(sums.over(SUMS), {0: f"(\n{render_query(sums.sums, places)}\n)"})
    assert Counter(comparison.run(text, "new")) == Counter(comparison.run(query, "new"))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT a, b AS x, sum(m) AS s FROM t GROUP BY b, a", ("x", "a")),
        ("SELECT y, s FROM (SELECT a AS y, sum(m) AS s FROM t GROUP BY a) WHERE s > 1", ("y",)),
        ("SELECT a, sum(m) AS s FROM t GROUP BY a, b", ()),
        ("SELECT a + 1 AS x, sum(m) AS s FROM t GROUP BY a", ()),
        ("SELECT sum(m) AS s FROM t", ()),
        ("SELECT DISTINCT s, a FROM t", ("s", "a")),
    ],
)
def test_a_result_that_shows_every_key_names_its_columns(query, shown):
    assert partial_sums(tree_of(query)).shown_keys == shown


@pytest.mark.parametrize("query", QUERIES)
def test_their_change_needs_only_their_rows_and_those_of_the_changes(query):
    sums = added_sums(tree_of(query), CHANGES)
    assert result_change(sums.over(SUMS), {str(SUMS): CHANGED_ROWS}).rules == ("D1",)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, max(b) AS m FROM t GROUP BY a",
        "SELECT a, count(DISTINCT b) AS n FROM t GROUP BY a",
        "SELECT a, sum(DISTINCT b) AS n FROM t GROUP BY a",
        "SELECT a, b, max(m) AS s FROM t GROUP BY CUBE (a, b)",
        "SELECT a, sum(b) OVER (PARTITION BY a) AS s FROM t",
        "SELECT a, b FROM t",
    ],
)
def test_other_queries_have_none(query):
    assert partial_sums(tree_of(query)) is None


def test_an_average_adds_wider_numbers_than_its_own():
    """Spark adds them as DOUBLE, where a sum of BIGINT would overflow."""
    sums = partial_sums(tree_of("SELECT a, avg(b) AS m FROM t GROUP BY a"))
    (type_,) = sums.averages
    types = {c: "DECIMAL(38,0)" if c.startswith("sum_") else "BIGINT" for c in sums.sums.columns}
    assert not sums.are_exact(types)
    assert sums.are_exact({**types, type_: "BIGINT"})


def test_groups_of_rows_that_need_a_key_do_not_add_up():
    query = "SELECT v, count(*) AS n FROM t LEFT JOIN u ON t.a = u.k GROUP BY v"
    assert added_sums(tree_of(query), CHANGES) is None


@pytest.mark.parametrize(
    ("query", "type_", "exact"),
    [
        ("SELECT a, sum(b) AS s FROM t GROUP BY a", "BIGINT", True),
        ("SELECT a, sum(b) AS s FROM t GROUP BY a", "DECIMAL(20,2)", True),
        ("SELECT a, sum(b) AS s FROM t GROUP BY a", "DOUBLE", False),
        ("SELECT a, avg(b) AS s FROM t GROUP BY a", "BIGINT", True),
        ("SELECT a, avg(b) AS s FROM t GROUP BY a", "DECIMAL(20,2)", False),
        ("SELECT a, avg(b) AS s FROM t GROUP BY a", "INTERVAL DAY TO SECOND", False),
    ],
)
def test_sums_of_these_types_are_exact(query, type_, exact):
    sums = partial_sums(tree_of(query))
    types = {c: type_ if c.startswith("sum_") else "BIGINT" for c in sums.sums.columns}
    assert sums.are_exact(types) is exact


@pytest.mark.parametrize(
    ("confs", "types"),
    [
        ((), ("BIGINT", "DECIMAL(38,2)", "DECIMAL(37,2)")),
        ((("spark.sql.ansi.enabled", "true"),), ("BIGINT", "DECIMAL(38,2)", "DECIMAL(37,2)")),
        ((("spark.sql.ansi.enabled", "false"),), ("BIGINT", "", "DECIMAL(37,2)")),
    ],
)
def test_without_ansi_mode_the_widest_sums_may_have_been_too_large(confs, types):
    context = QueryContext("spark_catalog", "s", confs)
    assert summable_types(("BIGINT", "DECIMAL(38,2)", "DECIMAL(37,2)"), context) == types
