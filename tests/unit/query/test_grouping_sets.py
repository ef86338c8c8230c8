"""Grouping sets as one set of rows that are repeated for each of them."""

from __future__ import annotations

from itertools import count

import pytest

from dbt.adapters.spark_mt.query import grouping_sets
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.partial_sums import partial_sums
from tests.support.differential_cases import Case, Comparison

T = [
    (1, 1, "1.00", None, "a"),
    (1, 2, "2.00", None, "b"),
    (1, None, "3.00", None, None),
    (2, 1, "1.50", None, "a"),
    (None, 1, "1.25", None, "a"),
    (None, 1, "1.25", None, "a"),
]
AFTER = [*T[1:4], T[5], (3, 1, "0.25", None, "a"), (1, 2, "7.00", None, "b")]
SOME = "HAVING count(*) > 0"
"""Without rows Spark has no groups, where others have the one of all rows."""
SETS = {
    "ROLLUP (a, b)": ((0, 1), (0,), ()),
    "CUBE (a, b)": ((0, 1), (1,), (0,), ()),
    "GROUPING SETS ((a), (b))": ((0,), (1,)),
    "GROUPING SETS ((a, b), (), (b))": ((0, 1), (), (1,)),
    "GROUPING SETS ((a), (b), (a))": ((0,), (1,), (0,)),
    "GROUPING SETS (ROLLUP (a, b), (b))": ((0, 1), (0,), (), (1,)),
    "ROLLUP (a), ROLLUP (b)": ((0, 1), (0,), (1,), ()),
    "ROLLUP ((a, b))": ((0, 1), ()),
    "a, b GROUPING SETS ((a, b), b)": ((0, 1), (1,)),
    "a, b WITH ROLLUP": ((0, 1), (0,), ()),
    "a, b WITH CUBE": ((0, 1), (1,), (0,), ()),
}
OF_SPARK_ALONE = {"a, b GROUPING SETS ((a, b), b)", "a, b WITH ROLLUP", "a, b WITH CUBE"}


def case_of(query):
    others = {"u": [(1, 1, 2, None)], "w": []}
    return Case(query, {"t": T, **others}, {"t": AFTER, **others})


def aggregate_of(query):
    nodes = ops.walk(case_of(query).tree.root)
    return next(node for node in nodes if isinstance(node, ops.Aggregate))


@pytest.mark.parametrize("by", SETS)
def test_the_sets_of_a_query(by):
    node = aggregate_of(f"SELECT a, b, count(*) AS n FROM t GROUP BY {by}")
    assert [g.attribute.name for g in node.groups] == ["a", "b"]
    assert sorted(node.sets) == sorted(SETS[by])


def test_grouping_columns_have_the_order_of_the_text():
    node = aggregate_of("SELECT grouping_id() AS n FROM t GROUP BY CUBE (s, a), b")
    assert [g.attribute.name for g in node.groups] == ["s", "a", "b"]


def test_a_pair_that_is_no_set_is_one_value():
    node = aggregate_of("SELECT count(*) AS n FROM t GROUP BY (a, b)")
    assert len(node.groups) == 1


@pytest.mark.parametrize("by", [by for by in SETS if by not in OF_SPARK_ALONE])
@pytest.mark.parametrize(
    "items",
    [
        "a, b, count(*) AS n, sum(m) AS s, min(s) AS c",
        "b, a, sum(a) AS s, count(b) AS n, max(a + b) AS x",
        "a, CAST(grouping(a) + grouping(b) AS INT) AS g, count(*) AS n",
        "grouping_id(b, a) AS g, a, count(DISTINCT b) AS n",
        "a, avg(b) AS m, count(*) FILTER (WHERE b > 1) AS n",
    ],
)
def test_changes(by, items):
    comparison = Comparison()
    query = f"SELECT {items} FROM t GROUP BY {by} {SOME}"
    for case in (case_of(query), case_of(f"SELECT q.* FROM ({query}) q JOIN u ON q.a = u.k")):
        assert not comparison.problem(case)
    gone = case_of(query)
    gone.after["t"] = []
    assert not comparison.problem(gone)


def test_partial_sums_have_the_number_of_the_set_as_a_key():
    sums = partial_sums(case_of("SELECT a, sum(b) AS s FROM t GROUP BY ROLLUP (a, b)").tree)
    assert len(sums.keys) == 3
    assert sums.shown_keys == ()
    assert not any(isinstance(node, ops.Aggregate) for node in ops.walk(sums.nodes))


@pytest.mark.parametrize(
    ("query", "is_expanded"),
    [
        ("SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a)", True),
        ("SELECT (SELECT max(k) FROM u WHERE u.a > t.a) AS m FROM t GROUP BY ROLLUP (a)", True),
        ("SELECT max((SELECT max(k) FROM u WHERE u.a > t.a)) AS m FROM t GROUP BY CUBE (a)", False),
        ("SELECT a, grouping(s) AS g FROM t GROUP BY ROLLUP (a)", False),
        ("SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a, window(d, '1 day'))", False),
        ("SELECT count(*) AS n FROM t GROUP BY CUBE (a, session_window(d, '1 day'))", False),
    ],
)
def test_what_is_not_written_without_sets(query, is_expanded):
    root = grouping_sets.expanded(case_of(query).tree.root, count(1000), lambda _: True)
    left = [n for n in ops.walk(root) if isinstance(n, ops.Aggregate) and n.sets is not None]
    assert not left if is_expanded else left


def test_only_what_is_wanted_is_changed():
    root = case_of("SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a)").tree.root
    assert grouping_sets.expanded(root, count(1000), lambda _: False) == root
