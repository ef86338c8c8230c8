"""Lag of a table to its base tables, through every level of a cascade."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus, LagStage, SourceActivity
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.checks import Goal, lag_of, measure
from dbt.adapters.spark_mt.execution.table_history import TableState, Unread
from tests.behaviour.memory import MemoryTables
from tests.support.memory.tables import Change
from tests.unit.builders import ORDERS, TABLE

AT_3 = VersionedPosition(3, "id")
AT_12 = OffsetPosition("kafka", '{"orders":{"0":12}}')
LANDED = OffsetPosition("json", '{"logOffset":3}')
PRODUCTS = TableName("products", ORDERS.schema, ORDERS.catalog)
FIRST, SECOND = str(ORDERS), str(PRODUCTS)
FULL = "REFRESH_MODE = FULL"


class Sources:
    """Plain sources whose first unread commit is known."""

    def __init__(self, changes):
        self.changes = changes

    def unread(self, source, position):
        assert position in (AT_3, AT_12)
        if self.changes.get(source.name) == "gone":
            raise conditions.SOURCE_NOT_FOUND(source=source, problem="there is no such table")
        return Unread(self.changes.get(source.name))

    def activity(self, source):
        assert source.name in ("orders", "products"), "it has no versions"
        return None if source.name == "products" else SourceActivity(str(source), 7.0)


def measured(positions, *, read_at_ms=40_000, complete=None, goal=60, **changes):
    state = TableState(TABLE, 1, positions, read_at_ms)
    wanted = Goal(TABLE, goal, RefreshMode.CONTINUOUS)
    return measure(state, wanted, Sources(changes), 100_000, complete)


@pytest.mark.parametrize(
    ("positions", "changes", "expected"),
    [
        ({FIRST: AT_3}, {}, 0),
        ({FIRST: AT_3}, {"orders": 90_000}, 10),
        ({FIRST: AT_3, SECOND: AT_3}, {"orders": 90_000, "products": 70_500}, 29),
        ({FIRST: AT_3}, {"orders": 100_500}, 0),
        ({FIRST: UnknownPosition()}, {}, 60),
        ({FIRST: AT_3, SECOND: UnknownPosition()}, {"orders": 90_000}, 60),
        ({FIRST: AT_12}, {"orders": 90_000}, 10),
        ({FIRST: AT_12}, {}, 0),
        ({FIRST: LANDED}, {}, 60),
        ({FIRST: AT_3}, {"orders": "gone"}, 60),
        ({"spark_catalog.sales.view": DefinitionPosition("x")}, {}, 0),
        ({}, {}, 0),
        (None, {}, None),
    ],
)
def test_the_oldest_change_that_was_not_read_counts(positions, changes, expected):
    assert measured(positions, **changes).seconds == expected


def test_without_a_refresh_a_source_without_versions_says_nothing():
    found = measured({FIRST: UnknownPosition()}, read_at_ms=None)
    assert (found.seconds, found.status_at(100_000, is_active=True)) == (
        None,
        FreshnessStatus.UNKNOWN,
    )


def test_a_host_knows_up_to_when_logs_and_sources_without_versions_were_read():
    """Then no log is asked, which would cost a job."""
    complete = {TABLE: 95_000}
    for position in (UnknownPosition(), LANDED, AT_12):
        assert measured({FIRST: position}, complete=complete, orders=1).seconds == 5
    assert measured({FIRST: AT_3}, complete=complete, orders=90_000).seconds == 10


@pytest.mark.parametrize(
    ("changed", "is_active", "expected"),
    [
        (40_000, True, FreshnessStatus.MET),
        (39_999, True, FreshnessStatus.LATE),
        (39_999, False, FreshnessStatus.NONE),
    ],
)
def test_a_status_is_met_up_to_the_allowed_lag(changed, is_active, expected):
    found = measured({FIRST: AT_3}, orders=changed)
    assert found.status_at(100_000, is_active=is_active) is expected


def test_a_missing_change_ages_until_it_is_read():
    found = measured({FIRST: AT_3}, orders=90_000)
    assert found.status_at(150_000, is_active=True) is FreshnessStatus.MET
    assert (found.seconds_at(151_000), found.seconds) == (61.0, 10)
    assert found.status_at(151_000, is_active=True) is FreshnessStatus.LATE


class Cascade:
    """Tables in memory whose clock is moved by hand; each level is refreshed by a call."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.tables = MemoryTables(clock=lambda: self.now)
        self.source("base")

    def source(self, name):
        self.tables.source(name, "id INT", [(1,)])

    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)

    def query(self, *reads):
        query = " UNION ALL ".join(f"SELECT id FROM {each}" for each in reads)
        self.tables.learn(query, "id INT", lambda r: [row[:1] for each in reads for row in r[each]])
        return query

    def create(self, name, *reads, clauses="FRESHNESS = INTERVAL '1' MINUTE"):
        query = self.query(*reads)
        self.tables.execute(f"CREATE MATERIALIZED TABLE {name} {clauses} AS {query}")

    def chain(self, *names):
        for source, name in zip(("base", *names), names, strict=False):
            self.create(name, source)

    def append(self, name="base"):
        self.tables.append(name, [(2,)])

    def refresh(self, *names):
        for name in names:
            self.tables.execute(f"ALTER MATERIALIZED TABLE {name} REFRESH")

    def lag(self, name):
        return lag_of(self.tables.environment, self.tables.name(name))

    def lags(self, name):
        """Lag to the base tables, and to the direct sources."""
        found = self.lag(name)
        return found.seconds, found.own_seconds

    def stages(self, name):
        """For which tables the change waited, without catalog and schema."""
        found = self.lag(name)
        assert sum(stage.seconds for stage in found.stages) == found.seconds
        return {s.table.rpartition(".")[2]: s.seconds for s in found.stages}


@pytest.fixture
def cascade():
    return Cascade()


def test_a_cascade_of_three_levels_counts_from_the_base_table(cascade):
    """The issue's case: a table is up to date with a source that is itself late."""
    cascade.chain("a", "b", "c")
    cascade.wait(10)
    assert [cascade.lags(name) for name in "abc"] == [(0, 0)] * 3
    cascade.append()
    cascade.wait(39)
    assert [cascade.lags(name) for name in "abc"] == [(39, 39), (39, 0), (39, 0)]
    assert cascade.stages("c") == {"a": 39, "b": 0, "c": 0}
    cascade.refresh("a")
    cascade.wait(2)
    assert [cascade.lags(name) for name in "abc"] == [(0, 0), (41, 2), (41, 0)]
    assert cascade.stages("c") == {"a": 39, "b": 2, "c": 0}
    cascade.refresh("b")
    cascade.wait(5)
    assert [cascade.lags(name) for name in "abc"] == [(0, 0), (0, 0), (46, 5)]
    assert cascade.stages("c") == {"a": 39, "b": 2, "c": 5}
    cascade.refresh("c")
    assert cascade.lags("c") == (0, 0)
    assert cascade.stages("c") == {}


def test_a_refresh_between_two_changes_leaves_the_second_missing(cascade):
    cascade.chain("a", "b")
    cascade.append()
    cascade.wait(10)
    cascade.refresh("a")
    cascade.append()
    cascade.wait(10)
    assert cascade.lags("b") == (20, 10)
    cascade.refresh("b")
    assert cascade.lags("b") == (10, 0)
    assert cascade.stages("b") == {"a": 10, "b": 0}


def test_a_source_that_refreshed_twice_since_it_was_read_counts_from_the_first_change(cascade):
    cascade.chain("a", "b")
    for _ in "123":
        cascade.append()
        cascade.wait(10)
        cascade.refresh("a")
    assert cascade.lags("b") == (30, 20)


def test_a_diamond_counts_from_the_slower_side(cascade):
    cascade.create("fast", "base")
    cascade.create("slow", "base")
    cascade.create("joined", "fast", "slow")
    cascade.append()
    cascade.wait(10)
    cascade.refresh("fast")
    cascade.wait(1)
    cascade.refresh("joined")
    cascade.wait(1)
    assert cascade.lags("joined") == (12, 0)
    assert cascade.stages("joined") == {"slow": 12, "joined": 0}
    cascade.refresh("slow", "joined")
    assert cascade.lags("joined") == (0, 0)


def test_diamonds_over_diamonds_are_measured_once(cascade):
    """Sixteen levels of two tables that read both of the level before: 65,536 ways to the base."""
    level = ("base",)
    for depth in range(16):
        names = (f"l{depth}", f"r{depth}")
        for name in names:
            cascade.create(name, *level)
        level = names
    cascade.append()
    cascade.wait(7)
    requested = []
    states = cascade.tables.environment.states
    unread = states.unread
    states.unread = lambda *args: requested.append(args) or unread(*args)
    assert cascade.lags("l15") == (7, 0)
    assert len(requested) < 100


def test_a_view_in_between_has_no_lag_of_its_own(cascade):
    cascade.create("a", "base")
    cascade.tables.view("seen", cascade.query("a"))
    cascade.create("b", "seen")
    cascade.append()
    cascade.wait(5)
    assert cascade.lags("b") == (5, 0)
    cascade.refresh("a")
    cascade.wait(3)
    assert cascade.lags("b") == (8, 3)
    assert cascade.stages("b") == {"a": 5, "b": 3}


def test_a_base_table_that_was_replaced_counts_from_its_creation(cascade):
    cascade.chain("a", "b")
    cascade.wait(10)
    cascade.source("base")
    cascade.wait(4)
    assert [cascade.lags(name) for name in "ab"] == [(4, 4), (4, 0)]
    cascade.refresh("a", "b")
    assert cascade.lags("b") == (0, 0)


def test_a_level_that_was_replaced_counts_from_its_creation(cascade):
    cascade.chain("a", "b")
    cascade.wait(10)
    cascade.tables.execute("DROP MATERIALIZED TABLE a")
    cascade.create("a", "base")
    cascade.wait(4)
    assert cascade.lags("b") == (4, 4)
    assert cascade.stages("b") == {"b": 4}


def test_a_full_table_in_the_middle(cascade):
    cascade.create("a", "base", clauses=f"FRESHNESS = INTERVAL '1' HOUR {FULL}")
    cascade.create("b", "a")
    cascade.append()
    cascade.wait(1800)
    found = cascade.lag("b")
    assert (found.seconds, found.allowed_seconds) == (1800, 60)
    assert found.status_at(found.measured_at_ms, is_active=True) is FreshnessStatus.LATE
    assert cascade.stages("b") == {"a": 1800, "b": 0}
    found = cascade.lag("a")
    assert found.status_at(found.measured_at_ms, is_active=True) is FreshnessStatus.MET


def test_a_suspended_level_delays_the_levels_above(cascade):
    cascade.chain("a", "b")
    cascade.tables.execute("ALTER MATERIALIZED TABLE a SUSPEND")
    cascade.append()
    cascade.wait(100)
    cascade.refresh("b")
    assert cascade.lags("b") == (100, 0)
    assert cascade.stages("b") == {"a": 100, "b": 0}


def test_downstream_of_a_dropped_level_the_last_refresh_counts(cascade):
    cascade.chain("a", "b", "c")
    cascade.wait(10)
    cascade.tables.drop("a")
    assert cascade.lags("b") == (10, 10)
    assert cascade.lags("c") == (10, 0)


def test_commits_that_change_no_rows_are_no_changes(cascade):
    cascade.chain("a", "b")
    cascade.wait(10)
    for name in ("base", "a"):
        cascade.tables.catalog.change(cascade.tables.name(name), "OPTIMIZE", lambda s: s)
    cascade.tables.execute("ALTER MATERIALIZED TABLE a SET COMMENT 'c'")
    cascade.tables.execute("ALTER MATERIALIZED TABLE a SUSPEND")
    cascade.wait(10)
    assert [cascade.lags(name) for name in "ab"] == [(0, 0), (0, 0)]


def test_what_a_source_read_without_a_change_of_its_rows_counts_as_read(cascade):
    """A reader stays at a version, while the source finds nothing for itself in new rows."""
    cascade.chain("a", "b")
    positions = cascade.tables.stored("b").positions
    cascade.tables.execute("ALTER MATERIALIZED TABLE a SET FRESHNESS = INTERVAL '2' MINUTE")
    cascade.append()
    cascade.wait(10)
    table = cascade.tables.stored("a")
    read = cascade.tables.environment.sources.positions(
        cascade.tables.environment.stored_analyzer.analyze_stored(table.definition.resolved).sources
    )
    commit_without_rows(cascade, "a", read)
    assert positions == cascade.tables.stored("b").positions
    assert [cascade.lags(name) for name in "ab"] == [(0, 0), (0, 0)]


def commit_without_rows(cascade, name, positions):
    """What a refresh commits that found no row for the table in new rows of its sources."""
    full = cascade.tables.name(name)
    table = cascade.tables.catalog.table(full)
    last = next(c for c in reversed(table.log) if c.metadata and c.metadata.positions)
    metadata = replace(last.metadata, seq=table.fence + 1, positions=positions)
    at_ms = cascade.tables.environment.now_ms()
    cascade.tables.catalog.commit(full, Change("WRITE", at_ms, metadata, 0), lambda s: s)


def test_a_change_that_a_user_made_to_a_level_counts_from_its_own_time(cascade):
    cascade.chain("a", "b")
    cascade.wait(10)
    cascade.append("a")
    cascade.wait(3)
    assert (cascade.lags("a"), cascade.lags("b")) == ((0, 0), (3, 3))
    assert cascade.stages("b") == {"b": 3}


def test_a_full_table_may_lag_by_the_duration_of_its_last_refresh():
    """Its rows are those of the last schedule until the next run has ended: that is its design."""
    took = TableState(TABLE, 1, {FIRST: AT_3}, 10_000, took_ms=5_000)
    for mode, allowed, status in [
        (RefreshMode.FULL, 65, FreshnessStatus.MET),
        (RefreshMode.CONTINUOUS, 60, FreshnessStatus.LATE),
    ]:
        found = measure(took, Goal(TABLE, 60, mode), Sources({"orders": 36_000}), 100_000)
        assert (found.seconds, found.allowed_seconds) == (64, allowed)
        assert found.status_at(100_000, is_active=True) is status


def test_looked_up_tables_are_not_followed():
    state = TableState(
        TABLE, 1, {FIRST: AT_3, SECOND: AT_3}, unfollowed=frozenset({SECOND.lower()})
    )
    goal = Goal(TABLE, 60, RefreshMode.CONTINUOUS)
    found = measure(state, goal, Sources({"orders": 99_000, "products": 1}), 100_000)
    assert found.seconds == 1


def test_stages_name_full_tables():
    found = measured({FIRST: AT_3}, orders=90_000)
    assert found.stages == (LagStage(str(TABLE), 10.0),)


def test_a_late_table_names_the_activity_of_its_sources():
    topic = f"{ORDERS.catalog}.{ORDERS.schema}.topic"
    positions = {FIRST: AT_3, SECOND: AT_3, topic: AT_12}
    assert measured(positions, orders=90_000).sources == ()
    late = measured(positions, orders=30_000)
    assert late.sources == (SourceActivity(FIRST, 7.0),)
