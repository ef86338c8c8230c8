"""The text of the statements that remove and add single rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlglot

from dbt.adapters.spark_mt.definition.columns import Column, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.execution.table_format import TableColumns
from dbt.adapters.spark_mt.planning.constraints import changed_duplicates_query
from dbt.adapters.spark_mt.spark.query import row_merges
from dbt.adapters.spark_mt.spark.tables.result_changes import TableChange
from tests.unit.builders import QUERY, resolve, stored

KEY = PrimaryKey(("user_id", "product_id"), None)
DEFINITION = stored(resolve(DeclaredDefinition(QUERY, constraints=(KEY,))))
TABLE = TableColumns.of(DEFINITION)
WITHOUT_KEY = stored(resolve(DeclaredDefinition(QUERY)))


def kind(text):
    return sqlglot.parse_one(text, read="spark").key


def test_copies_are_counted_by_all_columns():
    text = row_merges.copies_query(TABLE, "SELECT 1")
    columns = [column.name for column in DEFINITION.resolved.columns]
    assert kind(text) == "select"
    assert all(f"t.`{name}` <=> r.`{name}`" in text for name in columns)


def test_rows_without_a_key_are_removed_with_their_copies():
    text = row_merges.bag_statement(TABLE, "source")
    assert kind(text) == "merge"
    assert "UPDATE" not in text
    assert row_merges.bag_query(TABLE, "SELECT 1", "copies").count("FROM copies") == 2
    assert row_merges.bag_query(TABLE, "SELECT 1", "").count("copies") == 0


def test_a_row_to_be_removed_that_matches_nothing_fails_the_statement():
    inserted = row_merges.bag_statement(TABLE, "source").partition("VALUES (")[2]
    assert inserted.startswith("CASE WHEN s.__materialized_table_old THEN raise_error(")


RANGED = TableColumns(
    DEFINITION.name,
    ("n", "at", "s", "d", "x", "c"),
    types=("BIGINT", "TIMESTAMP", "STRING", "DECIMAL(10,2)", "DOUBLE", "STRING COLLATE UTF8_LCASE"),
)


def test_all_statements_read_the_ranges_of_the_table_only():
    within = " AND t.`n` BETWEEN 1 AND 2"
    texts = (
        row_merges.copies_query(RANGED, "SELECT 1", within),
        row_merges.bag_statement(RANGED, "source", within),
        row_merges.keyed_statement(RANGED, ("n",), "source", within, adds_columns=False),
    )
    assert [text.count(f"{within}\n") for text in texts] == [1, 1, 1]
    assert all(kind(text) in ("select", "merge") for text in texts)


def test_keys_are_compared_with_null_and_taken_once():
    key = ("user_id", "product_id")
    assert "UNION\n" in row_merges.keys_query(["SELECT 1", "SELECT 2"], key)
    rows = row_merges.computed_rows("SELECT 0", ["SELECT 1"], key)
    assert "c.`user_id` <=> k.`user_id` AND c.`product_id` <=> k.`product_id`" in rows


def test_rows_with_a_map_cannot_be_compared():
    resolved = DEFINITION.resolved
    with_map = replace(resolved, columns=(*resolved.columns, Column("m", "MAP<STRING, INT>")))
    assert TABLE.comparable
    assert not TableColumns.of(replace(DEFINITION, resolved=with_map)).comparable


def test_keys_without_a_row_are_named_too():
    query = row_merges.keyed_query(("user_id", "product_id"), "SELECT 1", "SELECT 2")
    assert kind(query) == "select"
    assert ("LEFT JOIN" in query, query.count("<=>")) == (True, 2)


@pytest.mark.parametrize(
    ("table", "adds_columns", "compares"),
    [
        (TABLE, False, True),
        (TABLE, True, False),
        (replace(TABLE, comparable=False), False, False),
    ],
)
def test_rows_of_a_key_are_updated_where_they_differ(table, adds_columns, compares):
    key = ("user_id", "product_id")
    text = row_merges.keyed_statement(table, key, "source", adds_columns=adds_columns)
    assert kind(text) == "merge"
    on = text.partition("AS s ON ")[2].partition("\n")[0]
    assert on.count("<=>") == 2
    assert text.count("WHEN MATCHED") == 2
    assert ("AND NOT" in text) is compares


@pytest.mark.parametrize(
    ("unique_by", "keeps"),
    [((), False), (("user_id",), True), (("USER_ID", "product_id"), True), (("price",), False)],
)
def test_rows_that_are_unique_by_a_part_of_the_key_keep_it(unique_by, keeps):
    change = TableChange("SELECT 1", "", unique_by)
    assert change.keeps_key(KEY) is keeps
    assert change.keeps_key(None)


def test_keys_that_the_table_would_have_twice_are_searched():
    resolved = DEFINITION.resolved
    text = changed_duplicates_query("SELECT 1", "SELECT 2", resolved, "t")
    assert kind(text) == "select"
    assert ("-1 FROM" in text, text.count("UNION ALL")) == (True, 2)
    assert "-1 FROM" not in changed_duplicates_query("SELECT 1", "", resolved, "t")
    assert changed_duplicates_query("SELECT 1", "", WITHOUT_KEY.resolved, "t") is None


def test_no_condition_of_a_clause_is_null():
    """A row for which a condition is NULL is one that no clause fits."""
    text = row_merges.keyed_statement(TABLE, ("user_id",), "source", adds_columns=False)
    conditions = [line for line in text.splitlines() if line.startswith("WHEN")]
    found = [line.partition(" AND ")[2].partition(" THEN")[0] for line in conditions]
    assert found[0] == "s.__materialized_table_present IS NULL"
    assert found[2] == "s.__materialized_table_present IS NOT NULL"
    assert found[1].startswith("NOT (t.")
    comparisons = sqlglot.parse_one(found[1], read="spark").find_all(sqlglot.exp.Binary)
    assert {type(each).__name__ for each in comparisons} <= {"And", "NullSafeEQ", "Dot"}


def test_char_is_compared_as_it_is_read():
    table = TableColumns(TABLE.name, ("c", "v", "n"), types=("CHAR(3)", "VARCHAR(4)", "INT"))
    text = row_merges.keyed_statement(table, ("c", "v"), "source", adds_columns=False)
    on = text.partition("AS s ON ")[2].partition("\n")[0]
    assert on == (
        "rpad(t.`c`, 3, ' ') <=> rpad(s.__materialized_table_key_0, 3, ' ') "
        "AND t.`v` <=> s.__materialized_table_key_1"
    )
    removed = row_merges.copies_query(table, "SELECT 1")
    assert "rpad(t.`c`, 3, ' ') <=> rpad(r.`c`, 3, ' ')" in removed
    assert removed.endswith("GROUP BY rpad(`c`, 3, ' '), `v`, `n`")
    assert "SELECT rpad(`c`, 3, ' ') AS `c`, `v`, `n`, sum(" in removed
