"""Rows of a statement about materialized tables, as a cursor hands them out."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt expects of a cursor

from dbt.adapters.spark_mt import api
from dbt.adapters.spark_mt.execution.leases import LeaseCache
from dbt.adapters.spark_mt.execution.results import ResultColumn, StatementResult
from dbt.adapters.spark_mt.handle import Cursor, SparkHandle
from dbt.adapters.spark_mt.statements.parser import ParsedStatement
from tests.support.parses import counted_parses

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


@pytest.mark.parametrize("sql", ["SHOW MATERIALIZED TABLES", "select 1"])
def test_a_cursor_parses_a_statement_once(monkeypatch, sql):
    done = []
    handle = SimpleNamespace(
        busy=lambda **_: nullcontext(),
        tables=lambda: SimpleNamespace(execute=done.append),
        spark=SimpleNamespace(sql=done.append),
    )
    parses = counted_parses(monkeypatch)
    Cursor(handle).execute(sql)
    is_ours = sql != "select 1"
    assert parses == ([sql] if is_ours else [])
    assert done == [ParsedStatement.of(sql) if is_ours else sql]


def test_a_cursor_takes_no_bindings():
    with pytest.raises(DbtRuntimeError, match="bindings"):
        Cursor(SimpleNamespace()).execute("select ?", [1])


def test_the_tables_of_a_connection_share_what_is_known_of_managers(monkeypatch):
    cache = LeaseCache()
    monkeypatch.setattr(api, "MaterializedTables", lambda _, **given: given)
    assert SparkHandle(None, lease_cache=cache).tables()["lease_cache"] is cache
