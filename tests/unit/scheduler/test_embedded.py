"""The embedded scheduler over simulated time: what fires, when, and for which scheduled time."""

import logging
from datetime import timedelta
from threading import Event, Thread

import pytest

from dbt.adapters.spark_mt.definition.refresh_handler import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import (
    DeleteRefreshWorkflow,
    ResumeRefreshWorkflow,
    SchedulerContext,
    SuspendRefreshWorkflow,
    WorkflowNotFoundError,
    WorkflowScheduler,
)
from dbt.adapters.spark_mt.scheduler import embedded
from tests.unit.scheduler.simulation import HandPool, at, now, workflow, world

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
        assert found == list(order.schedule.due(at(start), at(end)))
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


def test_a_pause_is_made_up_for_by_one_run():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        life.live_until("2025-03-02 12:10")
        life.suspend(handler)
        assert life.scheduler.next_run_at(handler) is None
        life.live_until("2025-03-02 15:40")
        life.resume(handler)
        assert life.runs[-1].at == at("2025-03-02 15:40")
        life.live_until("2025-03-02 16:10")
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00", "03-02 15:00", "03-02 16:00"]


def test_a_pause_is_made_up_for_partition_by_partition():
    with world("2025-03-02 10:10") as life:
        handler = life.create(formatters=HOURS)
        life.suspend(handler)
        life.live_until("2025-03-02 13:40")
        life.resume(handler, run_options=(("k", "v"),))
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00", "03-02 13:00"]
    assert {run.firing.run_options for run in life.runs} == {(("k", "v"),)}
    assert {run.firing.left_out for run in life.runs} == {None}


def test_a_process_that_was_gone_goes_on_from_what_was_run_last():
    with world("2025-03-02 10:10") as life:
        life.create("plain")
        life.create("parts", formatters=HOURS)
        life.live_until("2025-03-02 11:10")
        life.scheduler.close(0)
        life.sleep_until("2025-03-02 13:30")
        life.restart()
        last = life.runs[-1].scheduled_at
        life.create("plain", last_scheduled_at=last)
        life.create("parts", formatters=HOURS, last_scheduled_at=last)
        life.live_until("2025-03-02 14:10")
    assert life.scheduled("plain") == ["03-02 11:00", "03-02 13:00", "03-02 14:00"]
    assert life.scheduled("parts") == [f"03-02 {h}:00" for h in (11, 12, 13, 14)]


def test_what_is_created_before_it_opens_fires_when_it_does():
    with world("2025-03-02 10:10") as life:
        timer, pool = life.timer.__class__(**embedded.timer_options()), HandPool()
        scheduler = embedded.EmbeddedScheduler(SchedulerContext(life._fire, now), timer, pool)
        scheduler.create_refresh_workflow(workflow(last_scheduled_at=at("2025-03-02 09:00")))
        pool.work()
        assert life.runs == []
        scheduler.open()
        pool.work()
    assert life.scheduled() == ["03-02 10:00"]


def test_too_many_missed_partitions_are_left_out_and_told(caplog):
    with world("2025-03-02 10:10") as life, caplog.at_level(logging.WARNING):
        life.create(formatters=HOURS, last_scheduled_at=at("2025-01-01 00:00"))
    assert len(life.runs) == 1000
    assert life.runs[-1].scheduled_at == at("2025-03-02 10:00")
    assert [run.firing.left_out for run in life.runs[:2]] == [at("2025-01-19 18:00"), None]
    assert "2025-01-19 18:00" in caplog.text


def test_a_slow_run_is_followed_by_one_for_all_that_it_delayed():
    def take_hours(firing):
        if firing.scheduled_at == at("2025-03-02 11:00"):
            life.traveller.shift(timedelta(hours=3, minutes=30))

    with world("2025-03-02 10:10") as life:
        life.during = take_hours
        life.create()
        life.live_until("2025-03-02 16:10")
    assert life.scheduled() == ["03-02 11:00", "03-02 14:00", "03-02 15:00", "03-02 16:00"]
    assert life.runs[1].at == at("2025-03-02 14:30")


def test_a_run_that_fails_is_told_and_the_next_one_comes(caplog):
    def fail(_firing):
        raise LookupError

    with world("2025-03-02 10:10") as life:
        life.during = fail
        life.create()
        life.live_until("2025-03-02 12:10")
    assert life.scheduled() == ["03-02 11:00", "03-02 12:00"]
    assert [record.exc_info[0] for record in caplog.records] == [LookupError, LookupError]


def test_a_machine_that_slept_looks_soon_after():
    """The timer waits by a clock that stands still in sleep; the regular look does not need it."""
    with world("2025-03-02 10:10") as life:
        life.create()
        life.timer.step()
        life.sleep_until("2025-03-02 12:30")
        life.timer.remove_job("t")  # as if its time had not come yet
        life.timer.step()
        life.pool.work()
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


def test_to_create_what_rests_lets_it_go_on():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        life.suspend(handler)
        life.live_until("2025-03-02 12:10")
        life.create()
        assert life.scheduler.next_run_at(handler) == at("2025-03-02 13:00")
        life.live_until("2025-03-02 13:10")
    assert life.scheduled() == ["03-02 12:00", "03-02 13:00"]


def test_another_schedule_holds_from_what_was_run_last():
    with world("2025-03-02 10:10") as life:
        life.create(freshness="1 hour")
        life.live_until("2025-03-02 11:30")
        handler = life.create(freshness="20 minutes")
        assert life.runs[-1].at == at("2025-03-02 11:30")
        assert life.scheduler.next_run_at(handler) == at("2025-03-02 11:40")
        life.live_until("2025-03-02 12:00")
    assert life.scheduled()[1:] == ["03-02 11:20", "03-02 11:40", "03-02 12:00"]


def test_a_change_during_a_run_holds_for_the_next():
    def change(_firing):
        life.during = lambda _firing: None
        changed = workflow(formatters=HOURS, run_options=(("k", "v"),))
        life.scheduler.create_refresh_workflow(changed)

    with world("2025-03-02 10:10") as life:
        life.during = change
        life.create(formatters=HOURS, last_scheduled_at=at("2025-03-02 07:00"))
    assert life.scheduled() == ["03-02 08:00", "03-02 09:00", "03-02 10:00"]
    assert [run.firing.run_options for run in life.runs] == [(), (("k", "v"),), (("k", "v"),)]


@pytest.mark.parametrize("end", ["suspend", "delete"])
def test_what_ends_during_a_run_runs_no_more(end):
    with world("2025-03-02 10:10") as life:
        handler = life.create(formatters=HOURS)
        life.during = lambda _firing: getattr(life, end)(handler)
        life.sleep_until("2025-03-02 13:10")
        life.live_until("2025-03-02 15:10")
    assert life.scheduled() == ["03-02 11:00"]


def test_a_table_that_comes_back_during_its_run_is_not_run_twice_at_a_time():
    under_way = []

    def come_back(_firing):
        under_way.append(1)
        if len(life.runs) == 1:
            life.delete(handler)
            order = workflow(last_scheduled_at=at("2025-03-02 07:00"))
            life.scheduler.create_refresh_workflow(order)
            life.pool.work()
        assert len(under_way) == 1
        under_way.pop()

    with world("2025-03-02 10:10") as life:
        handler = life.create()
        life.during = come_back
        life.live_until("2025-03-02 11:10")
    assert life.scheduled() == ["03-02 11:00", "03-02 11:00"]


def test_closed_it_fires_no_more():
    with world("2025-03-02 10:10") as life:
        handler = life.create(formatters=HOURS)
        life.during = lambda _firing: life.scheduler.close(0)
        life.sleep_until("2025-03-02 13:10")
        life.scheduler._look_at_all()
        life.pool.work()
        life.scheduler.create_refresh_workflow(workflow("u", last_scheduled_at=at("2025-01-01")))
        assert life.scheduler.next_run_at(handler) == at("2025-03-02 14:00")
    assert life.scheduled() == ["03-02 11:00"]


def test_what_is_not_there():
    nobody = FullRefreshHandler("embedded", "nobody", "")
    with world("2025-03-02 10:10") as life:
        for order in (SuspendRefreshWorkflow(nobody), ResumeRefreshWorkflow(nobody)):
            with pytest.raises(WorkflowNotFoundError) as caught:
                life.scheduler.modify_refresh_workflow(order)
            assert caught.value.parameters == {"scheduler": "embedded", "workflow": "nobody"}
        life.scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(nobody))
        assert life.scheduler.next_run_at(nobody) is None


def test_to_suspend_and_to_resume_twice_is_to_do_it_once():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        life.suspend(handler)
        life.suspend(handler)
        life.live_until("2025-03-02 13:10")
        life.resume(handler)
        life.resume(handler, last_scheduled_at=at("2025-03-02 01:00"))
    assert life.scheduled() == ["03-02 13:00"]


def test_the_catalog_keeps_its_handlers():
    with world("2025-03-02 10:10") as life:
        handler = life.create()
        serializer = life.scheduler.refresh_handler_serializer()
    assert serializer.deserialize(serializer.serialize(handler)) == handler


def test_with_threads_of_its_own():
    """One table blocks; another one runs beside it, and closing waits as long as it is told."""
    begun, end, other = Event(), Event(), Event()

    def fire(firing):
        if firing.table_id == "slow":
            begun.set()
            end.wait(30)
        else:
            other.set()

    scheduler = embedded.create(SchedulerContext(fire, now, threads=2))
    assert isinstance(scheduler, WorkflowScheduler)
    scheduler.open()
    yesterday = now() - timedelta(days=1)
    scheduler.create_refresh_workflow(workflow("slow", last_scheduled_at=yesterday))
    assert begun.wait(30)
    scheduler.create_refresh_workflow(workflow("other", last_scheduled_at=yesterday))
    assert other.wait(30)
    assert not scheduler.close(0.01)
    end.set()
    assert scheduler.close(30)


def test_orders_from_many_threads_while_the_timer_works():
    """Nobody waits for another for ever, and the last order of each holds."""
    fired = {name: Event() for name in "abcd"}

    def fire(firing):
        if firing.run_options:
            fired[firing.table_id].set()

    scheduler = embedded.create(SchedulerContext(fire, now, threads=2))
    scheduler.open()

    def order(name):
        past = now() - timedelta(seconds=5)
        for _ in range(50):
            asked = workflow(name, "1 second", last_scheduled_at=past)
            handler = scheduler.create_refresh_workflow(asked)
            scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(handler))
            scheduler.modify_refresh_workflow(ResumeRefreshWorkflow(handler))
            scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))
        last = workflow(name, "1 second", last_scheduled_at=past, run_options=(("k", "v"),))
        scheduler.create_refresh_workflow(last)

    threads = [Thread(target=order, args=(name,), daemon=True) for name in fired]
    for thread in threads:
        thread.start()
    assert all(event.wait(60) for event in fired.values())
    for thread in threads:
        thread.join(60)
    assert scheduler.close(60)
