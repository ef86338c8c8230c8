"""Splitting texts into statements, and asking what they would do."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.cli.sql import statements_of
from dbt.adapters.spark_mt.execution.alter import plannable
from dbt.adapters.spark_mt.execution.errors import NotPlannableError
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements.parser import parse_statement

CREATE = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS a"


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        (" ;; -- nothing; at all\n ; /* nor; here */", ()),
        ("SELECT 1", ("SELECT 1",)),
        ("SELECT 1;\nSELECT 2;\n", ("SELECT 1", "SELECT 2")),
        ("SELECT ';', \";\", `;` FROM t; SELECT 2", ("SELECT ';', \";\", `;` FROM t", "SELECT 2")),
        (r"SELECT 'it\';s'; SELECT 2", (r"SELECT 'it\';s'", "SELECT 2")),
        ("SELECT 'it'';s'; SELECT 2", ("SELECT 'it'';s'", "SELECT 2")),
        (r"SELECT r'\'; SELECT 2", (r"SELECT r'\'", "SELECT 2")),
        ("SELECT 1 -- one; two\n; SELECT 2", ("SELECT 1 -- one; two", "SELECT 2")),
        ("SELECT /* a /* b; */ c; */ 1; SELECT 2", ("SELECT /* a /* b; */ c; */ 1", "SELECT 2")),
        ("-- why;\nSELECT 1; SELECT 2", ("-- why;\nSELECT 1", "SELECT 2")),
        ("SELECT 'open; SELECT 2", ("SELECT 'open; SELECT 2",)),
        ("BEGIN SELECT 1; SELECT 2; END", ("BEGIN SELECT 1; SELECT 2; END",)),
        ("SELECT beginning; SELECT 2", ("SELECT beginning", "SELECT 2")),
    ],
)
def test_statements(text, statements):
    assert statements_of(text) == statements


@pytest.mark.parametrize("before", ["", "/* dbt */ ", "-- dbt\n", "EXPLAIN "])
def test_a_create_can_be_plannable(before):
    assert plannable(before + CREATE) == parse_statement(CREATE)


@pytest.mark.parametrize("what", ["AS SELECT 1", "SET FRESHNESS = INTERVAL '1' DAY", "RESET ('a')"])
def test_an_alter_of_a_definition_can_be_plannable(what):
    statement = f"ALTER MATERIALIZED TABLE t {what}"
    assert plannable(statement) == parse_statement(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SHOW MATERIALIZED TABLES",
        "DROP TABLE t",
        "DROP MATERIALIZED TABLE t",
        "ALTER MATERIALIZED TABLE t SUSPEND",
    ],
)
def test_others_define_nothing(statement):
    with pytest.raises(NotPlannableError) as caught:
        plannable(statement)
    assert caught.value.parameters["statement"] == statement


def test_a_slip_is_told_as_in_any_statement():
    with pytest.raises(StatementSyntaxError):
        plannable("CREATE MATERIALIZED TABLE t FRESHNESS INTERVAL '1' DAY AS SELECT 1")
