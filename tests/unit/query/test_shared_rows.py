"""Rows that several operators read: which become relations, and their SQL."""

from __future__ import annotations

from itertools import count

import pytest

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.differential_changes import Changes
from dbt.adapters.spark_mt.query.expressions import Attribute
from dbt.adapters.spark_mt.query.relation_states import SourceChange, StateOf
from dbt.adapters.spark_mt.query.shared_rows import SharedRows
from tests.support.differential_cases import TABLES, Case

CHANGED = {f"c.s.{name}": SourceChange(adds=True) for name in TABLES}


class Rows:
    """Rows of a query of which one table has its added rows only, twice, as a CTE has them."""

    def __init__(self, query):
        self.inputs = {}
        self._roots = [self._read(Case(query, {}, {}).tree.root) for _ in range(2)]

    def _read(self, root):
        changes = Changes(count(100), CHANGED)

        def read(node):
            if not isinstance(node, ops.Scan):
                return node
            which = StateOf.ADDED if node.relation.name == "t" else StateOf.AFTER
            found = changes._read(node, which)
            self.inputs[found.occurrence] = f"{node.relation.name}_{which.name.lower()}"
            return found

        return ops.transform(root, read)

    def shared(self, *more):
        names = (f"rows_{number}" for number in count())
        found = SharedRows([*self._roots, *more], self.inputs, names.__next__)
        return [(each.is_view, each.query) for each in found.relations], found.text(self._roots[1])


FEW = "SELECT t.a, u.v FROM t JOIN u ON t.a = u.k"


def test_few_rows_are_computed_once():
    relations, text = Rows(FEW).shared()
    assert [is_view for is_view, _ in relations] == [False]
    assert "u_after" in relations[0][1]
    assert text.startswith("SELECT * FROM `rows_0` AS _(")
    assert "u_after" not in text


@pytest.mark.parametrize(
    ("query", "views"),
    [
        ("SELECT u.v FROM u JOIN w ON u.k = w.k", [True]),
        ("SELECT u.v FROM u LEFT JOIN t ON t.a = u.k JOIN w ON w.k = u.a", [True]),
        ("SELECT t.a FROM t LEFT JOIN u ON t.a = u.k", [False]),
        ("SELECT t.a FROM u RIGHT JOIN t ON t.a = u.k", [False]),
        ("SELECT v FROM u WHERE v > 1", []),
        ("SELECT a FROM t WHERE a > 1", []),
        ("SELECT a FROM t CROSS JOIN w", []),
        ("SELECT count(*) AS n FROM w", [False]),
        ("SELECT k FROM u EXCEPT SELECT a FROM t", []),
        ("SELECT a FROM t EXCEPT SELECT k FROM u", [False]),
        ("SELECT k FROM u INTERSECT SELECT a FROM t", [False]),
    ],
)
def test_more_rows_are_a_view_if_they_read_several_relations(query, views):
    relations, _ = Rows(query).shared()
    assert [is_view for is_view, _ in relations] == views


def test_rows_that_differ_in_the_identities_of_attributes_are_the_same():
    query = f"WITH c AS ({FEW}) SELECT x.a, y.v FROM c AS x JOIN c AS y ON x.a = y.v"
    rows = Rows(query)
    rows._roots = rows._roots[:1]
    names = (f"rows_{number}" for number in count())
    found = SharedRows(rows._roots, rows.inputs, names.__next__)
    assert [each.query.count("u_after") for each in found.relations] == [1]
    assert found.text(rows._roots[0]).count("`rows_0`") == 2


def test_rows_that_one_operator_reads_stay_in_their_place():
    rows = Rows(FEW)
    rows._roots = rows._roots[:1]
    names = (f"rows_{number}" for number in count())
    found = SharedRows(rows._roots, rows.inputs, names.__next__)
    assert found.relations == []
    assert "t_added" in found.text(rows._roots[0])


def test_rows_with_other_columns_are_others():
    other = Case("SELECT t.b, u.v FROM t JOIN u ON t.a = u.k", {}, {}).tree.root
    relations, _ = Rows(FEW).shared(other)
    assert len(relations) == 1


def test_asked_for_rows_are_a_relation_even_if_they_are_read_once():
    rows = Rows(FEW)
    relations, _ = rows.shared(asked())
    assert len(relations) == 2


ONE = ops.Values("VALUES (1)", (Attribute(900, "one"),))


def relations_of(*roots):
    names = (f"rows_{number}" for number in count())
    return SharedRows(roots, {0: "t_added"}, names.__next__).relations


def asked():
    return ops.Shared(Case("SELECT a FROM t", {}, {}).tree.root)


@pytest.mark.parametrize(
    ("query", "times"),
    [
        (FEW, 1),
        ("SELECT u.v FROM u JOIN w ON u.k = w.k", 2),
        ("SELECT v FROM u WHERE v > 1", 2),
        (f"WITH c AS ({FEW}) SELECT x.a, y.v FROM c AS x JOIN c AS y ON x.a = y.v", 1),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t WHERE a > 1)", 0),
    ],
)
def test_rows_that_are_kept_are_read_once_and_those_of_a_view_by_each_reader(query, times):
    rows = Rows(query)
    names = (f"rows_{number}" for number in count())
    read = SharedRows(rows._roots, rows.inputs, names.__next__).whole_reads()
    assert sum(n for at, n in read.items() if rows.inputs[at] == "u_after") == times


def test_a_relation_names_those_that_it_reads():
    inner = asked()
    found = relations_of(ops.Shared(ops.Union((inner, inner), inner.output)))
    assert [each.reads for each in found] == [frozenset(), {found[0].name}]


def test_rows_that_one_relation_alone_adds_to_others_are_computed_with_it():
    inner = asked()
    united = ops.Distinct(ops.Union((inner, ONE), inner.output))
    (found,) = relations_of(ops.Shared(united))
    assert "t_added" in found.query
    assert found.reads == frozenset()


@pytest.mark.parametrize(
    "reader",
    [
        lambda inner: ops.Shared(ops.Join(ONE, inner, ops.JoinKind.SEMI, ())),
        lambda inner: ops.Shared(ops.Aggregate(inner, (), ())),
        ops.Distinct,
    ],
    ids=["a join", "an aggregate", "no relation"],
)
def test_other_rows_that_are_asked_for_stay_relations(reader):
    """A join gains from knowing how few they are; several statements may read what is none."""
    inner = asked()
    assert relations_of(reader(inner))[0].query == relations_of(inner)[0].query
