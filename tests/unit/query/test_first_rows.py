"""First rows of a sorted result, and limits that leave all rows."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query import first_rows
from dbt.adapters.spark_mt.query import operators as ops
from tests.support.differential_cases import Case, Comparison


def top_of(query):
    return first_rows.TopRows.of(Case(query, {}, {}).tree.root)


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ("SELECT a, b FROM t ORDER BY a, b DESC LIMIT 3", 2, 0),
        ("SELECT a, b FROM t ORDER BY a, m, b LIMIT 3", 1, 2),
        ("SELECT a FROM t ORDER BY b LIMIT 3", 0, 1),
        ("SELECT a + 1 AS x FROM t ORDER BY a + 1 LIMIT 3", 1, 0),
        ("SELECT a + 1 AS x FROM t ORDER BY (a + 1) * 2 DESC LIMIT 3", 1, 0),
        ("SELECT a + 1 AS x FROM t ORDER BY a LIMIT 3", 0, 1),
        ("SELECT a AS x FROM t ORDER BY a, t.a LIMIT 3", 2, 0),
        ("SELECT 'b' AS x, a FROM t ORDER BY concat(a, 'b') LIMIT 3", 1, 0),
        ("SELECT a, sum(b) AS x FROM t GROUP BY a ORDER BY sum(b), a LIMIT 3", 2, 0),
        ("SELECT a, sum(b) AS x FROM t GROUP BY a ORDER BY max(b), a LIMIT 3", 0, 2),
        ("SELECT a, (SELECT max(z) FROM w) AS x FROM t ORDER BY b LIMIT 3", 0, 1),
    ],
)
def test_what_a_result_shows_of_its_order(query, shown, hidden):
    top = top_of(query)
    assert (len(top.order), len(top.hidden)) == (shown, hidden)
    assert top.is_whole is not hidden
    keys = ops.keys_in(top.input)
    assert all(each.keys <= keys for each in top.order)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t LIMIT 3",
        "SELECT a FROM t ORDER BY a",
        "SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 1",
        "SELECT a FROM t SORT BY a LIMIT 3",
        "SELECT a FROM t ORDER BY a LIMIT 10001",
        "SELECT a FROM t ORDER BY a LIMIT 1 + 1",
    ],
)
def test_no_first_rows(query):
    assert top_of(query) is None


ONE = "(SELECT count(*) AS n FROM t)"


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("SELECT count(*) AS n FROM t", 1),
        ("SELECT n + 1 AS m FROM (SELECT count(*) AS n FROM t HAVING count(*) > 1) WHERE n > 2", 1),
        ("SELECT count(*) AS n FROM t GROUP BY a", None),
        (f"SELECT x.n FROM {ONE} x CROSS JOIN {ONE} y", 1),
        (f"SELECT x.n FROM {ONE} x LEFT JOIN {ONE} y ON x.n = y.n", 3),
        (f"SELECT x.n FROM {ONE} x LEFT SEMI JOIN t ON x.n = t.a", 1),
        (f"SELECT x.n FROM {ONE} x LEFT JOIN t ON x.n = t.a", None),
        (f"SELECT n FROM {ONE} UNION ALL SELECT 1", 2),
        (f"SELECT n FROM {ONE} UNION ALL SELECT a FROM t", None),
        ("SELECT a FROM (SELECT a FROM t LIMIT 4) WHERE a > 1", 4),
        ("SELECT a FROM (SELECT a FROM t OFFSET 4)", None),
        ("SELECT n FROM (SELECT count(*) AS n FROM t LIMIT 4)", 1),
        ("SELECT a FROM t", None),
    ],
)
def test_how_many_rows_there_can_be(query, most):
    assert first_rows.most_rows(Case(query, {}, {}).tree.root) == most


@pytest.mark.parametrize(
    ("query", "is_needed"),
    [
        ("SELECT count(*) AS n FROM t LIMIT 1", False),
        ("SELECT count(*) AS n FROM t ORDER BY n LIMIT 100", False),
        ("SELECT count(*) AS n FROM t LIMIT 0", True),
        ("SELECT count(*) AS n FROM t LIMIT 1 OFFSET 1", True),
        ("SELECT n FROM (SELECT count(*) AS n FROM t LIMIT 1) JOIN u ON n = k", False),
        ("SELECT a FROM t LIMIT 1", True),
    ],
)
def test_limits_that_leave_all_rows(query, is_needed):
    root = first_rows.without_needless_limits(Case(query, {}, {}).tree.root)
    assert any(isinstance(each, ops.Limit) for each in ops.walk(root)) is is_needed


ROWS = [(a, b, "1.00", None, "a") for a in (1, 2, 3) for b in (1, 2)]
HIDDEN = "SELECT a FROM t ORDER BY a, b LIMIT 3"
"""Its rows are 1, 1, 2; at the place of the last one is another row that is not stored."""


@pytest.mark.parametrize(
    ("gone", "new", "is_unknown"),
    [
        ([(3, 1)], [(3, 5), (4, 1)], False),
        ([(1, 1)], [(1, 0)], False),
        ([(1, 1)], [(0, 1)], False),
        ([], [(0, 1)], True),
        ([(1, 1)], [], True),
        ([(2, 1)], [], True),
        ([(2, 2)], [], True),
        ([], [(2, 0)], True),
        ([(2, 2)], [(2, 3)], True),
    ],
)
def test_changes_at_the_place_of_the_last_row_are_not_known(gone, new, is_unknown):
    def row(pair):
        return (*pair, "1.00", None, "a")

    after = [each for each in ROWS if each[:2] not in gone] + [row(pair) for pair in new]
    others = {"u": [], "w": []}
    case = Case(HIDDEN, {"t": ROWS, **others}, {"t": after, **others})
    comparison = Comparison()
    change = comparison.change(case)
    assert comparison.is_unknown(change) is is_unknown
    assert not comparison.problem_of(case, change)


def test_a_result_with_fewer_rows_has_all_of_them():
    others = {"u": [], "w": []}
    comparison = Comparison()
    for after, is_unknown in ((ROWS[2:3], False), (ROWS[:3], False), (ROWS[:4], True)):
        case = Case(HIDDEN, {"t": ROWS[:2], **others}, {"t": after, **others})
        change = comparison.change(case)
        assert comparison.is_unknown(change) is is_unknown
        assert not comparison.problem_of(case, change)
