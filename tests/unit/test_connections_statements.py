"""Statements of models: a typed call with the events, errors and comment of any other statement."""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from dbt.adapters.events.types import ConnectionUsed, SQLQuery, SQLQueryStatus
from dbt.adapters.sql import connections as sql_connections
from dbt_common.exceptions import DbtDatabaseError  # noqa: TID251 - what dbt expects
from google.protobuf.json_format import MessageToDict

from dbt.adapters.spark_mt import connections
from dbt.adapters.spark_mt.adapter.config import ModelSettings
from dbt.adapters.spark_mt.adapter.materialization import decide
from dbt.adapters.spark_mt.connections import SparkMTConnectionManager
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.execution.results import (
    Action,
    AdoptionTerms,
    StatementOutcome,
    StatementResult,
)
from dbt.adapters.spark_mt.handle import Cursor
from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.adapters.spark_mt.relation import SparkMTRelation
from dbt.adapters.spark_mt.statements.parser import ParsedStatement
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, prepare

TEXT = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS n"
COMMENTED = f"/* by dbt */\n{TEXT}"
OUTCOME = StatementOutcome("t", Action.CREATED)
MODEL = SparkMTRelation.create(database="spark_catalog", schema="default", identifier="t")


class Tables:
    """The facade of a connection, which records what reaches it."""

    def __init__(self) -> None:
        self.given: list[tuple] = []
        self.error: Exception | None = None

    def materialize(self, statement, **how):
        self.given.append((statement, how))
        if self.error is not None:
            raise self.error
        return OUTCOME

    def execute(self, statement):
        self.given.append((statement, {}))
        return StatementResult((), (), OUTCOME)


class Adapter(SparkMTAdapter):
    """The adapter on the connections of a test."""

    def __init__(self, connections) -> None:
        self.connections = connections


@pytest.fixture
def tables():
    return Tables()


@pytest.fixture
def world(monkeypatch, tables):
    """A connection manager, and the events that it and dbt fire."""

    @contextmanager
    def busy(*, with_metadata=False):
        events.append(f"busy {with_metadata}")
        yield
        events.append("idle")

    events = []
    handle = SimpleNamespace(busy=busy, tables=lambda: tables)
    handle.cursor = lambda: Cursor(handle)
    monkeypatch.setattr(connections, "_open_handle", lambda *_: handle)
    for module in (connections, sql_connections):
        monkeypatch.setattr(module, "fire_event", events.append)
    manager = SparkMTConnectionManager(
        SimpleNamespace(credentials=SimpleNamespace()), multiprocessing.get_context("spawn")
    )
    manager.query_header = SimpleNamespace(add=lambda sql: f"/* by dbt */\n{sql}")
    manager.set_connection_name("model")
    return SimpleNamespace(manager=manager, events=events)


def without_times(events):
    """Events and their fields, without the time that a statement took."""
    found = []
    for event in events:
        fields = {} if isinstance(event, str) else MessageToDict(event.pb_msg)
        fields.pop("elapsed", None)
        found.append((event if isinstance(event, str) else type(event), fields))
    return found


def test_a_typed_statement_has_the_events_of_any_other(world):
    world.manager.execute(TEXT)
    expected, world.events[:] = without_times(world.events), []
    response = world.manager.materialize(ParsedStatement.of(TEXT))
    assert without_times(world.events) == expected
    kinds = [type(event) for event in world.events if not isinstance(event, str)]
    assert kinds == [ConnectionUsed, SQLQuery, SQLQueryStatus]
    query = next(event for event in world.events if isinstance(event, SQLQuery))
    assert (query.sql, query.conn_name) == (COMMENTED, "model")
    assert (str(response), response.action) == ("CREATED", "CREATED")


def test_the_statement_reaches_the_engine_with_its_terms_and_without_the_comment(world, tables):
    terms = AdoptionTerms(if_equal=True)
    parsed = ParsedStatement.of(TEXT)
    world.manager.materialize(parsed, refresh="never", adopt=terms)
    assert tables.given == [(parsed, {"refresh": "never", "adopt": terms})]


def test_a_comment_after_the_statement_is_no_part_of_the_query(world, monkeypatch):
    """dbt's comment has its version, and may have the id of the run."""
    memory = MemoryTables()
    prepare(memory)
    handle = world.manager.get_thread_connection().handle
    monkeypatch.setattr(handle, "tables", lambda: TableOperations(memory.environment))
    settings = ModelSettings()
    adapter = Adapter(world.manager)
    actions = []
    for existing, run in ((None, 1), (MODEL.as_table(), 2)):
        world.manager.query_header = SimpleNamespace(add=lambda sql, n=run: f"{sql}\n/* run {n} */")
        decision = decide(MODEL, existing, settings, full_refresh=False)
        statement = f"create or alter materialized table t as {SUMS}"
        actions.append(adapter.materialize(decision, statement, settings, SUMS).action)
    assert actions == ["CREATED", "UNCHANGED"]
    assert memory.stored("t").definition.declared.query == SUMS


def test_a_syntax_error_names_the_line_of_the_statement_and_not_of_the_comment(world, tables):
    """dbt-core issue 11074: the comment is a line before the statement in `target/run`."""
    settings = ModelSettings()
    decision = decide(MODEL, None, settings, full_refresh=False)
    statement = "create or alter materialized table t\nfreshness interval '1' day\nas select 1"
    with pytest.raises(DbtDatabaseError, match=r"MISSING_EQUALS.*line 2, column 11"):
        Adapter(world.manager).materialize(decision, statement, settings, "select 1")
    assert tables.given == []


def test_an_error_of_a_statement_is_one_of_dbt(world, tables):
    tables.error = conditions.ALREADY_EXISTS(table="t")
    with pytest.raises(DbtDatabaseError, match="MATERIALIZED_TABLE_ALREADY_EXISTS"):
        world.manager.materialize(ParsedStatement.of(TEXT))
    assert [type(event) for event in world.events if not isinstance(event, str)] == [
        ConnectionUsed,
        SQLQuery,
    ]
