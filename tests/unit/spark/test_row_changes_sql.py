"""The text of the statements that remove and add single rows."""

from __future__ import annotations

import pytest
import sqlglot

from dbt.adapters.spark_mt.definition.columns import PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.execution.table_format import TableColumns
from dbt.adapters.spark_mt.planning.constraints import changed_duplicates_query
from dbt.adapters.spark_mt.spark.delta.row_changes import (
    bag_statement,
    copies_query,
    keyed_query,
    keyed_statement,
)
from dbt.adapters.spark_mt.spark.result_changes import TableChange
from tests.unit.builders import QUERY, resolve, stored

KEY = PrimaryKey(("user_id", "product_id"), None)
DEFINITION = stored(resolve(DeclaredDefinition(QUERY, constraints=(KEY,))))
TABLE = TableColumns.of(DEFINITION)
WITHOUT_KEY = stored(resolve(DeclaredDefinition(QUERY)))


def kind(text):
    return sqlglot.parse_one(text, read="spark").key


def test_copies_are_counted_by_all_columns():
    text = copies_query(TABLE, "SELECT 1")
    columns = [column.name for column in DEFINITION.resolved.columns]
    assert kind(text) == "select"
    assert all(f"t.`{name}` <=> r.`{name}`" in text for name in columns)


def test_rows_without_a_key_are_removed_with_their_copies():
    text = bag_statement(TABLE, "SELECT 1", "copies")
    assert kind(text) == "merge"
    assert "UPDATE" not in text
    assert text.count("FROM copies") == 2
    assert bag_statement(TABLE, "SELECT 1", "").count("copies") == 0


def test_a_row_to_be_removed_that_matches_nothing_fails_the_statement():
    for text in (
        bag_statement(TABLE, "SELECT 1", "copies"),
        keyed_statement(TABLE, "source", ("user_id",)),
    ):
        inserted = text.partition("VALUES (")[2]
        assert inserted.startswith("CASE WHEN s.__materialized_table_old THEN raise_error(")


def test_rows_with_a_key_are_updated():
    key = ("user_id", "product_id")
    query = keyed_query(TABLE, "SELECT 1", "SELECT 2", key)
    assert kind(query) == "select"
    assert "FULL OUTER JOIN" in query
    text = keyed_statement(TABLE, "source", key)
    assert kind(text) == "merge"
    on = text.partition("AS s ON ")[2].partition("\n")[0]
    assert on.count("<=>") == 2
    assert text.count("WHEN MATCHED") == 3


@pytest.mark.parametrize(
    ("unique_by", "keeps"),
    [((), False), (("user_id",), True), (("USER_ID", "product_id"), True), (("price",), False)],
)
def test_rows_that_are_unique_by_a_part_of_the_key_keep_it(unique_by, keeps):
    change = TableChange("SELECT 1", "", unique_by)
    assert change.keeps_key(KEY) is keeps
    assert change.keeps_key(None)


def test_keys_that_the_table_would_have_twice_are_looked_for():
    resolved = DEFINITION.resolved
    text = changed_duplicates_query("SELECT 1", "SELECT 2", resolved, "t")
    assert kind(text) == "select"
    assert ("-1 FROM" in text, text.count("UNION ALL")) == (True, 2)
    assert "-1 FROM" not in changed_duplicates_query("SELECT 1", "", resolved, "t")
    assert changed_duplicates_query("SELECT 1", "", WITHOUT_KEY.resolved, "t") is None
