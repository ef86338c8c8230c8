from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import UnknownPosition, VersionedPosition
from dbt.adapters.spark_mt.execution.up_to_date import FULL_CHECK_MS, UpToDateTables

NAME = TableName("t")
SOURCE = SimpleNamespace(name="s")


class Store:
    """A store with one table."""

    def __init__(self) -> None:
        self.newest = VersionedPosition(3, "a")
        self.forgot = 0

    def is_newest(self, _, version):
        return version == self.newest

    def forget(self):
        self.forgot += 1


class Checked:
    """A cache with one table, which was up to date at 1,000 ms, and what it asks."""

    def __init__(self, position=None, *, time_dependent=False) -> None:
        self.store, self.now = Store(), 1_000
        self.current = position or VersionedPosition(8, "a")
        sources = SimpleNamespace(is_current=lambda _, at: at == self.current)
        self.tables = UpToDateTables(self.store, sources, lambda: self.now)
        table = SimpleNamespace(name=NAME, version=self.store.newest)
        self.run = SimpleNamespace(
            positions={"s": self.current}, sources=(SOURCE,), started_at_ms=self.now
        )
        analyzed = SimpleNamespace(time_dependent=time_dependent)
        self.tables.remember(table, analyzed, self.run)


def test_a_table_is_up_to_date_as_long_as_nothing_changes():
    checked = Checked()
    assert checked.tables.find(TableName("other")) is None
    checked.now += FULL_CHECK_MS - 1
    found = checked.tables.find(NAME)
    assert found is not None
    assert found.run is checked.run


def test_a_full_check_is_due_after_its_interval():
    checked = Checked()
    checked.now += FULL_CHECK_MS
    assert checked.tables.find(NAME) is None


def test_the_store_reads_the_catalog_again_once_an_interval():
    checked = Checked()
    for elapsed, times in ((FULL_CHECK_MS - 1_001, 0), (1, 1), (1, 1)):
        checked.now += elapsed
        checked.tables.find(NAME)
        assert checked.store.forgot == times


@pytest.mark.parametrize("changed", ["table", "source", "forgotten"])
def test_a_change_ends_it_until_the_next_full_check(changed):
    checked = Checked()
    before = checked.current, checked.store.newest
    if changed == "table":
        checked.store.newest = VersionedPosition(4, "a")
    elif changed == "source":
        checked.current = VersionedPosition(9, "a")
    else:
        checked.tables.forget(NAME)
    assert checked.tables.find(NAME) is None
    checked.current, checked.store.newest = before
    assert checked.tables.find(NAME) is None


def test_results_that_depend_on_the_time_or_on_unknown_positions_are_not_stored():
    assert Checked(time_dependent=True).tables.find(NAME) is None
    assert Checked(UnknownPosition()).tables.find(NAME) is None
