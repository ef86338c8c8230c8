"""SQL of operator trees, and trees without any."""

from __future__ import annotations

import random

import pytest

from dbt.adapters.spark_mt.query.operator_sql import NotRenderedError, render_query
from dbt.adapters.spark_mt.query.operators import opaque_parts
from tests.support.random_queries import TABLES, RandomQueries
from tests.unit.query.test_operator_builder import codes, columns_of, tree_of


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT missing FROM t", "UNRESOLVED_COLUMN"),
        ("SELECT a FROM elsewhere", "UNKNOWN_COLUMNS"),
        ("SELECT a, b FROM t GROUP BY a", "UNBOUND"),
        ("SELECT explode(ys) FROM t", "GENERATOR"),
        ("SELECT arrays_zip(ys, ys) AS z FROM t", "ARGUMENT_NAMES"),
        ("SELECT s.* FROM t", "STAR"),
        ("SELECT a, _metadata.file_name AS f FROM t", "METADATA"),
        ("SELECT a FROM t x WHERE x._METADATA.row_index > 1", "METADATA"),
        ("SELECT s.w._metadata AS m FROM w", "METADATA"),
        ("FROM t |> WHERE a > 1", "SYNTAX"),
    ],
)
def test_a_construct_that_cannot_be_rendered_is_a_gap(query, code):
    tree = tree_of(query)
    assert code in codes(tree)
    assert not opaque_parts(tree.root)
    with pytest.raises(NotRenderedError):
        render_query(tree)


def test_random_queries_have_no_gaps():
    """Each form is rendered; `tests/functional/engine/test_operator_trees.py` runs the SQL."""
    queries = RandomQueries(random.Random(3))  # noqa: S311 - the same queries each time
    for _ in range(300):
        query = queries.query()
        tree = tree_of(query, sources=columns_of(TABLES))
        assert tree.gaps == (), query
        assert render_query(tree)
