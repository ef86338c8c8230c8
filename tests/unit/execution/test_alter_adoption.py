"""Adopting where a clock or a log must be set."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.alter import Adoptions
from dbt.adapters.spark_mt.execution.results import Action, AdoptionTerms, RefreshResult
from dbt.adapters.spark_mt.execution.table_format import FENCE
from tests.behaviour.adoption import COLUMNS, EQUAL_ROWS, OLD_ROWS, adopt, adoptions, statement
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import DAY_3, KEYS, prepare, refresh
from tests.support.errors import raises


class Clock:
    now = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)

    def __call__(self):
        return self.now


def test_rows_are_trusted_as_of_an_instant_in_the_zone_of_the_session():
    clock = Clock()
    tables = MemoryTables(clock)
    prepare(tables)
    tables.source("t", "k INT; amount INT", [(0, 99)])
    clock.now += timedelta(hours=2)
    tables.append("orders", [(3, DAY_3, 1)])
    tables.memory.confs["spark.sql.session.timeZone"] = "Europe/Berlin"
    adopted = adopt(tables, KEYS, as_of=datetime(2026, 11, 1, 14))  # noqa: DTZ001 - 13:00 in UTC
    assert adopted.action is Action.ADOPTED
    position = tables.stored("t").positions[str(tables.name("orders"))]
    assert isinstance(position, VersionedPosition)
    assert position.version == tables.versions("orders")[0]
    assert refresh(tables).status is RefreshResult.REFRESHED
    assert tables.rows("t") == [(0, 99), (3, 1)]


def test_numbers_that_a_log_holds_and_does_not_show_are_passed():
    """As of a clone that carries the record of transactions of what it was cloned from."""
    tables = MemoryTables()
    prepare(tables)
    tables.source("t", COLUMNS, OLD_ROWS)
    tables.clone("t", "u")
    name = tables.name("u")
    tables.catalog.put(name, replace(tables.catalog.table(name), fences=((FENCE, 57),)))
    assert adopt(tables, name="u").action is Action.ADOPTED
    stored = tables.stored("u")
    assert stored.definition.fence >= 57
    assert stored.seq == stored.definition.fence + 1
    tables.append("orders", [(3, DAY_3, 1)])
    tables.catalog.clean_log(name, keep=1)
    refreshed = tables.execute("ALTER MATERIALIZED TABLE u REFRESH").outcome.refresh
    assert refreshed.status is RefreshResult.REFRESHED
    assert tables.rows("u") == [(1, 15), (2, 7), (3, 1)]


def test_planning_raises_no_fence():
    tables = MemoryTables()
    prepare(tables)
    tables.source("t", COLUMNS, OLD_ROWS)
    tables.clone("t", "u")
    before = tables.catalog.table(tables.name("u"))
    adoptions(tables).plan(statement(name="u"), AdoptionTerms())
    assert tables.catalog.table(tables.name("u")) == before


class _WritesAfterComparing:
    """The observer of an environment, with a program that appends a row when it has compared."""

    def __init__(self, tables):
        self._tables, self._observer = tables, tables.environment.observer
        self.comparisons = 0

    def __getattr__(self, name):
        return getattr(self._observer, name)

    def differences(self, *arguments):
        found = self._observer.differences(*arguments)
        self.comparisons += 1
        if self.comparisons == 1:
            self._tables.append("t", [(9, 9)])
        return found


def test_a_row_that_comes_after_the_comparison_is_compared_as_well():
    tables = MemoryTables()
    prepare(tables)
    tables.source("t", COLUMNS, EQUAL_ROWS)
    observer = _WritesAfterComparing(tables)
    environment = replace(tables.environment, observer=observer)
    with raises(conditions.ROWS_DIFFER) as caught:
        Adoptions(environment).adopt(statement(), AdoptionTerms(if_equal=True))
    assert caught.value.violations[0].startswith("1 rows differ")
    assert observer.comparisons == 2
    assert tables.rows("t") == [*EQUAL_ROWS, (9, 9)]


def test_a_query_that_gives_other_rows_each_time_is_not_compared():
    tables = MemoryTables()
    prepare(tables)
    tables.source("t", COLUMNS, EQUAL_ROWS)
    query = "SELECT k, random() AS total FROM orders"
    tables.learn(query, COLUMNS, lambda _: EQUAL_ROWS)
    with raises(conditions.ROWS_DIFFER) as caught:
        adopt(tables, query, "REFRESH_MODE = FULL", if_equal=True)
    assert caught.value.violations == ("The query gives other rows each time (random).",)
