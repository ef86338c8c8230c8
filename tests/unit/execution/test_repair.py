"""The registry is rebuilt from the tables themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.execution.repair import Repairs
from tests.behaviour.hosting import EVENTS, SUMS, create, prepare
from tests.behaviour.memory import MemoryTables
from tests.support.memory.repair import MemoryCorrections, MemoryScan

CATALOG = "spark_catalog"
FULL = "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL"


class Life:
    """A catalog with two materialized tables, a plain one and a view."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        prepare(self.tables)
        create(self.tables)
        self.tables.execute(f"CREATE MATERIALIZED TABLE f {FULL} AS {SUMS}")
        self.tables.view("seen", "SELECT id, k, v FROM events")
        memory = self.tables.memory
        self.log, self.scan = memory.log, MemoryScan(memory.catalog)
        self.corrections = MemoryCorrections(memory.log)
        self.store = memory.value.store

    def repair(self):
        """What was done, by table."""
        environment = replace(self.tables.environment, store=self.store)
        repairs = Repairs(environment, self.log, self.scan, self.corrections)
        return {r.table.rpartition(".")[2]: r for r in repairs.repair(CATALOG)}

    def done(self):
        return {name: each.action.value for name, each in self.repair().items()}

    def recorded(self):
        """What the registry says, but for when."""
        known = self.log.tables(CATALOG)
        return {t.name.name: replace(t, recorded_at_ms=0, rows=None) for t in known}

    def lose_the_registry(self):
        for name in self.log.known(CATALOG):
            self.log.remove(name)


@pytest.fixture
def life():
    return Life()


def test_a_registry_that_is_right_costs_no_commit(life):
    assert (life.done(), life.corrections.commits) == ({}, 0)


def test_a_lost_registry_is_rebuilt_in_one_commit(life):
    before = life.recorded()
    life.lose_the_registry()
    assert life.recorded() == {}
    assert life.done() == {"t": "REGISTERED", "f": "REGISTERED"}
    assert (life.recorded(), life.corrections.commits) == (before, 1)
    assert life.done() == {}


@pytest.mark.parametrize(
    "facts",
    [
        {"generation": 7},
        {"table_id": "x"},
        {"zone": "Asia/Tokyo"},
        {"reads": ()},
        {"last_refresh_at_ms": 5},
        {"formatters": (("ds", "yyyy"),)},
    ],
)
def test_a_wrong_row_is_corrected(life, facts):
    before, name = life.recorded(), life.tables.name("t")
    life.log._known[name] = replace(life.log._known[name], **facts)
    assert life.done() == {"t": "CORRECTED"}
    assert life.recorded() == before


def test_a_row_of_an_older_release_is_corrected(life):
    before = life.recorded()
    del life.log._known[life.tables.name("t")]
    assert life.done() == {"t": "CORRECTED"}
    assert life.recorded() == before


def test_tables_that_are_gone_are_taken_out(life):
    life.tables.drop("t")
    life.tables.source("f", EVENTS, [])
    assert life.done() == {"t": "UNREGISTERED", "f": "UNREGISTERED"}
    assert (life.recorded(), life.corrections.commits) == ({}, 1)


def test_an_unreadable_table_keeps_its_row_and_affects_no_other(life):
    before, real, t = life.recorded(), life.store, life.tables.name("t")

    class Broken:
        def find(self, name):
            if name == t:
                raise ConnectionError
            return real.find(name)

        def forget(self):
            real.forget()

    life.store = Broken()
    life.log.remove(life.tables.name("f"))
    found = life.repair()
    assert {name: each.action.value for name, each in found.items()} == {
        "t": "FAILED",
        "f": "REGISTERED",
    }
    assert (found["t"].problem, life.recorded()) == ("ConnectionError", before)


def test_a_schema_that_cannot_be_listed_loses_no_table(life):
    """Its tables are looked at all the same, by the names that the registry knows."""
    before = life.recorded()

    class Closed(MemoryScan):
        def tables(self, *_):
            raise PermissionError

    life.scan = Closed(life.tables.memory.catalog)
    found = life.repair()
    assert {name: each.action.value for name, each in found.items()} == {"default": "FAILED"}
    assert life.recorded() == before
