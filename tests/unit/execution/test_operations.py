"""The facade on tables in memory: a definition and its refresh in one call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.errors import NotPlannableError, StreamsOverConnectError
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.results import (
    Action,
    RefreshOutcome,
    RefreshResult,
    StatementOutcome,
    StatementResult,
)
from dbt.adapters.spark_mt.planning.explain import Verdict
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, prepare

STATEMENT = f"CREATE OR ALTER MATERIALIZED TABLE t REFRESH_MODE = FULL AS {SUMS}"
CHANGED = STATEMENT.replace("REFRESH_MODE", "FRESHNESS = INTERVAL '2' HOUR REFRESH_MODE")


class Counting:
    """An analyzer, or a store, that counts how often it is asked."""

    def __init__(self, port) -> None:
        self.port = port
        self.counted_call: list[str] = []

    def __getattr__(self, name):
        found = getattr(self.port, name)

        def counted_call(*args, **named):
            self.counted_call.append(name)
            return found(*args, **named)

        return counted_call if callable(found) else found


@pytest.fixture
def tables():
    tables = MemoryTables()
    prepare(tables)
    return tables


def operations(tables, relay=None, **ports):
    return TableOperations(replace(tables.environment, **ports), relay)


def sell(tables):
    tables.append("orders", [(1, "2026-03-01", 100)])


def test_it_creates_and_fills(tables):
    outcome = operations(tables).materialize(STATEMENT)
    assert outcome.action is Action.CREATED
    assert outcome.refresh.status is RefreshResult.REFRESHED
    assert tables.rows("t")


def test_an_unchanged_table_is_examined_once(tables):
    operations(tables).materialize(STATEMENT)
    store, stored = (
        Counting(tables.environment.store),
        Counting(tables.environment.stored_analyzer),
    )
    outcome = operations(tables, store=store, stored_analyzer=stored).materialize(STATEMENT)
    assert (outcome.action, outcome.refresh.status) == (Action.UNCHANGED, RefreshResult.UP_TO_DATE)
    assert store.counted_call.count("find") == 1
    assert stored.counted_call == []


def test_sources_that_moved_are_read_by_the_same_call(tables):
    operations(tables).materialize(STATEMENT)
    before = tables.rows("t")
    sell(tables)
    outcome = operations(tables).materialize(STATEMENT)
    assert (outcome.action, outcome.refresh.status) == (Action.UNCHANGED, RefreshResult.REFRESHED)
    assert tables.rows("t") != before


def test_a_writer_who_was_first_is_seen_by_the_second_attempt(tables):
    """What the statement found is used once: the next attempt looks at the table again."""
    operations(tables).materialize(STATEMENT)
    sell(tables)

    class Losing:
        lost = False

        def __init__(self, runner):
            self.runner = runner

        def run(self, step):
            if not self.lost:
                self.lost = True
                tables.execute("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '7' HOUR")
                raise CommitConflictError(table="t")
            return self.runner.run(step)

        def undo(self, step):
            self.runner.undo(step)

    runner = Losing(tables.environment.runner)
    outcome = operations(tables, runner=runner).materialize(STATEMENT)
    assert outcome.refresh.status is RefreshResult.REFRESHED
    assert tables.stored("t").definition.resolved.freshness.sql == "INTERVAL '7' HOUR"


def test_rows_are_left_to_others(tables):
    operations(tables).materialize(STATEMENT)
    before = tables.rows("t")
    sell(tables)
    outcome = operations(tables).materialize(STATEMENT, refresh="never")
    assert (outcome.action, outcome.refresh) == (Action.UNCHANGED, None)
    assert tables.rows("t") == before


def test_always_computes_rows_of_sources_that_have_not_moved(tables):
    operations(tables).materialize(STATEMENT)
    outcome = operations(tables).materialize(STATEMENT, refresh="always")
    assert outcome.refresh.status is RefreshResult.REFRESHED


def test_a_suspended_table_is_altered_and_its_rows_stay(tables):
    ours = operations(tables)
    ours.materialize(STATEMENT)
    before = tables.rows("t")
    ours.suspend("t")
    sell(tables)
    outcome = ours.materialize(CHANGED)
    assert (outcome.action, outcome.status, outcome.refresh) == (Action.ALTERED, "SUSPENDED", None)
    assert tables.rows("t") == before
    assert ours.resume("t").refresh.status is RefreshResult.REFRESHED


def test_a_definition_that_changes_no_rows_is_refreshed_too(tables):
    operations(tables).materialize(STATEMENT)
    sell(tables)
    outcome = operations(tables).materialize(CHANGED)
    assert outcome.action is Action.ALTERED
    assert outcome.refresh.status is RefreshResult.REFRESHED


def test_an_adopted_table_keeps_its_rows(tables):
    tables.source("kept", "k INT; total BIGINT", [(8, 800)])
    statement = STATEMENT.replace("TABLE t", "TABLE kept")
    planned = operations(tables).plan(statement, adopting=True)
    assert planned.changes == ("table adopted",)
    assert operations(tables).plan(statement).verdict is Verdict.REFUSED
    outcome = operations(tables).materialize(statement, adopting=True)
    assert (outcome.action, outcome.refresh) == (Action.ADOPTED, None)
    assert tables.rows("kept") == [(8, 800)]


def relayed(sent, *, refreshes=True):
    """A relay that records what it is sent."""

    def relay(statement):
        sent.append(statement)
        refresh = RefreshOutcome("r", "t", "s", RefreshResult.REFRESHED, 1, (), (), (), 1)
        outcome = StatementOutcome("t", Action.CREATED, refresh=refresh if refreshes else None)
        return StatementResult((), (), outcome)

    return relay


class NoStreams:
    """Carries out no step: each would need a stream."""

    def run(self, _):
        raise StreamsOverConnectError(table="t", reason="a log")

    def undo(self, step):
        pass


def test_what_needs_a_stream_is_carried_out_where_one_runs(tables):
    sent = []
    ours = operations(tables, relayed(sent), runner=NoStreams())
    assert ours.materialize(STATEMENT).action is Action.CREATED
    assert ours.execute(STATEMENT).outcome.action is Action.CREATED
    assert sent == [STATEMENT, STATEMENT]


def test_a_refresh_that_needs_a_stream_is_carried_out_where_one_runs(tables):
    operations(tables).materialize(STATEMENT)
    sell(tables)
    sent = []
    outcome = operations(tables, relayed(sent), runner=NoStreams()).materialize(STATEMENT)
    assert (outcome.action, outcome.refresh.rows) == (Action.UNCHANGED, 1)
    assert sent == ["ALTER MATERIALIZED TABLE `spark_catalog`.`default`.`t` REFRESH"]


def test_without_a_relay_the_error_stays(tables):
    with pytest.raises(StreamsOverConnectError):
        operations(tables, runner=NoStreams()).materialize(STATEMENT)


def test_other_statements_cannot_be_planned_or_materialized(tables):
    with pytest.raises(NotPlannableError):
        operations(tables).plan("DROP MATERIALIZED TABLE t")
    with pytest.raises(TypeError):
        operations(tables).materialize("DROP MATERIALIZED TABLE t")
    assert operations(tables).execute("SELECT 1") is None


def test_a_plan_names_the_violations_of_a_refused_statement(tables):
    found = operations(tables).plan(STATEMENT.replace(SUMS, "SELECT nothing"))
    assert found.verdict is Verdict.REFUSED
    assert not operations(tables).is_materialized(TableName("t"))
