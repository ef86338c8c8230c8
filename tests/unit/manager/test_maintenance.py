"""Maintenance of tables without changes, one at a time, keeps all files that readers use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
from dbt.adapters.spark_mt.hosting.hosted_table import HostPhase, HostProgress
from dbt.adapters.spark_mt.manager.maintenance import (
    CLEAN_EVERY_MS,
    DAY_MS,
    IDLE_MS,
    LEAST_KEPT_MS,
    TableMaintenance,
    kept_for,
)
from tests.unit.manager.world import HandStorage, Threads

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

    def __init__(self, compact_after=10) -> None:
        self.now, self.storage, self.in_background = NOW, HandStorage(), Threads()
        self.progress: dict = {}
        self.tables = by_name(table("a"), table("b"))
        self.maintenance = TableMaintenance(
            self.storage, self.progress.get, compact_after, lambda: self.now, self.in_background
        )

    def batches(self, name, count, phase=HostPhase.STREAMING):
        """A host made so many batches by now."""
        full = TableName(name, "s", "c")
        progress = HostProgress(str(full), phase, batches=count, committed_at_ms=self.now)
        self.progress[full] = progress

    def rest(self, ms=IDLE_MS):
        """Nothing is written for a while."""
        self.now += ms
        self.maintenance.tick(self.tables)

    @property
    def done(self):
        return [(what, name) for what, name, *_ in self.storage.done if what != "clean"]


@pytest.fixture
def life():
    return Life()


def test_tables_are_compacted_after_so_many_batches_when_they_rest(life):
    life.batches("a", 9)
    life.rest()
    assert life.done == []
    life.batches("a", 10)
    life.rest(IDLE_MS - 1)
    assert life.done == [], "it was written to a moment ago"
    life.rest(1)
    life.rest()
    assert life.done == [("compact", "a")]
    life.batches("a", 20)
    life.rest()
    assert life.done == [("compact", "a")] * 2


@pytest.mark.parametrize("phase", set(HostPhase) - {HostPhase.STREAMING, HostPhase.FOLLOWING})
def test_a_table_in_trouble_is_left_alone(life, phase):
    life.batches("a", 10, phase)
    life.rest()
    assert life.done == []


def test_one_thing_at_a_time(life):
    life.in_background.at_once = False
    for name in "ab":
        life.batches(name, 10)
    life.rest()
    life.rest()
    assert (len(life.in_background.waiting), life.done) == (1, [])
    life.in_background.work()
    life.rest()
    life.in_background.work()
    assert sorted(life.done) == [("compact", "a"), ("compact", "b")]


def test_it_never_works_where_the_loop_waits_for_it(life):
    """A compaction takes minutes; the lease has to be renewed meanwhile."""
    life.in_background.at_once = False
    life.batches("a", 10)
    life.rest()
    life.rest(CLEAN_EVERY_MS)
    assert life.storage.done == []


def test_what_fails_holds_up_nothing(life):
    def broken(_):
        raise ConnectionError

    life.storage.compact = broken
    for name in "ab":
        life.batches(name, 10)
    life.rest()
    del life.storage.compact
    life.rest()
    assert life.done == [("compact", "b")]


def test_a_host_that_began_anew_counts_anew(life):
    life.batches("a", 200)
    life.rest()
    life.batches("a", 3)
    life.rest()
    life.batches("a", 12)
    life.rest()
    assert life.done == [("compact", "a")] * 2


def test_a_day_later_what_was_replaced_is_removed_if_the_table_rests(life):
    life.batches("a", 10)
    life.rest()
    life.rest(DAY_MS - 1)
    assert life.done == [("compact", "a")]
    life.batches("a", 11)
    life.rest(1)
    assert life.done == [("compact", "a")], "it was written to a moment ago"
    life.rest()
    life.rest()
    assert life.done == [("compact", "a"), ("vacuum", "a")]


def test_nothing_is_done_for_tables_that_are_gone(life):
    life.batches("a", 10)
    life.rest()
    life.tables = by_name(table("b"))
    life.rest(2 * DAY_MS)
    life.rest(DAY_MS)
    assert life.done == [("compact", "a")]
    assert life.maintenance._compacted == life.maintenance._to_vacuum == {}


def test_dead_checkpoints_of_these_tables_are_removed_now_and_then_also_without_compaction():
    life = Life(compact_after=0)
    life.batches("a", 1_000)
    life.rest()
    assert life.storage.done == []
    for _ in range(3):
        life.rest(CLEAN_EVERY_MS)
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
