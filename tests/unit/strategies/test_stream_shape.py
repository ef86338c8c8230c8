"""What Structured Streaming can run, on queries that Spark itself was asked about."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations

import pytest

from dbt.adapters.spark_mt.definition.watermark import Watermark
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.strategies.stream_flow import NotAStreamError as NoStreamBefore
from dbt.adapters.spark_mt.strategies.stream_plan import stream_shape as shape_before
from dbt.adapters.spark_mt.strategies.stream_shape import NotAStreamError, stream_shape
from tests.unit.strategies.spark_plans import (
    PLANS,
    SOURCES,
    columns,
    operators,
    query_tree,
)

ON_TS = Watermark(None, "ts", timedelta(seconds=10))
BETTER = {
    "agg_agg": "a group of groups was said to be filtered",
    "agg_expr": "an expression was shown with the numbers of Spark's plan",
    "date_trunc_wm": "an expression was shown with the numbers of Spark's plan",
    "batch_pivot": "the operators that Spark makes of PIVOT were named in its place",
    "lit_agg": "a literal with brackets made the plan unclear",
    "quoted": "a name with a comma made the plan unclear",
    "newline_lit": "a literal with a line end made the plan unreadable",
    "view_of_groups": "a column was said to be missing that only has a cast around it",
}
"""Queries with another verdict than Spark's plan gave, and what was wrong with that."""
ACCEPTED = {"lit_agg", "quoted", "newline_lit"}
"""Those that are streams now."""


def verdict(decide, *errors):
    try:
        found = decide()
    except errors as no:
        return [(reason.code, reason.text) for reason in no.reasons]
    marks = (found.followed, found.watermarks)
    return (found.output_mode, found.key, found.stateful, found.reasons, *marks)


def followed_in(name):
    """Each choice of tables that a stream of a query could follow."""
    if "modes" in PLANS[name]:
        return [()]  # the query says it itself
    read = sorted({scan.relation for scan in scans(query_tree(name).root)}, key=str)
    return [chosen for n in range(len(read) + 1) for chosen in combinations(read, n)]


CASES = [(name, followed) for name in sorted(PLANS) for followed in followed_in(name)]


@pytest.mark.parametrize("marks", [(), (ON_TS,)], ids=["plain", "watermark"])
@pytest.mark.parametrize(("name", "followed"), CASES)
def test_the_verdict_on_the_tree_is_that_on_the_plan(name, followed, marks):
    root, tree = operators(name), query_tree(name)
    before = root and verdict(
        lambda: shape_before(root, columns(name), followed, marks), NoStreamBefore
    )
    after = verdict(lambda: stream_shape(tree, SOURCES, map(str, followed), marks), NotAStreamError)
    if name not in BETTER:
        assert after == before
    elif name in ACCEPTED and followed:
        assert isinstance(after, tuple)


@pytest.mark.parametrize("name", BETTER)
def test_a_verdict_that_is_not_listed_is_the_same(name):
    followed = followed_in(name)[-1]
    before = operators(name) and verdict(
        lambda: shape_before(operators(name), columns(name), followed), NoStreamBefore
    )
    after = verdict(
        lambda: stream_shape(query_tree(name), SOURCES, map(str, followed)), NotAStreamError
    )
    assert before != after
