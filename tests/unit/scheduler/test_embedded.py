"""The embedded scheduler over simulated time: what is submitted, when, for which scheduled time."""

import logging
import math
from datetime import timedelta

from dbt.adapters.spark_mt.definition.job import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import (
    DeleteRefreshWorkflow,
    SuspendRefreshWorkflow,
    serializer_of,
)
from tests.support.schedules import due
from tests.unit.scheduler.simulation import at, workflow, world

HOURS = (("ds", "yyyy-MM-dd"), ("h", "HH"))


def test_a_week_over_a_clock_put_forward():
    """Cron and fixed intervals, in two zones; every time once, in time, and nothing else."""
    orders = [
        workflow("often", "10 minutes"),
        workflow("hourly", "1 hour", "Europe/Berlin"),
        workflow("daily", "1 day", "Europe/Berlin"),
        workflow("utc_daily", "1 day"),
        workflow("odd", "40 minutes", "Europe/Berlin"),
        workflow("two_days", "2 days", "Europe/Berlin"),
        workflow("weekly", "1 week", "Europe/Berlin"),
    ]
    start, end = "2025-03-25 10:07:31", "2025-04-01 10:07:31"
    with world(start) as life:
        for order in orders:
            life.scheduler.create_refresh_workflow(order)
        life.live_until(end)
    assert [run for run in life.runs if run.at != run.scheduled_at] == []
    for order in orders:
        found = [run.scheduled_at for run in life.runs if run.table == order.table_id]
        assert found == list(due(order.schedule, at(start), at(end)))
        assert len(found) >= 1
    assert "03-29 23:00" in life.scheduled("daily")
    assert "03-30 22:00" in life.scheduled("daily")


def test_many_tables_while_a_clock_is_put_back():
    with world("2025-10-25 21:59") as life:
        for n in range(200):
            life.create(f"t{n}", "1 hour", "Europe/Berlin")
        life.live_until("2025-10-26 04:00")
    assert len(life.runs) == 200 * 7
    assert {run.at - run.scheduled_at for run in life.runs} == {timedelta()}


def test_shorter_than_a_minute():
    with world("2025-03-02 10:10:15") as life:
        life.create(freshness="30 seconds")
        life.live_until("2025-03-02 10:12:00")
    assert [run.at.second for run in life.runs] == [30, 0, 30, 0]


def test_it_says_when_it_is_to_be_called():
    with world("2025-03-02 10:10") as life:
        assert life.scheduler.run_due() == math.inf
        life.create()
        life.create("u", "20 minutes")
        assert life.scheduler.run_due() == 600


def test_one_run_follows_a_pause():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        life.live_until("2025-03-02 12:10")
        life.suspend(handler)
        life.live_until("2025-03-02 15:40")
        life.create(last_scheduled_at=at("2025-03-02 12:00"))
        assert life.runs[-1].at == at("2025-03-02 15:40")
        life.live_until("2025-03-02 16:10")
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00", "03-02 15:00", "03-02 16:00"]


def test_missed_partitions_are_refreshed_one_by_one():
    with world("2025-03-02 10:10") as life:
        life.suspend(life.create(formatters=HOURS))
        life.live_until("2025-03-02 13:40")
        life.create(formatters=HOURS, last_scheduled_at=at("2025-03-02 10:00"))
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00", "03-02 13:00"]


def test_a_process_that_was_gone_continues_after_what_was_run_last():
    with world("2025-03-02 10:10") as life:
        life.create("plain")
        life.create("parts", formatters=HOURS)
        life.live_until("2025-03-02 11:10")
        life.sleep_until("2025-03-02 13:30")
        life.restart()
        last = life.runs[-1].scheduled_at
        life.create("plain", last_scheduled_at=last)
        life.create("parts", formatters=HOURS, last_scheduled_at=last)
        life.live_until("2025-03-02 14:10")
    assert life.scheduled("plain") == ["03-02 11:00", "03-02 13:00", "03-02 14:00"]
    assert life.scheduled("parts") == [f"03-02 {h}:00" for h in (11, 12, 13, 14)]


def test_too_many_missed_partitions_are_left_out_and_logged(caplog):
    with world("2025-03-02 10:10") as life, caplog.at_level(logging.WARNING):
        life.create(formatters=HOURS, last_scheduled_at=at("2025-01-01 00:00"))
    assert len(life.runs) == 1000
    assert life.runs[-1].scheduled_at == at("2025-03-02 10:00")
    assert "2025-01-19 18:00" in caplog.text


def test_a_machine_that_slept_runs_once():
    with world("2025-03-02 10:10") as life:
        life.create()
        life.sleep_until("2025-03-02 12:30")
        life.scheduler.run_due()
    assert life.scheduled() == ["03-02 12:00"]


def test_a_clock_that_is_put_back_repeats_nothing():
    with world("2025-03-02 10:10") as life:
        life.create()
        life.live_until("2025-03-02 11:05")
        life.sleep_until("2025-03-02 10:50")
        life.live_until("2025-03-02 12:05")
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00"]


def test_to_create_again_changes_nothing():
    with world("2025-03-02 10:10") as life:
        first = life.create()
        life.live_until("2025-03-02 11:10")
        again = life.create(last_scheduled_at=at("2025-03-02 09:00"))
        life.live_until("2025-03-02 12:10")
    assert first == again == FullRefreshHandler("embedded", "t", "every hour")
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00"]


def test_another_schedule_applies_from_what_was_run_last():
    with world("2025-03-02 10:10") as life:
        life.create(freshness="1 hour")
        life.live_until("2025-03-02 11:30")
        life.create(freshness="20 minutes")
        assert life.runs[-1].at == at("2025-03-02 11:30")
        life.live_until("2025-03-02 12:00")
    assert life.scheduled()[1:] == ["03-02 11:20", "03-02 11:40", "03-02 12:00"]


def test_a_deleted_workflow_runs_no_more():
    with world("2025-03-02 10:10") as life:
        life.delete(life.create(formatters=HOURS))
        life.live_until("2025-03-02 15:10")
    assert life.runs == []


def test_what_is_not_there_is_suspended_and_deleted_already():
    gone = FullRefreshHandler("embedded", "gone", "")
    with world("2025-03-02 10:10") as life:
        life.scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(gone))
        life.scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(gone))
        assert life.scheduler.run_due() == math.inf


def test_the_catalog_keeps_its_handlers():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        serializer = serializer_of(life.scheduler)
    assert serializer.deserialize(serializer.serialize(handler)) == handler
