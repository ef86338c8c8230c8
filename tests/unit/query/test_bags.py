"""The text of comparisons of rows as bags."""

from __future__ import annotations

import pytest
import sqlglot

from dbt.adapters.spark_mt.query.bags import (
    BagColumn,
    difference_query,
    same_row,
    weighted_query,
    with_weights,
)

EXACT, FLOAT = BagColumn.of("`a`", "BIGINT"), BagColumn.of("`b`", "DOUBLE")


@pytest.mark.parametrize(
    ("type_", "exact"),
    [
        ("STRING", True),
        ("STRUCT<float: INT>", True),
        ("FLOAT", False),
        ("ARRAY<STRUCT<x: DOUBLE>>", False),
        ("", False),
    ],
)
def test_values_that_are_equal_are_the_same_unless_they_have_floating_point_numbers(type_, exact):
    assert BagColumn.of("`c`", type_).exact is exact


def test_floating_point_numbers_are_compared_by_their_texts_too():
    assert same_row([EXACT], "t", "s") == "t.`a` <=> s.`a`"
    text = "CAST(t.`b` AS STRING) <=> CAST(s.`b` AS STRING)"
    assert same_row([EXACT, FLOAT], "t", "s") == f"t.`a` <=> s.`a` AND t.`b` <=> s.`b` AND {text}"


def test_values_are_taken_from_a_row_where_grouping_changes_them():
    text = weighted_query([EXACT, FLOAT], "SELECT 1", "`w`")
    assert text.startswith("SELECT `a`, any_value(`b`) AS `b`, sum(`w`) AS `w` FROM (")
    assert text.endswith("GROUP BY `a`, `b`, CAST(`b` AS STRING) HAVING sum(`w`) <> 0")
    assert "any_value" not in weighted_query([EXACT], "SELECT 1", "`w`")


def test_a_difference_has_each_row_as_often_as_it_is_missing():
    text = difference_query([EXACT], "SELECT 1 AS a", "SELECT 2 AS a")
    assert sqlglot.parse_one(text, read="spark").key == "select"
    assert ("> 0" in text, "EXCEPT" in text) == (True, False)


def test_rows_of_two_queries_have_opposite_weights():
    text = with_weights("SELECT 1", "SELECT 2", "`w`")
    assert text.index("1L AS `w`") < text.index("SELECT 1")
    assert text.index("-1L AS `w`") < text.index("SELECT 2")


def test_a_query_without_rows_is_left_out():
    assert with_weights("SELECT 1", "", "w") == "SELECT *, 1L AS w FROM (\nSELECT 1\n)"
    assert with_weights("", "SELECT 1", "w") == "SELECT *, -1L AS w FROM (\nSELECT 1\n)"
