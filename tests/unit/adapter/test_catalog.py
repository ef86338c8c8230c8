"""Functions in the listing of a schema, and a single relation of dbt's docs catalog."""

from __future__ import annotations

from dbt.adapters.spark_mt.adapter.catalog import (
    Description,
    catalog_rows,
    catalog_table,
    functions_of,
    information_of,
    read_description,
    relation_of,
    relations_of,
    show_functions_sql,
    show_tables_sql,
)
from dbt.adapters.spark_mt.execution.show import Figure
from dbt.adapters.spark_mt.relation import SparkMTRelation

SCHEMA = SparkMTRelation.create(database="spark_catalog", schema="s")
TABLE = SparkMTRelation.create(
    database="spark_catalog", schema="s", identifier="Taxed", type="table"
)


def test_functions_are_listed_unless_a_table_has_their_name():
    rows = [("spark_catalog.s.taxed",), ("spark_catalog.s.up_to",)]
    (found,) = functions_of(rows, SCHEMA, [TABLE])
    assert (found.database, found.schema, found.identifier) == ("spark_catalog", "s", "up_to")
    assert found.is_function
    assert show_functions_sql(SCHEMA) == "SHOW USER FUNCTIONS IN `spark_catalog`.`s`"


def test_a_relation_of_the_catalog_has_columns_and_figures():
    described = Description((("id", "int", "the id"), ("b", "string", None)), {"Comment": "c"})
    figures = [Figure("Last refresh", "never", "When it was.")]
    found = catalog_table(catalog_rows(TABLE, described, figures))
    assert (found.metadata.name, found.metadata.comment, found.metadata.owner) == (
        "Taxed",
        "c",
        None,
    )
    assert [(c.name, c.index, c.type, c.comment) for c in found.columns.values()] == [
        ("id", 0, "int", "the id"),
        ("b", 1, "string", None),
    ]
    assert found.stats["last_refresh"].value == "never"
    assert found.stats["has_stats"].value is True


def test_a_relation_without_columns_has_no_entry():
    assert catalog_table([]) is None


_DELTA = "Catalog: spark_catalog\nType: MANAGED\nProvider: delta\n"
_VIEW = "Type: VIEW\nView Text: select 1\n"


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
