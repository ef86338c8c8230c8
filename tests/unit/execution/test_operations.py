"""The facade on tables in memory: a definition and its refresh in one call."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import get_args

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, NotPlannableError
from dbt.adapters.spark_mt.execution.operations import _CARRY_OUT, TableOperations, executed
from dbt.adapters.spark_mt.execution.results import (
    Action,
    AdoptionTerms,
    RefreshResult,
    RelayedStatement,
)
from dbt.adapters.spark_mt.planning.explain import Verdict
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE
from dbt.adapters.spark_mt.statements.nodes import Statement
from dbt.adapters.spark_mt.statements.parser import ParsedStatement
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import DAILY, DAY_1, DAY_2, SUMS, create, prepare
from tests.support.errors import raises
from tests.support.parses import counted_parses

STATEMENT = f"CREATE OR ALTER MATERIALIZED TABLE t REFRESH_MODE = FULL AS {SUMS}"
DAY_BY_DAY = (
    "PARTITIONED BY (day) WITH ('partition.fields.day.date-formatter' = 'yyyy-MM-dd') "
    "FRESHNESS = INTERVAL '1' DAY"
)
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


@pytest.mark.parametrize(
    "act",
    [
        lambda o: o.materialize(STATEMENT),
        lambda o: o.execute(STATEMENT),
        lambda o: o.materialize(STATEMENT, adopt=AdoptionTerms(if_equal=True)),
        lambda o: o.adopt(STATEMENT),
        lambda o: o.plan(STATEMENT),
        lambda o: o.plan(STATEMENT, adopt=AdoptionTerms()),
        lambda o: o.refresh("t"),
        lambda o: o.refresh("t", scheduled_at=datetime(2026, 3, 2, tzinfo=timezone.utc)),
        lambda o: o.refresh("t", scheduled_at=datetime(2026, 3, 2)),  # noqa: DTZ001 - in the table's zone
        lambda o: o.execute("ALTER MATERIALIZED TABLE t REFRESH"),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_a_statement_or_refresh_loads_its_table_once(tables, act, moved):
    operations(tables).materialize(STATEMENT)
    if moved:
        sell(tables)
    store = Counting(tables.environment.store)
    act(operations(tables, store=store))
    assert store.counted_call.count("find") == 1


def test_a_scheduled_refresh_of_partitions_loads_its_table_once(tables):
    create(tables, DAILY, DAY_BY_DAY)
    tables.append("orders", [(1, DAY_1, 1), (1, DAY_2, 1)])
    store = Counting(tables.environment.store)
    due = datetime.fromisoformat(f"{DAY_2} 00:00")
    done = operations(tables, store=store).refresh("t", scheduled_at=due)
    assert done.partitions == (f"day='{DAY_1}'",)
    assert store.counted_call.count("find") == 1


def test_a_scheduled_time_without_a_zone_is_in_the_zone_of_the_table(tables):
    """The second run is skipped by what the first one found: it has the same scheduled time."""
    tables.memory.context = replace(
        tables.memory.context, confs=((SESSION_TIME_ZONE, "America/New_York"),)
    )
    ours, recorded = operations(tables), tables.memory.log
    ours.materialize(STATEMENT)
    for _ in range(2):
        ours.refresh("t", scheduled_at=datetime(2026, 3, 2))  # noqa: DTZ001 - in the table's zone
    midnight = datetime(2026, 3, 2, 5, tzinfo=timezone.utc)
    runs = [job for job in recorded.jobs("spark_catalog", 0) if job.scheduled_at_ms is not None]
    assert [job.scheduled_at_ms for job in runs] == [int(midnight.timestamp() * 1000)] * 2


@pytest.mark.parametrize(
    "act",
    [
        lambda o, text: o.execute(text),
        lambda o, text: o.materialize(text),
        lambda o, text: o.materialize(text, adopt=AdoptionTerms()),
        lambda o, text: o.plan(text),
        lambda o, text: o.plan(text, adopt=AdoptionTerms()),
        lambda o, text: o.explain(text),
        lambda o, text: o.validate(text),
        lambda o, text: o.validate(text, adopt=AdoptionTerms()),
        lambda o, text: o.keep_configuration(text),
        lambda o, text: o.adopt(text),
    ],
)
def test_a_statement_is_parsed_once(tables, monkeypatch, act):
    operations(tables).materialize(STATEMENT)
    parses = counted_parses(monkeypatch)
    act(operations(tables), CHANGED)
    assert parses == [CHANGED]


def test_a_parsed_statement_is_not_parsed_again(tables, monkeypatch):
    parsed = ParsedStatement.of(STATEMENT)
    parses = counted_parses(monkeypatch)
    ours = operations(tables)
    ours.validate(parsed)
    ours.plan(parsed)
    ours.materialize(parsed)
    ours.materialize(ours.keep_configuration(ParsedStatement.of(CHANGED)).parsed)
    ours.execute(parsed)
    assert parses == [CHANGED]


def test_a_statement_is_parsed_once_in_each_process(tables, monkeypatch):
    driver = Driver(operations(tables))
    parses = counted_parses(monkeypatch)
    operations(tables, driver).materialize(STATEMENT)
    assert parses == [STATEMENT, STATEMENT]


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
                raise conditions.CONCURRENT_CHANGE(table="t")
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
    planned = operations(tables).plan(statement, adopt=AdoptionTerms())
    assert planned.changes == ("table adopted",)
    assert operations(tables).plan(statement).verdict is Verdict.REFUSED
    outcome = operations(tables).materialize(statement, adopt=AdoptionTerms())
    assert (outcome.action, outcome.refresh) == (Action.ADOPTED, None)
    assert tables.rows("kept") == [(8, 800)]


class Driver:
    """A relay to operations in a driver, which records what it is sent."""

    def __init__(self, operations):
        self.operations = operations
        self.sent = []
        self.cancelled = 0

    def __call__(self, statement):
        self.sent.append(statement)
        return executed(ParsedStatement.of(statement.text), statement, self.operations)

    def names(self, schema, catalog):
        return frozenset({f"{catalog}.{schema}"})

    def columns(self, query):
        return self.operations.environment.analyzer.columns(query)

    def cancel(self):
        self.cancelled += 1


class NoStreams:
    """Carries out no step: each would need a stream."""

    def run(self, _):
        raise conditions.STREAMS_OVER_CONNECT(table="t", reason="a log")

    def undo(self, step):
        pass


def test_what_changes_or_refreshes_a_table_is_carried_out_in_the_driver(tables):
    driver = Driver(operations(tables))
    ours = operations(tables, driver, runner=NoStreams())
    created = ours.materialize(STATEMENT)
    assert (created.action, created.refresh.status) == (Action.CREATED, RefreshResult.REFRESHED)
    sell(tables)
    assert ours.materialize(STATEMENT, refresh="never").refresh is None
    refresh = "ALTER MATERIALIZED TABLE t REFRESH"
    assert ours.execute(refresh).outcome.refresh.status is RefreshResult.REFRESHED
    assert ours.refresh("t").status is RefreshResult.UP_TO_DATE
    assert ours.suspend("t").action is Action.SUSPENDED
    assert driver.sent == [
        RelayedStatement(STATEMENT, "auto"),
        RelayedStatement(STATEMENT, "never"),
        RelayedStatement(refresh),
        RelayedStatement("ALTER MATERIALIZED TABLE `t` REFRESH"),
        RelayedStatement("ALTER MATERIALIZED TABLE `t` SUSPEND"),
    ]


def test_a_statement_that_only_reads_is_not_sent(tables):
    driver = Driver(operations(tables))
    ours = operations(tables, driver)
    ours.execute("SHOW MATERIALIZED TABLES")
    ours.plan(STATEMENT)
    ours.validate(STATEMENT)
    assert driver.sent == []


def test_how_a_table_is_adopted_reaches_the_driver(tables):
    driver = Driver(operations(tables))
    as_of = datetime(2026, 3, 1, tzinfo=timezone.utc)
    terms = AdoptionTerms(as_of, if_equal=True)
    operations(tables, driver).materialize(STATEMENT, adopt=terms)
    assert [each.adopt for each in driver.sent] == [terms]


def test_an_error_in_the_driver_is_that_of_the_statement(tables):
    driver = Driver(operations(tables))
    with pytest.raises(MaterializedTableError) as caught:
        operations(tables, driver).materialize(STATEMENT.replace(SUMS, "SELECT nothing"))
    assert caught.value.condition == "MATERIALIZED_TABLE_QUERY_ERROR"


def test_without_a_relay_the_error_stays(tables):
    with raises(conditions.STREAMS_OVER_CONNECT):
        operations(tables, runner=NoStreams()).materialize(STATEMENT)


def test_other_statements_cannot_be_planned_or_materialized(tables):
    with pytest.raises(NotPlannableError):
        operations(tables).plan("DROP MATERIALIZED TABLE t")
    with raises(conditions.OTHER_STATEMENT):
        operations(tables).materialize("DROP MATERIALIZED TABLE t")
    assert operations(tables).execute("SELECT 1") is None


def test_a_plan_names_the_violations_of_a_refused_statement(tables):
    found = operations(tables).plan(STATEMENT.replace(SUMS, "SELECT nothing"))
    assert found.verdict is Verdict.REFUSED
    assert not operations(tables).is_materialized(TableName("t"))


@pytest.mark.parametrize("name", ["`a b`", "`t-1`", "`é.x`", "`t/x`"])
def test_a_plan_refuses_a_name_that_create_refuses(tables, name):
    statement = f"CREATE MATERIALIZED TABLE {name} AS {SUMS}"
    planned = operations(tables).plan(statement)
    assert planned.verdict is Verdict.REFUSED
    with raises(conditions.INVALID_NAME):
        operations(tables).execute(statement)


def test_every_statement_is_carried_out():
    assert set(get_args(Statement)) == set(_CARRY_OUT)
