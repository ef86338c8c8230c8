"""Hosted tables on the ports in memory."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.execution.host_progress import HostPhase, HostPolicy
from dbt.adapters.spark_mt.execution.hosting import HostedTable
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.planning.steps import Register
from dbt.adapters.spark_mt.resolution.settings import Settings
from tests.behaviour.harness import Faulty
from tests.behaviour.hosting import (
    LIVE,
    STATEMENTS,
    Hosting,
    assert_each_row_once,
    assert_equals_query,
    create,
    prepare,
)
from tests.behaviour.hosting_memory import MemoryWorld


@pytest.fixture
def world():
    return MemoryWorld()


class TestHosting(Hosting):
    """Every guarantee, without an SQL engine."""


IN_BETWEEN = {
    **STATEMENTS,
    "suspend": "ALTER MATERIALIZED TABLE t SUSPEND",
    "drop": "DROP MATERIALIZED TABLE t",
}


@pytest.mark.parametrize("statement", IN_BETWEEN)
def test_a_statement_between_the_rows_of_a_batch_and_its_commit(world, statement):
    """The batch loses; the statement, or the next batch, has its rows."""
    tables = world.tables
    prepare(tables)
    create(tables, clauses=f"PARTITIONED BY (k) {LIVE}" if statement != "replace" else LIVE)
    host = world.host()
    host.fresh()
    tables.append("events", [(4, 1, 4)])
    lost = []

    def beside():
        world.streams.meanwhile = lambda: None
        tables.execute(IN_BETWEEN[statement])
        lost.append(world.streams.started[-1])

    world.streams.meanwhile = beside
    while not lost:
        host.tick()
    assert isinstance(lost[0].failure, CommitConflictError)
    assert lost[0].done is None
    if statement == "drop":
        assert host.reaches(HostPhase.ENDED).failures == 0
        return
    if statement == "suspend":
        host.reaches(HostPhase.SUSPENDED)
        assert (4, 1, 4) not in tables.rows("t")
        tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    host.fresh()
    assert host.progress.failures == 0
    assert_each_row_once(tables)
    assert_equals_query(tables)


def test_a_table_made_anew_between_the_rows_of_a_batch_and_its_commit(world):
    """The new table's fence knows nothing of the old one's numbers."""
    tables = world.tables
    prepare(tables)
    create(tables)
    host = world.host()
    tables.append("events", [(4, 4, 4)])
    host.fresh()
    tables.append("events", [(5, 5, 5)])

    def beside():
        world.streams.meanwhile = lambda: None
        tables.execute("DROP MATERIALIZED TABLE t")
        create(tables)

    world.streams.meanwhile = beside
    host.fresh()
    assert_each_row_once(tables)


def test_a_stream_whose_source_forgot_what_comes_next(world):
    tables = world.tables
    prepare(tables)
    create(tables)
    for number in range(3):
        tables.append("events", [(4 + number, 4, 4)])
    tables.catalog.clean_log(tables.name("events"), 1)
    host = world.host()
    host.fresh()
    assert_each_row_once(tables)
    assert tables.stored("t").last_refresh.strategy == "recompute"


def test_pauses_double_up_to_a_limit():
    policy = HostPolicy(first_pause=10, longest_pause=100)
    assert [policy.pause_after(failures) for failures in range(8)] == [
        0,
        0,
        10,
        20,
        40,
        80,
        100,
        100,
    ]
    assert policy.pause_after(10**6) == 100


def test_a_host_looks_at_least_as_often_as_its_table_is_due(world):
    tables = world.tables
    prepare(tables)
    create(tables, clauses="FRESHNESS = INTERVAL '3' SECOND")
    environment = replace(tables.environment, settings=Settings)
    for look, pause in (1_000, 1_000), (60_000, 1_500):
        table = HostedTable(
            tables.name("t"),
            environment,
            Refreshes(environment),
            HostPolicy(look=look),
        )
        assert table.tick() == pause


def test_pauses_are_spread_by_chance():
    policy = HostPolicy(first_pause=1_000, spread=0.5)
    assert policy.pause_after(3, chance=0.0) == 2_000
    assert policy.pause_after(3, chance=1.0) == 1_000


def test_a_heart_beats_in_one_commit_whatever_happened_since_the_last(world):
    tables = world.tables
    prepare(tables)
    create(tables)
    host = world.host()
    log = tables.memory.log
    written = []
    for arrives in (True, False):
        if arrives:
            tables.append("events", [(4, 1, 4)])
            host.fresh()
        before = log.version("")
        world.heartbeat.tick()
        written.append(log.version("") - before)
    assert written == [1, 1]
    name = tables.name("t")
    (known,) = [each for each in log.tables(name.catalog) if each.name == name]
    assert known.last_refresh_at_ms == tables.stored("t").last_refresh.started_at_ms
    assert "RUNNING" in [row[3] for row in tables.execute("SHOW JOBS").rows]


def test_a_registry_that_cannot_be_written_stops_no_stream(world):
    tables = world.tables
    prepare(tables)
    create(tables)
    environment = tables.environment
    faulty = replace(environment, runner=Faulty(environment.runner, Register))
    world.ports = lambda: faulty
    host = world.host()
    tables.append("events", [(4, 1, 4)])
    host.fresh()
    world.heartbeat.tick()
    tables.append("events", [(5, 1, 5)])
    host.fresh()
    assert host.progress.phase is HostPhase.STREAMING
    host.table.end()
    assert host.progress.phase is HostPhase.ENDED
    assert_each_row_once(tables)
