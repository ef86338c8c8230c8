"""Scheduled refreshes over simulated time: in order, once, and until they succeed."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import pairwise

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from tests.behaviour.hosting import EVENTS, FIRST
from tests.unit.manager.world import HOURLY, world

DAYS = "SELECT id, ds FROM days"
PARTITIONED = (
    "PARTITIONED BY (ds) WITH ('partition.fields.ds.date-formatter' = 'yyyy-MM-dd') "
    "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL"
)
OTHER = "SELECT id, k, v FROM other"


@pytest.fixture
def life():
    with world() as found:
        found.learn(OTHER, EVENTS, lambda r: [e[:3] for e in r["other"]])
        found.learn(DAYS, "id INT; ds STRING", lambda r: list(r["days"]))
        yield found


def fragile(life, clauses=HOURLY):
    """A table whose source can be taken away."""
    life.tables.source("other", EVENTS, FIRST)
    life.create("t", clauses, OTHER)


def partitioned(life):
    """A table of a partition per day, with a row for each day of the month."""
    life.tables.source("days", "id INT; ds STRING", [(0, "2026-03-01")])
    life.create("d", PARTITIONED, DAYS)
    life.tables.append("days", [(day, f"2026-03-{day:02}") for day in range(1, 32)])


def days(life):
    """Which days were written, in addition to the first."""
    return sorted({row[1][-2:] for row in life.tables.rows("d") if row[0]})


def test_upstream_before_downstream_at_the_same_time(life):
    life.chain("c", "b", "a", clauses=HOURLY)
    manager = life.manager()
    life.append((4, 4, 4))
    life.live(3600, every=30)
    assert [life.rows(name) for name in "cba"] == [4, 4, 4]
    order = [job.table.name for job in life.tables.memory.log.appended if job.scheduled_at_ms]
    assert order == ["c", "b", "a"]
    assert manager.dispatcher.running == 0


def test_waiting_for_a_slow_upstream_table_is_bounded(life):
    life.chain("b", "a", clauses=HOURLY)
    manager = life.manager(patience=60_000)
    manager.tick()
    manager.threads.at_once = False
    life.append((4, 4, 4))
    life.move_to("2026-03-02 11:00:00")
    life.live(30)
    assert len(manager.threads.waiting) == 1
    life.live(40)
    assert len(manager.threads.waiting) == 2


def test_days_of_hourly_refreshes(life):
    life.create("t", HOURLY)
    life.manager()
    for day in range(3):
        life.append((day, 1, 1))
        life.live(24 * 3600, every=600)
    assert len(life.scheduled("t")) == len(set(life.scheduled("t"))) == 3 * 24
    assert len(life.jobs("t", "SKIPPED")) == 3 * 24 - 3
    assert life.rows("t") == 3 + 3


def test_after_a_pause_a_whole_table_is_refreshed_once(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.append((4, 4, 4))
    life.move_to("2026-03-05 08:15:00")
    life.live(300)
    assert life.scheduled("t") == ["03-05 08:00"]


def test_after_a_pause_each_missed_partition_is_written_the_oldest_first(life):
    partitioned(life)
    life.manager()
    life.live(60)
    life.move_to("2026-03-06 08:15:00")
    life.live(300)
    assert life.scheduled("d") == [f"03-0{day} 00:00" for day in range(3, 7)]
    assert days(life) == ["02", "03", "04", "05"]


def test_a_run_for_a_time_long_past_makes_nothing_since_then_due(life):
    """A user writes an old partition again; the table was computed whole long after it."""
    partitioned(life)
    due = datetime(2013, 2, 2, tzinfo=timezone.utc)
    requested = RequestedRefresh(trigger=SCHEDULED, scheduled_at=due)
    Refreshes(life.tables.environment).carry_out(TableName("d"), requested)
    life.manager()
    life.live(60)
    assert life.scheduled("d") == ["02-02 00:00"]


def test_a_killed_process_leaves_off_where_the_next_begins(life):
    """Killed in the midst of making up: two of four partitions are written."""
    partitioned(life)
    first = life.manager(1)
    life.live(60)
    life.move_to("2026-03-06 08:15:00")
    first.threads.at_once = False
    life.live(10)
    for _ in range(2):
        first.threads.work()
        first.dispatcher.dispatch()
    assert life.scheduled("d") == ["03-03 00:00", "03-04 00:00"]
    life.kill(first)
    life.manager(2)
    life.live(300)
    assert life.scheduled("d") == [f"03-0{day} 00:00" for day in range(3, 7)]
    assert days(life) == ["02", "03", "04", "05"]


def test_a_partition_that_fails_is_written_before_newer_ones(life):
    partitioned(life)
    life.manager()
    life.live(60)
    rows = life.tables.rows("days")
    life.tables.drop("days")
    life.move_to("2026-03-04 00:00:00")
    life.live(120)
    assert len(life.jobs("d", "FAILED")) > 1
    life.tables.source("days", "id INT; ds STRING", rows)
    life.live(600)
    assert life.scheduled("d") == ["03-03 00:00", "03-04 00:00"]
    assert days(life) == ["02", "03"]


def test_failures_are_tried_again_ever_more_seldom(life):
    fragile(life)
    manager = life.manager(suspend_after=0)
    life.live(60)
    life.tables.drop("other")
    life.move_to("2026-03-02 11:00:00")
    life.live(50 * 60)
    manager.loop.tick()  # the end of a run is written in the tick after it
    failed = [job.ended_at_ms for job in life.jobs("t", "FAILED")]
    pauses = [(b - a) / 1000 for a, b in pairwise(failed)]
    assert pauses[0] <= 10
    assert max(pauses) <= 310
    assert 10 <= len(failed) <= 25
    view = manager.view_of("t")
    assert (view.failures, view.activity) == (len(failed), "failing")
    assert "other" in view.problem
    life.tables.source("other", EVENTS, [*FIRST, (4, 4, 4)])
    life.live(310)
    view = manager.view_of("t")
    assert (view.failures, view.problem, view.activity) == (0, "", "scheduled")
    assert life.rows("t") == 4


def test_a_manager_suspends_after_failures_and_shows_the_reason(life):
    fragile(life)
    manager = life.manager(suspend_after=3)
    life.live(60)
    life.tables.drop("other")
    life.move_to("2026-03-02 11:00:00")
    life.live(600)
    definition = life.tables.stored("t").definition
    assert definition.status_reason.startswith("given up after 3 failures of the same cause: ")
    assert "other" in definition.status_reason
    rows = life.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
    assert any("given up after 3 failures" in str(row) for row in rows)
    view = manager.view_of("t")
    assert (view.status, view.activity) == ("SUSPENDED", "suspended")
    assert "given up after 3 failures" in view.status_reason
    life.live(4 * 3600, every=60)
    assert len(life.jobs("t", "FAILED")) == 3


@pytest.mark.parametrize("way", ["RESUME", "changed"])
def test_a_refresh_that_was_suspended_after_failures_continues(life, way):
    fragile(life)
    life.manager(suspend_after=3)
    life.live(60)
    life.tables.drop("other")
    life.move_to("2026-03-02 11:00:00")
    life.live(600)
    assert life.status("t") == "SUSPENDED"
    life.tables.source("other", EVENTS, [*FIRST, (4, 4, 4)])
    if way == "RESUME":
        life.execute("ALTER MATERIALIZED TABLE t RESUME")
    else:
        changed = HOURLY.replace("1' HOUR", "30' MINUTE")
        life.execute(f"CREATE OR ALTER MATERIALIZED TABLE t {changed} AS {OTHER}")
    assert life.status("t") == "ACTIVATED"
    life.tables.append("other", [(5, 5, 5)])
    life.live(3600, every=30)
    assert life.rows("t") == 5
    assert "03-02 12:00" in life.scheduled("t")


def test_partitions_that_failed_before_the_suspension_are_refreshed(life):
    """What was fired is not what was done: the log knows."""
    partitioned(life)
    life.manager(suspend_after=3)
    life.live(60)
    life.move_to("2026-03-03 00:00:00")
    life.live(60)
    rows = life.tables.rows("days")
    life.tables.drop("days")
    life.move_to("2026-03-05 00:00:00")
    life.live(600)
    assert (life.status("d"), days(life)) == ("SUSPENDED", ["02"])
    life.tables.source("days", "id INT; ds STRING", rows)
    life.execute("ALTER MATERIALIZED TABLE d SET COMMENT 'c'")
    life.live(600)
    assert life.status("d") == "ACTIVATED"
    assert life.scheduled("d") == ["03-03 00:00", "03-04 00:00", "03-05 00:00"]
    assert days(life) == ["02", "03", "04"]


def test_a_table_that_cannot_be_suspended_is_tried_on(life):
    fragile(life)
    manager = life.manager(suspend_after=2)
    life.live(60)
    life.tables.drop("other")
    manager.runner.broken["run"] = "read only"
    life.move_to("2026-03-02 11:00:00")
    life.live(600)
    assert life.status("t") == "ACTIVATED"
    assert manager.view_of("t").failures > 2
    manager.runner.broken.clear()
    life.live(310)
    assert life.status("t") == "SUSPENDED"


def test_a_table_with_changing_causes_is_not_suspended(life):
    """Only failures of one cause in a row count."""
    fragile(life)
    manager = life.manager(suspend_after=3)
    life.live(60)
    life.move_to("2026-03-02 11:00:00")
    life.tables.append("other", [(4, 4, 4)])
    for number in range(8):
        manager.runner.broken.clear()
        if number % 2:
            life.tables.drop("other")
        else:
            life.tables.source("other", EVENTS, FIRST)
            manager.runner.broken["run"] = "full"
        seen = manager.view_of("t").failures
        while manager.view_of("t").failures == seen:
            life.live(5)
    assert life.status("t") == "ACTIVATED"


def test_a_run_that_conflicts_with_another_writer_is_no_failure(life):
    fragile(life)
    manager = life.manager(suspend_after=1)
    life.live(60)
    life.tables.append("other", [(4, 4, 4)])
    manager.conflicts = 5
    life.move_to("2026-03-02 11:00:00")
    life.live(60)
    assert manager.conflicts == 0
    assert (life.status("t"), life.rows("t")) == ("ACTIVATED", 4)
    assert manager.view_of("t").failures == 0


def test_a_changed_table_is_tried_at_once(life):
    fragile(life)
    manager = life.manager(suspend_after=0)
    life.live(60)
    life.tables.drop("other")
    life.move_to("2026-03-02 11:00:00")
    life.live(40 * 60, every=30)
    assert manager.view_of("t").failures
    life.tables.source("other", EVENTS, [*FIRST, (4, 4, 4)])
    life.execute("ALTER MATERIALIZED TABLE t SET COMMENT 'c'")
    life.live(10)
    assert (manager.view_of("t").failures, life.rows("t")) == (0, 4)
