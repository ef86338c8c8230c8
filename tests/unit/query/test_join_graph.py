"""Inner joins as a graph around one of their inputs."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.join_graph import Star
from tests.support.differential_cases import Case

STAR = (
    "SELECT f.s FROM u x JOIN t f ON f.a = x.k JOIN w y ON f.b = y.k AND f.a = y.z "
    "JOIN u z ON f.a = z.a JOIN w far ON x.v = far.k"
)


def joins(query):
    return next(n for n in ops.walk(Case(query, {}, {}).tree.root) if isinstance(n, ops.Join))


def relations(star):
    return [next(iter(ops.scans(each))).alias for each in star.inputs]


def test_the_center_is_the_input_that_most_others_are_joined_to():
    star = Star.of(joins(STAR))
    names = relations(star)
    assert names == ["x", "f", "y", "z", "far"]
    assert names[star.center] == "f"
    ways = [(names[edge.inner], names[edge.outer], len(edge.pairs)) for edge in star.edges]
    assert ways == [("f", "x", 1), ("f", "y", 2), ("f", "z", 1), ("x", "far", 1)]
    assert [names[edge.outer] for edge in star.from_(0)] == ["far"]


def test_each_pair_has_the_nearer_input_first():
    star = Star.of(joins(STAR))
    for edge in star.edges:
        for ours, theirs in edge.pairs:
            assert ours.keys <= ops.keys_in(star.inputs[edge.inner])
            assert theirs.keys <= ops.keys_in(star.inputs[edge.outer])


def test_a_star_over_its_own_inputs_is_itself():
    star = Star.of(joins(STAR))
    assert star.over(star.inputs.__getitem__) == star.root


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 FROM t JOIN u ON t.a = u.k JOIN w ON t.b = w.k",
        "SELECT 1 FROM t a JOIN t b ON a.a = b.a JOIN t c ON b.b = c.b JOIN t d ON c.s = d.s",
        f"{STAR} CROSS JOIN t other",
        "SELECT 1 FROM t JOIN u ON t.a < u.k JOIN w ON t.b < w.k JOIN u z ON t.a < z.a",
        "SELECT 1 FROM t LEFT JOIN u ON t.a = u.k",
    ],
    ids=["two edges", "chain", "not connected", "no equalities", "outer join"],
)
def test_other_joins_are_no_star(query):
    assert Star.of(joins(query)) is None


def test_the_inputs_of_an_outer_join_are_one_input():
    query = STAR.replace("JOIN w y", "LEFT JOIN w y")
    inputs = Star.of(joins(query))
    assert inputs is None  # the joins after it have too few edges with it in one
