"""Rows of a statement about materialized tables, as a cursor hands them out."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.execution.results import ResultColumn, StatementResult
from dbt.adapters.spark_mt.handle import Cursor

ROWS = (("a",), ("b",), ("c",))


@pytest.fixture
def cursor():
    result = StatementResult((ResultColumn("name", "string"),), ROWS)
    handle = SimpleNamespace(
        busy=lambda **_: nullcontext(),
        tables=lambda: SimpleNamespace(execute=lambda _: result),
    )
    made = Cursor(handle)
    made.execute("SHOW MATERIALIZED TABLES")
    return made


def test_every_row_is_fetched_once(cursor):
    assert cursor.fetchall() == list(ROWS)
    assert cursor.fetchall() == []
    assert cursor.fetchone() is None


def test_one_row_then_the_rest(cursor):
    assert cursor.fetchone() == ROWS[0]
    assert cursor.fetchall() == list(ROWS[1:])


def test_a_statement_that_is_executed_again_has_its_rows_again(cursor):
    cursor.fetchall()
    cursor.execute("SHOW MATERIALIZED TABLES")
    assert cursor.fetchmany(2) == list(ROWS[:2])
