"""Asking what statements would do."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import NotPlannableError, StatementSyntaxError
from dbt.adapters.spark_mt.execution.alter import plannable
from dbt.adapters.spark_mt.statements.parser import parse_statement

CREATE = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS a"


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


def test_a_syntax_error_is_reported_as_in_any_statement():
    with pytest.raises(StatementSyntaxError):
        plannable("CREATE MATERIALIZED TABLE t FRESHNESS INTERVAL '1' DAY AS SELECT 1")
