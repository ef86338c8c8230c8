"""Functions in the listing of a schema, and a single relation of dbt's docs catalog."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.adapter.catalog import (
    Description,
    catalog_rows,
    catalog_table,
    format_of,
    functions_of,
    information_of,
    read_description,
    relation_of,
    relations_of,
    show_functions_sql,
    show_tables_sql,
    show_views_sql,
    views_of,
)
from dbt.adapters.spark_mt.execution.show import Figure
from dbt.adapters.spark_mt.relation import SparkMTRelation
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS

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


def test_functions_of_extensions_are_in_no_schema():
    assert list(functions_of([("table_changes",)], SCHEMA, [])) == []


def test_views_of_other_catalogs_are_listed():
    schema = SparkMTRelation.create(database="lake", schema="s")
    (found,) = views_of([("s", "v", False), ("", "of_the_session", True)], schema)
    assert (str(found), found.is_view) == ("lake.s.v", True)
    assert show_views_sql(schema) == "SHOW VIEWS IN `lake`.`s`"


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


def test_description_of_a_view_of_another_catalog():
    rows = [("id", "int", ""), ("", "", ""), ("# Detailed View Information", "", "")]
    found = read_description([*rows, ("Comment", "ours", "")])
    assert (found.columns, found.facts) == (
        (("id", "int", None),),
        {"Type": "VIEW", "Comment": "ours"},
    )


@pytest.mark.parametrize(
    "rows",
    [
        [
            ("# Partition Information", "", ""),
            ("# col_name", "data_type", "comment"),
            ("day", "date", None),
            ("k", "int", None),
        ],
        [("# Partitioning", "", ""), ("Part 0", "day", ""), ("Part 1", "k", "")],
    ],
)
def test_partitions_are_columns_or_functions_of_them(rows):
    described = [("day", "date", None), ("k", "int", None), ("", "", ""), *rows, ("", "", "")]
    assert read_description(described).partitioned_by == ("day", "k")


@pytest.mark.parametrize(("provider", "format_"), [("delta", "delta"), ("iceberg", "iceberg")])
def test_a_plain_table_has_a_format(provider, format_):
    path, information = ("c", "s", "t"), f"Type: MANAGED\nProvider: {provider}\n"
    assert format_of(relation_of(path, information, materialized=False)) is FORMATS.of(format_)
    assert format_of(relation_of(path, information, materialized=True)) is None
    assert format_of(relation_of(path, "Provider: parquet\n", materialized=False)) is None
