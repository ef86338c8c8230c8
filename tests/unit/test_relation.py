from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.relation import SparkMTRelation, SparkMTRelationType


def relation(type_=None) -> SparkMTRelation:
    return SparkMTRelation.create(database="c", schema="s", identifier="t", type=type_)


def test_three_parts():
    assert str(relation()) == "c.s.t"
    assert str(relation().without_identifier()) == "c.s"
    assert str(relation().include(database=False, schema=False)) == "t"


@pytest.mark.parametrize("type_", list(SparkMTRelationType))
def test_every_type_of_dbt_and_ours(type_):
    assert relation(type_).type == type_


def test_materialized_tables_are_recognized():
    found = relation("table").incorporate(type=SparkMTRelation.MaterializedTable)
    assert (found.is_materialized_table, found.is_table, found.is_view) == (True, False, False)
