"""What a manager shows of tables and of itself."""

from __future__ import annotations

import math
from dataclasses import replace
from queue import Queue
from threading import Event
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import Freshness, FreshnessStatus
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.ports import KnownTable
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from dbt.adapters.spark_mt.manager.reconciler import Loop
from dbt.adapters.spark_mt.manager.table_views import Observed, TableStatistics, table_view
from dbt.adapters.spark_mt.manager.views import RefreshPoint, Role
from dbt.adapters.spark_mt.strategies.strategy import Choice, Cost
from tests.behaviour.hosting import EVENTS, FIRST, LIVE
from tests.unit.manager.world import DAILY, HOURLY, utc_now, world


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
    assert (view.activity, view.freshness_status, view.engine) == (
        "streaming",
        FreshnessStatus.MET,
        "stream",
    )
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
    """By streams and by refreshes, of which the log has rows as well."""
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
    assert (view.activity, view.freshness_status, view.engine) == (
        "scheduled",
        FreshnessStatus.MET,
        "batch",
    )
    assert view.next_run_at_ms == now_ms() + 39 * 60_000
    assert (view.schedule.text, view.schedule.cron, view.schedule.zone) == (
        "every hour",
        "0 * * * *",
        "UTC",
    )
    assert (view.lag_seconds, view.allowed_lag_seconds) == (0, 3600)
    manager.threads.at_once = False
    life.append((4, 4, 4))
    life.live(40 * 60, every=30)
    assert manager.view_of("f").activity == "refreshing"
    assert manager.manager.about().refreshes_running == 1
    manager.threads.work()
    assert manager.view_of("f").activity == "scheduled"


def test_the_next_refresh_is_expected_to_take_as_long_as_the_last_one():
    choice = Choice("incremental", "recompute", cost=Cost(2.5, 10))
    table = KnownTable(
        name=TableName("t", "s", "c"),
        table_id="t",
        generation=1,
        refresh_mode=RefreshMode.FULL,
        declared_refresh_mode="FULL",
        freshness=Freshness.parse("1 hour"),
        status=RefreshStatus.ACTIVATED,
    )
    points = tuple(
        RefreshPoint(at, took, status, 1, "")
        for at, took, status in (
            (1, 3_000, "FINISHED"),
            (2, 4_000, "FINISHED"),
            (3, 9_000, "FAILED"),
            (4, None, "RUNNING"),
        )
    )
    seen = Observed(table, None, TableStatistics(), points, "", None, is_refreshing=False)
    assert table_view(seen, 0).estimated_refresh_seconds == 4.0
    assert table_view(replace(seen, points=()), 0).estimated_refresh_seconds is None
    hosted = replace(
        seen,
        table=replace(table, refresh_mode=RefreshMode.CONTINUOUS),
        progress=SimpleNamespace(
            choice=choice, failures=0, phase=HostPhase.FOLLOWING, checked_at_ms=0
        ),
    )
    assert table_view(hosted, 0).estimated_refresh_seconds == 2.5
    new = SimpleNamespace(choice=None, failures=0, phase=HostPhase.FOLLOWING, checked_at_ms=0)
    assert table_view(replace(hosted, progress=new), 0).estimated_refresh_seconds is None


def test_a_table_that_is_late(life):
    life.create("f", HOURLY)
    manager = life.manager(suspend_after=0)
    life.live(60)
    life.tables.drop("events")
    life.live(90 * 60, every=60)
    view = manager.view_of("f")
    assert (view.freshness_status, view.activity) == (FreshnessStatus.LATE, "failing")
    assert view.lag_seconds == 91 * 60
    assert view.failures == len([p for p in view.recent if p.status == "FAILED"]) > 1
    assert dict(manager.manager.totals()[0].by_status)["FAILED"] == view.failures
    life.tables.source("events", EVENTS, FIRST)
    life.live(300)
    assert manager.view_of("f").freshness_status is FreshnessStatus.MET


def test_a_suspended_table_has_nothing_to_meet(life):
    life.create("t")
    manager = life.manager()
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    life.live(3600, every=60)
    view = manager.view_of("t")
    assert (view.freshness_status, view.activity, view.problem) == (
        FreshnessStatus.NONE,
        "suspended",
        "",
    )


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
    """A tick that fails is followed by the next, and no request for an early one is lost."""
    ticks = Queue()

    class Reconciler:
        count = 0

        def tick(self):
            self.count += 1
            ticks.put(self.count)
            if self.count == 2:
                raise ConnectionError

    loop = Loop(Reconciler(), lambda: math.inf, 3_600_000, now_ms)
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


def test_the_loop_submits_due_runs_between_ticks(caplog):
    """It waits as long as the scheduler says; a failure is logged and ends at the next tick."""
    calls, failed = Queue(), Event()

    class Reconciler:
        def tick(self):
            calls.put("tick")

    def run_due():
        calls.put("run_due")
        if calls.qsize() > 5:
            failed.set()
            raise ConnectionError
        return 0.001

    loop = Loop(Reconciler(), run_due, 3_600_000, now_ms)
    loop.start()
    assert failed.wait(20)
    loop.wake()
    assert loop.stop(20)
    found = [calls.get() for _ in range(6)]
    assert found == ["tick", *["run_due"] * 5]
    assert "scheduled runs were not submitted" in caplog.text


def test_the_freshness_of_a_cascade_counts_from_its_base_tables(life):
    """Its own source is read; that this is late itself counts all the same."""
    life.chain("a", "b")
    manager = life.manager()
    life.live(30)
    assert [manager.view_of(n).freshness_status for n in "ab"] == [FreshnessStatus.MET] * 2
    life.execute("ALTER MATERIALIZED TABLE a SUSPEND")
    life.append((4, 4, 4))
    life.live(90)
    above, below = manager.view_of("b"), manager.view_of("a")
    assert (above.lag_seconds, above.own_lag_seconds) == (90, 0)
    assert (above.freshness_status, below.freshness_status) == (
        FreshnessStatus.LATE,
        FreshnessStatus.NONE,
    )
    assert [(stage.table, stage.seconds) for stage in above.lag_stages] == [
        ("spark_catalog.default.a", 90),
        ("spark_catalog.default.b", 0),
    ]
    life.execute("ALTER MATERIALIZED TABLE a RESUME")
    life.live(120)
    view = manager.view_of("b")
    assert (view.freshness_status, view.lag_seconds) == (FreshnessStatus.MET, 0)
    assert view.lag_measured_at_ms == now_ms()


def test_a_full_table_is_on_time_until_its_next_run_can_have_ended(life):
    """Rows that came right after a run are missing until the end of the next one."""
    life.create("f", HOURLY)
    manager = life.manager()
    manager.threads.at_once = False
    life.live(40 * 60, every=30)
    life.append((4, 4, 4))
    life.live(60, every=30)
    assert manager.threads.waiting, "the run of the full hour waits for a thread"
    life.live(58 * 60, every=30)
    assert manager.view_of("f").freshness_status is FreshnessStatus.MET
    life.live(3 * 60, every=30)
    assert manager.view_of("f").freshness_status is FreshnessStatus.LATE


def test_a_lag_that_cannot_be_measured_is_unknown_and_affects_no_other(life, caplog):
    life.create("t")
    life.create("u")
    manager = life.manager()
    life.live(10)
    states, newest = manager.lags._states, manager.lags._states.newest

    def broken(name):
        if name.name == "t":
            raise OSError(5, "no route")
        return newest(name)

    states.newest = broken
    life.live(30)
    assert manager.view_of("t").freshness_status is FreshnessStatus.UNKNOWN
    assert manager.view_of("u").freshness_status is FreshnessStatus.MET
    recorded = [r for r in caplog.records if "cannot be measured" in r.getMessage()]
    assert len(recorded) == 1
    del states.newest
    life.live(5)
    assert manager.view_of("t").freshness_status is FreshnessStatus.MET


def test_a_costly_measurement_is_followed_by_a_pause(life):
    """Looking for missing changes may use a fiftieth of the time, and waits a minute at most."""
    life.create("t")
    manager = life.manager()
    life.live(10)
    states = manager.lags._states
    slow = {"seconds": 0.5}
    newest = states.newest
    states.newest = lambda name: life.move(slow["seconds"]) or newest(name)
    life.move(5)
    manager.lags.tick(manager.view.tables)
    before = states.calls["newest"]
    for seconds in (20, 4):
        life.move(seconds)
        manager.lags.tick(manager.view.tables)
        assert states.calls["newest"] == before
    slow["seconds"] = 10
    life.move(1)
    manager.lags.tick(manager.view.tables)
    assert states.calls["newest"] == before + 1
    life.move(61)
    manager.lags.tick(manager.view.tables)
    assert states.calls["newest"] == before + 2


def test_a_lag_is_measured_after_a_hundredth_of_the_freshness_or_a_refresh(life):
    life.create("t", DAILY)
    manager = life.manager()
    life.live(60)
    states = manager.lags._states
    before = states.calls["newest"]
    life.live(13 * 60, every=60)
    assert states.calls["newest"] == before
    life.live(2 * 60, every=60)
    assert states.calls["newest"] == before + 1
    life.append((4, 4, 4))
    life.execute("ALTER MATERIALIZED TABLE t REFRESH")
    life.live(60, every=60)
    assert states.calls["newest"] == before + 2


VERIFIED = f"WITH ('verify' = '1') {LIVE}"


def test_a_verification_that_found_wrong_rows(life):
    life.create("t", VERIFIED)
    manager = life.manager()
    life.live(60)
    life.append((4, 4, 4))
    life.live(60)
    view = manager.view_of("t")
    assert (view.verification.result, view.verification.problem) == ("equal", "")
    assert manager.manager.health().findings == ()
    life.tables.delete("t", "id", 1)
    life.append((5, 5, 5))
    life.live(90)
    view = manager.view_of("t")
    assert view.verification.result == "different"
    assert '"id": 1' in view.verification.problem
    assert (view.failures, view.problem) == (0, "")
    (finding,) = manager.manager.health().findings
    assert "spark_catalog.default.t" in finding
    assert dict(manager.manager.totals()[0].by_verification) == {"equal": 1, "different": 1}
    assert len(life.tables.rows("t")) == 5  # repaired
    later = life.manager(pid=2)  # it reads the finding from the log
    life.live(60)
    assert later.view_of("t").verification == view.verification
    life.execute(f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS SELECT id, k, v FROM events")
    life.live(60)
    assert manager.view_of("t").verification is None
    assert manager.manager.health().findings == ()
