"""Facts and changes of operator trees."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query.operator_sql import render
from dbt.adapters.spark_mt.query.operators import Filter, is_deterministic, transform
from tests.unit.query.test_operator_builder import shape, tree_of


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("SELECT sum(a) AS n FROM t", True),
        ("SELECT rand() AS n FROM t", False),
        ("SELECT a FROM t LIMIT 1", False),
        ("SELECT collect_list(a) AS n FROM t", False),
        ("SELECT sort_array(collect_list(a)) AS n FROM t", True),
        ("SELECT listagg(c, ',') WITHIN GROUP (ORDER BY a) AS n FROM t", True),
    ],
)
def test_determinism(query, same):
    assert is_deterministic(tree_of(query).root) is same


def test_a_tree_can_be_changed():
    tree = tree_of("SELECT a FROM t WHERE b > 1")

    def without_filters(node):
        return node.input if isinstance(node, Filter) else node

    changed = transform(tree.root, without_filters)
    assert shape(changed) == ["Project", "t"]
    assert "WHERE" not in render(changed)
    assert "WHERE" in render(tree.root)
