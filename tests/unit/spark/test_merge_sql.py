"""The text of the MERGE that brings touched keys up to date."""

from __future__ import annotations

from dataclasses import replace

import sqlglot

from dbt.adapters.spark_mt.definition.columns import Column, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.spark.commit import computed_rows, keys_query
from dbt.adapters.spark_mt.spark.delta.tables import merge_statement
from tests.unit.builders import QUERY, resolve, stored

KEY = ("user_id", "product_id")
DEFINITION = stored(resolve(DeclaredDefinition(QUERY, constraints=(PrimaryKey(KEY, None),))))


def test_keys_are_compared_with_null_and_taken_once():
    assert "UNION\n" in keys_query(["SELECT 1", "SELECT 2"], KEY)
    rows = computed_rows("SELECT 0", ["SELECT 1"], KEY)
    assert "c.`user_id` <=> k.`user_id` AND c.`product_id` <=> k.`product_id`" in rows


def test_the_statement_updates_only_what_differs():
    text = merge_statement(
        DEFINITION, "SELECT 0", keys_query(["SELECT 1"], KEY), adds_columns=False
    )
    assert sqlglot.parse_one(text, read="spark").key == "merge"
    assert "WHEN MATCHED AND NOT (t.`user_id` <=> s.`user_id`" in text
    assert "IS NULL THEN DELETE" in text


def test_columns_that_the_table_lacks_or_that_cannot_be_compared_are_always_written():
    text = merge_statement(DEFINITION, "SELECT 0", keys_query(["SELECT 1"], KEY), adds_columns=True)
    assert "AND NOT" not in text
    resolved = DEFINITION.resolved
    with_map = replace(resolved, columns=(*resolved.columns, Column("m", "MAP<STRING, INT>")))
    mapped = replace(DEFINITION, resolved=with_map)
    assert "AND NOT" not in merge_statement(
        mapped, "", keys_query(["SELECT 1"], KEY), adds_columns=False
    )
