"""Which models an operation is about, and tables without a model."""

import pytest

from dbt.adapters.spark_mt.adapter.run_operations import (
    ModelNode,
    dependency_order,
    orphaned_tables,
    select_models,
)
from dbt.adapters.spark_mt.api import Declared
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from tests.support.errors import raises


def node(name, materialized="materialized_table", *tags, relation=None):
    table = TableName(relation or name, "shop", "spark_catalog")
    return ModelNode(f"model.shop.{name}", name, materialized, table, tags)


MODELS = (node("daily", "materialized_table", "slow"), node("hourly"), node("raw", "view", "slow"))


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (None, ["daily", "hourly"]),
        ("hourly", ["hourly"]),
        ("hourly daily", ["daily", "hourly"]),
        ("hourly, daily", ["daily", "hourly"]),
        (["*ly"], ["daily", "hourly"]),
        ("tag:slow", ["daily"]),
        ("model.shop.daily", ["daily"]),
    ],
)
def test_names_patterns_and_tags_in_the_order_of_the_models(select, names):
    assert [model.name for model in select_models(MODELS, select)] == names


def test_everything_that_fits_nothing_is_listed():
    with raises(conditions.UNKNOWN_MODEL) as caught:
        select_models(MODELS, ["dailly", "raw", "tag:slo", "hourly"])
    dailly, raw, tag = caught.value.violations
    assert "'daily'" in dailly
    assert "view" in raw
    assert "'tag:slow'" in tag


@pytest.mark.parametrize("select", ["", [], 3, {"name": "daily"}, [1]])
def test_an_empty_selection_does_not_select_all(select):
    with raises(conditions.UNKNOWN_MODEL):
        select_models(MODELS, select)


def test_parents_come_first():
    order = dependency_order({"c": ["a", "b"], "a": [], "b": ["a"], "d": []})
    assert order.index("a") < order.index("b") < order.index("c")
    assert set(order) == {"a", "b", "c", "d"}


def declared(name, owner):
    return Declared(TableName(name, "shop", "spark_catalog"), (("dbt", owner),) if owner else ())


def orphans(*tables, nodes=MODELS):
    found = orphaned_tables("shop", tables, nodes)
    return [(orphan.name.name, orphan.reason) for orphan in found]


def test_a_table_whose_model_is_gone():
    assert orphans(declared("weekly", "model.shop.weekly")) == [("weekly", "the model is gone")]


def test_a_model_that_makes_another_table_or_none_now():
    nodes = (node("weekly", relation="by_week"), node("yearly", "ephemeral"))
    tables = (declared("weekly", "model.shop.weekly"), declared("yearly", "model.shop.yearly"))
    assert orphans(*tables, nodes=nodes) == [
        ("weekly", "the model makes spark_catalog.shop.by_week now"),
        ("yearly", "the model is ephemeral now"),
    ]


def test_tables_of_other_projects_are_no_orphans():
    tables = (declared("weekly", "model.other.weekly"), declared("theirs", ""))
    assert orphans(*tables) == []


def test_a_name_that_a_model_has_is_left_to_the_next_run():
    """The model was renamed and kept its alias, or has another materialization now."""
    tables = (declared("hourly", "model.shop.by_hour"), declared("RAW", "model.shop.raw"))
    assert orphans(*tables) == []
