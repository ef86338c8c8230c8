from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, ColumnSpec
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.resolution.columns import (
    content_query,
    query_positions,
    unstored_columns,
)
from tests.support.errors import raises
from tests.unit.builders import columns, conditions_of, context, resolve

QUERY_COLUMNS = "a INT; b DECIMAL(10,2); c STRING"


def spec(text):
    """`"a INT NOT NULL"` as an item of a column list."""
    name, *rest = text.split(" ", 1)
    type_ = rest[0].removesuffix(" NOT NULL") if rest else None
    return ColumnSpec(name, type_, not_null=text.endswith("NOT NULL"))


def definition(*specs, ddl=QUERY_COLUMNS, **facts):
    declared = DeclaredDefinition("SELECT 1", columns=tuple(spec(s) for s in specs))
    return resolve(declared, ddl, **facts)


def refused(*specs, ddl=QUERY_COLUMNS, **facts):
    with pytest.raises(MaterializedTableError) as caught:
        definition(*specs, ddl=ddl, **facts)
    return conditions_of(caught.value)


def test_without_a_list_the_columns_are_the_query_s_with_canonical_types():
    assert definition(ddl="a int; b decimal(10, 2)").columns == columns("a INT; b DECIMAL(10,2)")


def test_an_unknown_type_stays_as_spark_spells_it():
    assert definition(ddl="a $odd$").columns == (Column("a", "$odd$"),)


def test_bare_names_rename_by_position():
    assert definition("x", "y", "z").columns == columns("x INT; y DECIMAL(10,2); z STRING")


def test_a_typed_list_goes_by_name_and_gives_the_order():
    table = definition("C STRING", "a BIGINT NOT NULL", "b decimal(12,2)").columns
    assert table == (
        Column("C", "STRING"),
        Column("a", "BIGINT", nullable=False),
        Column("b", "DECIMAL(12,2)"),
    )


def test_a_typed_list_keeps_its_comments():
    declared = DeclaredDefinition("SELECT 1", columns=(ColumnSpec("a", "INT", comment="it's 😀"),))
    assert resolve(declared, "a INT").columns == (Column("a", "INT", comment="it's 😀"),)


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        (("x", "y"), ["MATERIALIZED_TABLE_COLUMN_LIST_LENGTH"]),
        (("x", "y", "X"), ["MATERIALIZED_TABLE_DUPLICATE_COLUMN"]),
        (("a INT", "b DECIMAL(10,2)"), ["MATERIALIZED_TABLE_COLUMN_NOT_LISTED"]),
        (
            ("a INT", "b DECIMAL(10,2)", "c STRING", "d INT"),
            ["MATERIALIZED_TABLE_COLUMN_NOT_IN_QUERY"],
        ),
        (("a SMALLINT", "b DECIMAL(10,2)", "c STRING"), ["MATERIALIZED_TABLE_COLUMN_TYPE"]),
        (("a WHAT IS", "b DECIMAL(10,2)", "c STRING"), ["MATERIALIZED_TABLE_UNKNOWN_TYPE"]),
        (
            ("a SMALLINT", "d INT"),
            [
                "MATERIALIZED_TABLE_COLUMN_TYPE",
                "MATERIALIZED_TABLE_COLUMN_NOT_IN_QUERY",
                "MATERIALIZED_TABLE_COLUMN_NOT_LISTED",
                "MATERIALIZED_TABLE_COLUMN_NOT_LISTED",
            ],
        ),
    ],
)
def test_lists_that_do_not_fit_are_refused_whole(specs, expected):
    assert refused(*specs) == expected


def test_both_types_are_named():
    with pytest.raises(MaterializedTableError) as caught:
        definition("a SMALLINT", "b DECIMAL(10,2)", "c STRING")
    assert caught.value.parameters == {
        "table": "spark_catalog.sales.high_value_orders",
        "column": "a",
        "listed": "SMALLINT",
        "actual": "INT",
        "instead": "List the column as INT, or CAST the column to SMALLINT in the query",
    }


@pytest.mark.parametrize(
    ("given", "listed", "followed"),
    [
        ("STRING", "CHAR(3)", "List the column as STRING"),
        ("STRING", "VARCHAR(3)", "List the column as STRING"),
        ("VARCHAR(5)", "VARCHAR(3)", "List the column as STRING"),
        ("ARRAY<STRING>", "ARRAY<CHAR(3)>", "List the column as ARRAY<STRING>"),
        ("INT", "CHAR(3)", "CAST the column to STRING in the query, and list it as STRING"),
        ("STRING", "INT", "CAST the column to INT in the query"),
        ("BIGINT", "INT", "List the column as BIGINT"),
    ],
)
def test_what_is_advised_about_a_type_can_be_done(given, listed, followed):
    """Spark casts to CHAR and VARCHAR by casting to STRING: that gives no column of such a type."""
    with raises(conditions.COLUMN_TYPE) as caught:
        definition(f"a {listed}", ddl=f"a {given}")
    assert followed in caught.value.parameters["instead"]
    cast = followed.partition("CAST the column to ")[2].partition(" in the query")[0]
    named = followed.partition("ist the column as ")[2] or followed.partition("list it as ")[2]
    assert definition(f"a {named or listed}", ddl=f"a {cast or given}").columns


def test_names_are_compared_without_case_unless_the_session_says_otherwise():
    assert refused(ddl="a INT; A INT") == ["MATERIALIZED_TABLE_DUPLICATE_COLUMN"]
    sensitive = context(caseSensitive="true")
    assert definition(ddl="a INT; A INT", context=sensitive).columns == columns("a INT; A INT")
    assert refused("B INT", ddl="b INT", context=sensitive) == [
        "MATERIALIZED_TABLE_COLUMN_NOT_IN_QUERY",
        "MATERIALIZED_TABLE_COLUMN_NOT_LISTED",
    ]


def test_a_listed_timestamp_is_the_session_s():
    session = context(timestampType="TIMESTAMP_NTZ")
    assert definition("a TIMESTAMP", ddl="a TIMESTAMP_NTZ", context=session).columns == columns(
        "a TIMESTAMP_NTZ"
    )
    assert refused("a TIMESTAMP", ddl="a TIMESTAMP", context=session) == [
        "MATERIALIZED_TABLE_COLUMN_TYPE"
    ]


@pytest.mark.parametrize(
    ("specs", "ddl", "select", "inner"),
    [
        ((), "a INT; b STRING", "`a`, `b`", ""),
        (
            ("x", "y"),
            "a INT; a INT",
            "`column_0` AS `x`, `column_1` AS `y`",
            "(`column_0`, `column_1`)",
        ),
        (
            ("B BIGINT", "a TIMESTAMP"),
            "a TIMESTAMP; b INT",
            "CAST(`b` AS BIGINT) AS `B`, CAST(`a` AS TIMESTAMP_LTZ) AS `a`",
            "",
        ),
        (("we`ird",), "a INT", "`a` AS `we``ird`", ""),
    ],
)
def test_any_form_of_the_query_is_put_into_the_table_s_columns(specs, ddl, select, inner):
    table = definition(*specs, ddl=ddl)
    body = "SELECT 1 -- no end"
    assert content_query(table, body) == f"SELECT {select} FROM (\n{body}\n) AS `_`{inner}"


@pytest.mark.parametrize(
    "type_",
    [
        *("INTERVAL DAY TO SECOND", "INTERVAL YEAR", "INTERVAL", "TIME(6)", "GEOMETRY(4326)"),
        *("STRUCT<>", "STRUCT<a: INT, b: STRUCT<>>", "ARRAY<STRUCT<>>", "STRUCT<a: VOID>"),
        *("ARRAY<VOID>", "MAP<STRING, VOID>", "ARRAY<STRUCT<a: INT, b: VOID>>"),
        *("MAP<STRING, INTERVAL DAY>", "STRING COLLATE UTF8_LCASE"),
        *("STRUCT<a: STRING COLLATE UNICODE_CI>", "MAP<STRING COLLATE UTF8_LCASE, INT>"),
    ],
)
def test_a_type_that_no_table_stores_is_refused_with_the_definition(type_):
    assert refused(ddl=f"id INT; x {type_}") == ["MATERIALIZED_TABLE_TYPE_NOT_STORED"]


@pytest.mark.parametrize(
    "type_",
    [
        *("VARIANT", "ARRAY<VARIANT>", "STRUCT<a: INT, b: VOID>", "VOID", "TIMESTAMP_NTZ"),
        *("CHAR(3)", "VARCHAR(4)", "MAP<STRING, ARRAY<STRUCT<a: DATE>>>", "$odd$"),
        "STRING COLLATE UTF8_BINARY",
    ],
)
def test_other_types_are_stored(type_):
    assert definition(ddl=f"id INT; x {type_}").columns[1] == Column("x", type_)


def test_a_result_of_nulls_without_a_type_is_refused_and_a_column_that_is_there_stays():
    assert set(refused(ddl="x VOID; y VOID")) == {"MATERIALIZED_TABLE_TYPE_NOT_STORED"}
    there = columns("a INTERVAL DAY; b TIME(6)")
    found = unstored_columns("t", columns("A INTERVAL DAY; b TIME(0); c INT"), there)
    assert [error.parameters["column"] for error in found] == ["b"]


def test_names_that_the_query_has_twice_are_matched_by_position():
    declared = DeclaredDefinition("SELECT 1")
    query = definition("x", "y", "z", ddl="a INT; c STRING; a STRING")
    found = replace(query, declared=declared)
    assert query_positions(found) == (0, 1, 2)
