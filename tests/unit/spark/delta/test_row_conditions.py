"""Conditions by which Delta skips files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.table_format import TableColumns
from dbt.adapters.spark_mt.spark.delta.row_conditions import Measured, Place, Ranges

NAME = TableName("t", "s", "c")
RANGED = TableColumns(
    NAME,
    ("n", "at", "s", "d", "x", "c"),
    types=("BIGINT", "TIMESTAMP", "STRING", "DECIMAL(10,2)", "DOUBLE", "STRING COLLATE UTF8_LCASE"),
)


def test_ranges_are_those_of_columns_whose_ends_are_exact_as_text():
    ranges = Ranges.of(RANGED)
    assert [own for own, _, _ in ranges.columns] == ["n", "at", "s", "d"]
    assert ranges.all_measures[:5] == (
        "max(typeof(`n`))",
        "count(`n`)",
        "CAST(min(`n`) AS STRING)",
        "CAST(max(`n`) AS STRING)",
        "approx_count_distinct(`n`)",
    )
    found = (
        *("bigint", 4, "-1", "3", 3),
        *("timestamp", 4, "0", "5", 4),
        *("string", 4, "a\n", "b", 2),
        *("decimal(10,2)", 4, "0.00", "1.50", 1),
    )
    measured = Measured(ranges, 4, found)
    ends = {
        "n": "CAST('-1' AS BIGINT)|CAST('3' AS BIGINT)",
        "at": "timestamp_micros(CAST('0' AS BIGINT))|timestamp_micros(CAST('5' AS BIGINT))",
        "s": "CAST('a\\n' AS STRING)|CAST('b' AS STRING)",
        "d": "CAST('0.00' AS DECIMAL(10,2))|CAST('1.50' AS DECIMAL(10,2))",
    }
    pairs = {name: each.split("|") for name, each in ends.items()}
    wanted = [
        f"t.`{name}` >= {low} AND t.`{name}` <= {high}" for name, (low, high) in pairs.items()
    ]
    assert measured.conditions("t.") == "".join(f" AND {each}" for each in wanted)
    place = measured.place
    assert (place.column, place.source, place.type) == ("at", "at", "TIMESTAMP")
    assert place.within == measured.conditions()


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (0, (0, None, None, 0)),
        (2, (1, "1", "1", 1)),
        (2, (0, None, None, 0)),
        (1, (1, "a", "b" * 201, 1)),
        (1, (1, "a'", "b", 1)),
        (1, (1, "a", "\\", 1)),
    ],
)
def test_a_column_without_rows_with_a_null_or_with_long_values_has_no_range(rows, found):
    table = TableColumns(NAME, ("s",), types=("STRING",))
    measured = Measured(Ranges.of(table), rows, ("string", *found))
    assert (measured.conditions(), measured.place) == ("", None)


@pytest.mark.parametrize(
    ("rows", "values", "lists"),
    [(2_000, 2_000, True), (2_000, 100, True), (2_000, 99, False), (2_001, 2_001, False)],
)
def test_a_list_is_of_few_values_which_few_rows_share(rows, values, lists):
    table = TableColumns(NAME, ("n",), types=("INT",))
    measured = Measured(Ranges.of(table), rows, ("int", rows, "1", "9", values))
    assert (measured.place is not None) == lists


def test_a_column_of_another_type_in_the_source_has_no_range():
    table = TableColumns(NAME, ("s",), types=("STRING",))
    assert Measured(Ranges.of(table), 2, ("int", 2, "2", "10", 2)).conditions() == ""
    assert Measured(Ranges.of(table), 2, ("string", 2, "10", "2", 2)).conditions()


def test_keys_have_ranges_by_their_names_in_the_source():
    ranges = Ranges.of(RANGED, {"N": "k0", "x": "k1"})
    assert ranges.columns == (("N", "k0", "BIGINT"),)
    measured = Measured(ranges, 1, ("bigint", 1, "7", "7", 1))
    assert measured.conditions("t.").startswith(" AND t.`N` >= ")
    assert (measured.place.column, measured.place.source) == ("N", "k0")
    assert Ranges.of(replace(RANGED, types=())).columns == ()


class Values:
    """A session that has some values of a column, as text."""

    def __init__(self, *texts):
        self.texts, self.asked = texts, ""

    def sql(self, text):
        self.asked = text
        return self

    def collect(self):
        return [(text,) for text in self.texts]


@pytest.mark.parametrize(
    ("type_", "texts", "condition"),
    [
        ("BIGINT", ("1", "-2"), "`c` IN (1L, -2L) AND more"),
        ("INT", ("1",), "`c` IN (1) AND more"),
        ("STRING", ("a", "b"), "`c` IN (CAST('a' AS STRING), CAST('b' AS STRING)) AND more"),
        ("TIMESTAMP", ("5",), "`c` IN (timestamp_micros(CAST('5' AS BIGINT))) AND more"),
        ("STRING", ("a", "it's"), ""),
        ("STRING", (), ""),
    ],
)
def test_a_condition_lists_values_that_are_literals(type_, texts, condition):
    session = Values(*texts)
    assert Place("c", "k", type_, " AND more").condition(session, "rows") == condition
    assert session.asked.endswith("FROM rows")
    assert "`k`" in session.asked
