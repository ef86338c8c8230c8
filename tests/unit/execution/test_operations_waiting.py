"""Runs leave tables to a living manager, derive modes as it does, and may wait for it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition.errors import WaitTimeoutError
from dbt.adapters.spark_mt.definition.job import (
    ContinuousRefreshHandler,
    JsonRefreshHandlerSerializer,
    Lease,
    Owner,
)
from dbt.adapters.spark_mt.execution.jobs import keeper_of
from dbt.adapters.spark_mt.execution.operations import await_fresh, await_started
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from tests.behaviour.hosting import EVENTS, create, prepare
from tests.behaviour.memory import MemoryTables
from tests.unit.builders import columns

MANAGER = Owner("here", 7, user="somebody")
CATALOG = "spark_catalog"


class World:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, tzinfo=timezone.utc)
        self.tables = MemoryTables(clock=lambda: self.now)
        self.env = self.tables.environment
        prepare(self.tables)
        create(self.tables)
        self.name = self.tables.name("t")

    def manager(self, *settings, **facts):
        """Let a manager hold the catalog, and time pass until that is noticed."""
        self.now += timedelta(seconds=10)
        now = self.env.now_ms()
        lease = Lease(CATALOG, 1, MANAGER, now, settings=settings, **facts)
        self.tables.memory.leases.write(lease)

    def takes_over(self):
        handler = ContinuousRefreshHandler(str(MANAGER), "id", "1.1", "")
        serialized = JsonRefreshHandlerSerializer().serialize(handler)
        self.tables.memory.log.record_handlers(CATALOG, {self.name: serialized})


@pytest.fixture
def world():
    return World()


def described(world):
    rows = world.tables.execute("DESCRIBE MATERIALIZED TABLE EXTENDED t").rows
    return {row[0]: row[1] for row in rows}


def test_without_a_manager_a_table_has_no_refresh_handler(world):
    world.takes_over()
    assert keeper_of(world.env, world.name) is None
    assert described(world)["Refresh handler"].startswith("none")


def test_a_running_manager_handles_the_tables_that_it_registered(world):
    world.manager()
    assert keeper_of(world.env, world.name) is None, "it has not taken it over yet"
    world.takes_over()
    assert "somebody, process 7 on here" in described(world)["Refresh handler"]


def test_a_manager_that_ended_handles_no_table(world):
    world.manager()
    world.takes_over()
    world.tables.memory.processes.gone.add(MANAGER)
    assert keeper_of(world.env, world.name) is None


def test_the_manager_of_a_catalog_is_looked_up_periodically(world):
    looks = []
    newest = world.tables.memory.leases.newest
    world.tables.memory.leases.newest = lambda catalog: looks.append(catalog) or newest(catalog)
    world.manager()
    for _ in range(5):
        assert world.env.managers.live(CATALOG)
        world.now += timedelta(seconds=2)
    assert looks == [CATALOG]
    world.env.managers.live(CATALOG)
    assert looks == [CATALOG, CATALOG]


def test_modes_are_derived_as_the_manager_does(world):
    key = "spark.materialized-table.refresh-mode.freshness-threshold"
    query = "CREATE MATERIALIZED TABLE {} FRESHNESS = INTERVAL '2' MINUTE AS SELECT * FROM events"
    world.tables.memory.register("SELECT * FROM events", *events())
    world.tables.execute(query.format("before"))
    assert mode(world, "before") == "CONTINUOUS"
    world.manager((key, "1 min"))
    world.tables.execute(query.format("after"))
    assert mode(world, "after") == "FULL"


def mode(world, table):
    return world.tables.stored(table).definition.resolved.refresh_mode.value


def events():
    return columns("id INT, k INT, v INT"), lambda relations: relations["events"]


def test_waiting_ends_when_the_manager_has_taken_the_table_over(world):
    world.manager()
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            world.takes_over()

    assert await_started(world.env, world.name, 10, pause).lease.owner == MANAGER
    assert len(pauses) == 3


def test_waiting_for_a_manager_is_bounded(world):
    world.manager()
    pauses = []
    with pytest.raises(WaitTimeoutError) as caught:
        await_started(world.env, world.name, 10, pauses.append)
    assert sum(pauses) == 10
    assert caught.value.parameters["problem"] == f"{MANAGER} has not taken it over"


def test_waiting_ends_when_the_rows_are_those_of_the_beginning(world):
    world.tables.append("events", [(9, 9, 9)])
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        world.tables.append("events", [(10 + len(pauses), 9, 9)])
        if len(pauses) == 2:
            Refreshes(world.env).carry_out(world.name, RequestedRefresh())

    table = await_fresh(world.env, world.name, 10, pause)
    assert len(pauses) == 2, "rows that came meanwhile are not waited for"
    assert table.positions is not None


def test_rows_of_a_source_that_was_created_again_reach_none_of_its_versions(world):
    for number in range(5):
        world.tables.append("events", [(9 + number, 9, 9)])
        Refreshes(world.env).carry_out(world.name, RequestedRefresh())
    world.tables.drop("events")
    world.tables.source("events", EVENTS, [(1, 1, 1)])
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        Refreshes(world.env).carry_out(world.name, RequestedRefresh())

    await_fresh(world.env, world.name, 10, pause)
    assert len(pauses) == 1
    assert world.tables.rows("t") == [(1, 1, 1)]


def test_waiting_for_a_suspended_table_ends_at_once(world):
    world.tables.append("events", [(9, 9, 9)])
    world.tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    pauses = []
    with pytest.raises(WaitTimeoutError) as caught:
        await_fresh(world.env, world.name, 10, pauses.append)
    assert pauses == []
    assert "suspended" in caught.value.parameters["problem"]


def test_waiting_for_rows_is_bounded(world):
    world.tables.append("events", [(9, 9, 9)])
    pauses = []
    with pytest.raises(WaitTimeoutError):
        await_fresh(world.env, world.name, 3, pauses.append)
    assert sum(pauses) == 3


@pytest.mark.parametrize("recorded", [b"", b"{", b"[]", b'{"kind": "later"}'])
def test_a_handler_that_cannot_be_read_is_none(world, recorded):
    world.manager()
    world.takes_over()
    assert keeper_of(world.env, world.name) is not None
    world.tables.memory.log.record_handlers(CATALOG, {world.name: recorded})
    assert keeper_of(world.env, world.name) is None
    assert described(world)["Status"] == "ACTIVATED"
