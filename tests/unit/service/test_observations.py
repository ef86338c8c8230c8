"""What a manager shows of tables and of itself."""

from __future__ import annotations

from queue import Queue

import pytest

from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.service.loop import Loop
from dbt.adapters.spark_mt.service.views import Promise, Role
from tests.behaviour.hosting import EVENTS, FIRST
from tests.unit.service.world import HOURLY, utc_now, world


@pytest.fixture
def life():
    with world() as found:
        yield found


def now_ms():
    return round(utc_now().timestamp() * 1000)


def test_a_table_that_is_followed(life):
    life.create("t")
    life.move(1)
    manager = life.manager()
    life.live(60)
    life.append((4, 4, 4), (5, 5, 5))
    life.live(60)
    view = manager.view_of("t")
    assert (view.activity, view.promise, view.engine) == ("streaming", Promise.KEPT, "stream")
    assert (view.strategy, view.rows, view.failures) == ("append", 2, 0)
    assert view.lag_seconds <= 60
    assert view.last_refresh_at_ms >= now_ms() - 60_000
    assert (view.schedule, view.next_run_at_ms) == (None, None)
    assert view.reads == ("spark_catalog.default.events",)
    assert "process 1 on node" in view.refresh_handler
    assert [(p.status, p.rows) for p in view.recent if p.started_at_ms > 0][-1] == ("FINISHED", 2)
    totals = manager.manager.totals()[0]
    assert (dict(totals.by_status), totals.rows) == ({"FINISHED": 1}, 2)


def test_commits_of_a_host_are_counted_once(life):
    """By streams and by refreshes, of which the log tells as well."""
    life.create("t")
    life.move(1)
    manager = life.manager()
    life.live(30)
    for number in range(4, 8):
        life.append((number, 1, 1))
        if number == 6:
            life.tables.delete("events", "id", 1)
        life.live(90)
    commits = life.tables.stored("t").seq - 1
    totals = manager.manager.totals()[0]
    assert dict(totals.by_status)["FINISHED"] == commits
    hosted = life.jobs("t", "FINISHED")
    assert any(job.kind is JobKind.CONTINUOUS for job in hosted), "the log tells of some, too"


def test_a_scheduled_table(life):
    life.create("f", HOURLY)
    manager = life.manager()
    life.live(60)
    view = manager.view_of("f")
    assert (view.activity, view.promise, view.engine) == ("scheduled", Promise.KEPT, "batch")
    assert view.next_run_at_ms == now_ms() + 39 * 60_000
    assert (view.schedule.text, view.schedule.cron, view.schedule.zone) == (
        "every hour",
        "0 * * * *",
        "UTC",
    )
    assert view.lag_seconds == 60
    manager.threads.at_once = False
    life.append((4, 4, 4))
    life.live(40 * 60, every=30)
    assert manager.view_of("f").activity == "refreshing"
    assert manager.manager.about().refreshes_running == 1
    manager.threads.work()
    assert manager.view_of("f").activity == "scheduled"


def test_a_promise_that_is_broken(life):
    life.create("f", HOURLY)
    manager = life.manager(give_up_after=0)
    life.live(60)
    life.tables.drop("events")
    life.live(90 * 60, every=60)
    view = manager.view_of("f")
    assert (view.promise, view.activity) == (Promise.BEHIND, "failing")
    assert view.lag_seconds == 91 * 60
    assert view.failures == len([p for p in view.recent if p.status == "FAILED"]) > 1
    assert dict(manager.manager.totals()[0].by_status)["FAILED"] == view.failures
    life.tables.source("events", EVENTS, FIRST)
    life.live(300)
    assert manager.view_of("f").promise is Promise.KEPT


def test_a_suspended_table_promises_nothing(life):
    life.create("t")
    manager = life.manager()
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    life.live(3600, every=60)
    view = manager.view_of("t")
    assert (view.promise, view.activity, view.problem) == (Promise.NONE, "suspended", "")


def test_a_refresh_whose_process_died_is_shown_as_failed(life):
    life.create("f", HOURLY)
    manager = life.manager()
    life.live(10)
    dead, now = Owner("node", 77), now_ms()
    job = Job(
        "j", life.tables.name("f"), JobKind.MANUAL, JobStatus.RUNNING, now, now, dead, "REFRESH"
    )
    life.tables.memory.log.append(job)
    life.live(5)
    assert manager.view_of("f").recent[-1].status == "RUNNING"
    life.tables.memory.processes.gone.add(dead)
    life.create("other")
    life.live(5)
    point = manager.view_of("f").recent[-1]
    assert (point.status, point.error) == ("FAILED", "process 77 on node is gone")
    assert manager.manager.history("f")[0].status is JobStatus.FAILED
    assert manager.job("j").status is JobStatus.FAILED
    assert manager.job("unknown") is None


def test_role_and_health_in_every_state(life):
    life.create("t")
    manager = life.manager()
    view, loop = manager.manager, manager.loop
    assert view.about().role is Role.STARTING
    assert not view.health().is_ready
    manager.registry.broken["version"] = "no route"
    manager.tick()
    assert view.about().role is Role.STARTING
    assert any("no route" in problem for problem in view.health().problems)
    manager.registry.broken.clear()
    loop._thread.is_alive = lambda: True
    manager.tick()
    about, health = view.about(), view.health()
    assert (about.role, about.queries_running, about.catalog) == (Role.ACTIVE, 1, "spark_catalog")
    assert (health.is_alive, health.is_ready, health.problems) == (True, True, ())
    manager.registry.broken["version"] = "no route"
    manager.tick()
    health = view.health()
    assert (health.is_alive, health.is_ready, len(health.problems)) == (True, True, 1)
    life.move(120)
    health = view.health()
    assert (health.is_alive, health.is_ready) == (False, False)


def test_the_loop_ticks_in_a_thread_is_woken_and_stopped():
    """A tick that fails is followed by the next, and none is told in vain to come at once."""
    ticks = Queue()

    class Reconciler:
        count = 0

        def tick(self):
            self.count += 1
            ticks.put(self.count)
            if self.count == 2:
                raise ConnectionError

    loop = Loop(Reconciler(), 3_600_000, now_ms)
    assert not loop.is_alive
    loop.start()
    for number in range(1, 50):
        assert ticks.get(timeout=20) == number
        loop.wake()
    assert loop.is_alive
    assert loop.stop(20)
    assert not loop.is_alive
    assert loop.state.ticks >= 48
    assert loop.state.problem == ""
