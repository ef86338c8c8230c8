"""Window functions by their partitions, and windows of which a filter keeps the first ranks."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query import windows
from tests.support.differential_cases import Case, Comparison

T = [(a, b, f"{a}.25", None, "xy"[a % 2]) for a in (1, 2, 3) for b in (1, 2, None)]
AFTER = [*T[1:7], (0, 2, "5.00", None, "x"), (3, 1, "0.25", None, None)]


def case_of(query):
    others = {"u": [], "w": []}
    return Case(query, {"t": T, **others}, {"t": AFTER, **others})


BY = {"a": "PARTITION BY a", "b": "PARTITION BY b", "ab": "PARTITION BY a, b", "": "ORDER BY a, b"}


@pytest.mark.parametrize(
    ("partitions", "parts"),
    [
        (("a",), [("a",)]),
        (("a", "a"), [("a", "a")]),
        (("a", "ab"), [("a", "ab")]),
        (("a", "b"), [("a",), ("b",)]),
        (("a", "b", "a"), [("a", "a"), ("b",)]),
        (("ab", "a", "b"), [("ab", "a"), ("b",)]),
        (("", ""), [("", "")]),
        (("", "a", ""), [("", ""), ("a",)]),
    ],
)
def test_calls_that_share_no_column_are_separated(partitions, parts):
    calls = ", ".join(f"max(a + {i}) OVER ({BY[by]}) AS n{i}" for i, by in enumerate(partitions))
    root = case_of(f"SELECT a, {calls} FROM t").tree.root
    changed = windows.separated(root)
    nodes = [node for node in ops.walk(changed) if isinstance(node, ops.Window)]
    assert [len(node.calls) for node in reversed(nodes)] == [len(part) for part in parts]
    assert changed.output == root.output


BOUNDED = [
    "r < 3",
    "r <= 3",
    "3 > r",
    "3 >= r",
    "r = 1",
    "r BETWEEN 1 AND 2",
    "r < 3 AND a > 1",
    "r < 3 OR q = 1",
    "(r < 3 AND a > 1) OR (q <= 2 AND b > 0)",
    "r <= 10000",
]
UNBOUNDED = [
    "r > 3",
    "r <> 3",
    "r < 3 OR a > 1",
    "r < a",
    "a < 3",
    "n < 3",
    "r < 3.5",
    "r <= 10001",
    "NOT r > 3",
    "r + 1 < 3",
]
RANKED = (
    "SELECT x, b, r FROM (SELECT a, a + 1 AS x, b, rank() OVER (ORDER BY m) AS r, "
    "dense_rank() OVER (ORDER BY a DESC, b) AS q, count(*) OVER (ORDER BY a) AS n FROM t) WHERE {}"
)


@pytest.mark.parametrize("condition", BOUNDED)
def test_first_ranks_are_derived(condition):
    case = case_of(RANKED.format(condition))
    assert windows.without_bound(case.tree.root) == ()
    assert not Comparison().problem(case)


@pytest.mark.parametrize("condition", UNBOUNDED)
def test_other_windows_are_not(condition):
    assert len(windows.without_bound(case_of(RANKED.format(condition)).tree.root)) == 1


RANK = "rank() OVER (ORDER BY a) AS r"


@pytest.mark.parametrize(
    ("query", "is_bounded"),
    [
        (f"SELECT r FROM (SELECT b, r FROM (SELECT b, {RANK} FROM t) WHERE r < 3)", True),
        (f"SELECT s FROM (SELECT r AS s FROM (SELECT {RANK} FROM t)) WHERE s < 3", True),
        (f"SELECT s FROM (SELECT r + 0 AS s FROM (SELECT {RANK} FROM t)) WHERE s < 3", False),
        (f"SELECT r FROM (SELECT {RANK} FROM t) JOIN u ON r = k WHERE r < 3", False),
        (f"SELECT r FROM (SELECT r FROM (SELECT {RANK} FROM t) GROUP BY r) WHERE r < 3", False),
        ("SELECT rank() OVER (PARTITION BY b ORDER BY a) AS r FROM t", True),
        ("SELECT a FROM t", True),
    ],
)
def test_where_a_filter_reaches_a_window(query, is_bounded):
    assert (windows.without_bound(case_of(query).tree.root) == ()) is is_bounded
