from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.adapter.catalog import (
    information_of,
    read_description,
    relation_of,
    relations_of,
    show_tables_sql,
)
from dbt.adapters.spark_mt.relation import SparkMTRelation, SparkMTRelationType

_DELTA = "Catalog: spark_catalog\nType: MANAGED\nProvider: delta\n"
_VIEW = "Type: VIEW\nView Text: select 1\n"


def relation(type_=None) -> SparkMTRelation:
    return SparkMTRelation.create(database="c", schema="s", identifier="t", type=type_)


def test_three_parts():
    assert str(relation()) == "c.s.t"
    assert str(relation().without_identifier()) == "c.s"
    assert str(relation().include(database=False, schema=False)) == "t"


@pytest.mark.parametrize("type_", list(SparkMTRelationType))
def test_every_type_of_dbt_and_ours(type_):
    assert relation(type_).type == type_


def test_ours_is_told_apart():
    found = relation("table").incorporate(type=SparkMTRelation.MaterializedTable)
    assert (found.is_materialized_table, found.is_table, found.is_view) == (True, False, False)


def test_listing():
    rows = [
        ("s", "plain", False, _DELTA),
        ("s", "Ours", False, _DELTA),
        ("s", "a_view", False, _VIEW),
        ("", "session_only", True, _VIEW),
    ]
    found = {r.identifier: r for r in relations_of(rows, "c", {"ours"})}
    types = {name: str(r.type) for name, r in found.items()}
    assert types == {"plain": "table", "Ours": "materialized_table", "a_view": "view"}
    assert (found["plain"].is_delta, found["Ours"].is_delta) == (True, False)
    assert found["plain"].database == "c"


def test_listing_statement_quotes():
    schema = SparkMTRelation.create(database="c", schema="my`s")
    assert show_tables_sql(schema) == "SHOW TABLE EXTENDED IN `c`.`my``s` LIKE '*'"


def test_description():
    rows = [
        ("id", "int", None),
        ("#no", "string", "a comment"),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Type", "VIEW", ""),
        ("Owner", "me", ""),
    ]
    found = read_description(rows)
    assert found.columns == (("id", "int", None), ("#no", "string", "a comment"))
    assert found.facts == {"Type": "VIEW", "Owner": "me"}
    view = relation_of(("c", "s", "t"), information_of(found), materialized=False)
    assert view.type == "view"
