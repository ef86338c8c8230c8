"""Maintenance runs one action at a time, and keeps all files that readers use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.ports import KnownTable
from dbt.adapters.spark_mt.manager.background import (
    CLEAN_EVERY_MS,
    DAY_MS,
    LEAST_KEPT_MS,
    TableMaintenance,
    kept_for,
)
from tests.support.memory.environment import MemoryStorage
from tests.unit.manager.world import Threads

NOW = 100 * DAY_MS


def table(name, *reads, **facts):
    known = KnownTable(
        name=TableName(name, "s", "c"),
        table_id=name,
        generation=1,
        refresh_mode=RefreshMode.CONTINUOUS,
        declared_refresh_mode="AUTOMATIC",
        freshness=Freshness.parse("1 minute"),
        status=RefreshStatus.ACTIVATED,
        reads=tuple(f"c.s.{each}" for each in reads),
        last_refresh_at_ms=NOW,
        recorded_at_ms=NOW,
    )
    return replace(known, **facts)


def by_name(*tables):
    return {each.name: each for each in tables}


class Life:
    """Maintenance of tables a and b."""

    def __init__(self) -> None:
        self.now, self.storage, self.in_background = NOW, MemoryStorage(), Threads()
        self.tables = by_name(table("a"), table("b", refresh_mode=RefreshMode.FULL))
        self.maintenance = TableMaintenance(self.storage, lambda: self.now, self.in_background)

    def refreshed(self, *names):
        """Tables were refreshed a moment later."""
        self.now += 1
        for name in (TableName(each, "s", "c") for each in names):
            self.tables[name] = replace(self.tables[name], last_refresh_at_ms=self.now)

    def passes(self, ms=0):
        """Time passes, and the manager ticks three times."""
        self.now += ms
        for _ in range(3):
            self.maintenance.tick(self.tables)

    @property
    def vacuumed(self):
        return [name for what, name, *_ in self.storage.done if what == "vacuum"]


@pytest.fixture
def life():
    life = Life()
    life.passes()
    return life


def test_a_table_that_is_refreshed_is_vacuumed_once_a_day(life):
    life.refreshed("a", "b")
    life.passes(DAY_MS - 2)
    assert life.vacuumed == []
    life.passes(1)
    assert sorted(life.vacuumed) == ["a", "b"]
    life.refreshed("a")
    life.passes(DAY_MS - 2)
    assert len(life.vacuumed) == 2
    life.passes(1)
    assert life.vacuumed[2:] == ["a"]


def test_a_table_that_is_not_refreshed_costs_nothing(life):
    for _ in range(30):
        life.passes(DAY_MS)
    assert life.vacuumed == []


def test_one_action_at_a_time_and_never_in_the_thread_of_the_loop(life):
    """A vacuum takes minutes; the lease has to be renewed meanwhile."""
    life.in_background.at_once = False
    life.refreshed("a", "b")
    life.passes(DAY_MS)
    assert (len(life.in_background.waiting), life.storage.done) == (1, [])
    for _ in range(3):  # dead checkpoints come first
        life.in_background.work()
        life.passes()
    assert sorted(life.vacuumed) == ["a", "b"]


def test_an_action_that_fails_does_not_delay_others(life):
    def broken(*_):
        life.storage.vacuum = vacuum
        raise ConnectionError

    vacuum, life.storage.vacuum = life.storage.vacuum, broken
    life.refreshed("a", "b")
    life.passes(DAY_MS)
    assert len(life.vacuumed) == 1


def test_nothing_is_done_for_tables_that_are_gone(life):
    life.refreshed("a", "b")
    life.tables = by_name(table("b", last_refresh_at_ms=life.now + 1))
    life.passes(DAY_MS)
    assert life.vacuumed == ["b"]


def test_unused_checkpoints_of_these_tables_are_removed_periodically():
    life = Life()
    for _ in range(3):
        life.passes(CLEAN_EVERY_MS)
    assert life.storage.done == [("clean", frozenset("ab"))] * 3


@pytest.mark.parametrize(
    ("readers", "kept"),
    [
        ((), LEAST_KEPT_MS),
        ((table("r", "a"),), LEAST_KEPT_MS),
        ((table("r", "a", last_refresh_at_ms=NOW - 30 * DAY_MS),), 31 * DAY_MS),
        (
            (table("q", "a"), table("r", "a", last_refresh_at_ms=NOW - 8 * DAY_MS)),
            9 * DAY_MS,
        ),
        (
            (table("r", "a", last_refresh_at_ms=None, recorded_at_ms=NOW - 20 * DAY_MS),),
            21 * DAY_MS,
        ),
        (
            (
                table(
                    "r",
                    "a",
                    last_refresh_at_ms=NOW - 90 * DAY_MS,
                    status=RefreshStatus.SUSPENDED,
                ),
            ),
            91 * DAY_MS,
        ),
        ((table("r", "b", last_refresh_at_ms=NOW - 30 * DAY_MS),), LEAST_KEPT_MS),
    ],
)
def test_a_vacuum_keeps_what_the_slowest_reader_needs(readers, kept):
    """Files that it has not read were replaced after its newest refresh, if at all."""
    name = TableName("a", "s", "c")
    assert kept_for(name, by_name(table("a"), *readers), NOW) == kept
