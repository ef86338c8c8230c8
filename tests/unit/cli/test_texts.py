"""Splitting texts into statements, and asking what they would do."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.cli_statements import explaining, statements_of
from dbt.adapters.spark_mt.service.errors import NotPlannableError
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError, UnsupportedExplainError

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


@pytest.mark.parametrize("before", ["", "/* dbt */ ", "-- dbt\n"])
def test_a_create_is_explained(before):
    assert explaining(before + CREATE) == f"EXPLAIN {CREATE}"


def test_an_explain_stays():
    assert explaining(f"EXPLAIN {CREATE}") == f"EXPLAIN {CREATE}"


@pytest.mark.parametrize("statement", ["SELECT 1", "SHOW MATERIALIZED TABLES", "DROP TABLE t"])
def test_others_define_nothing(statement):
    with pytest.raises(NotPlannableError) as caught:
        explaining(statement)
    assert caught.value.parameters["statement"] == statement


def test_other_statements_of_ours_are_named():
    with pytest.raises(UnsupportedExplainError):
        explaining("ALTER MATERIALIZED TABLE t SUSPEND")


def test_a_slip_is_told_as_in_any_statement():
    with pytest.raises(StatementSyntaxError):
        explaining("CREATE MATERIALIZED TABLE t FRESHNESS INTERVAL '1' DAY AS SELECT 1")
