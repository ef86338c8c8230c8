"""What a manager writes: nothing while nothing happens, and figures once a minute for all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import JobStatus, Owner
from dbt.adapters.spark_mt.execution.jobs import with_effective_status
from tests.unit.manager.world import DAILY, LIVE, world

MINUTELY = "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = FULL"


@pytest.fixture
def life():
    with world() as found:
        yield found


class Commits:
    """Counts commits of the system tables since the last call."""

    def __init__(self, life) -> None:
        self._log, self._leases = life.tables.memory.log, life.tables.memory.leases
        self()

    def __call__(self):
        now = self._log.commits, len(self._leases.written)
        before = getattr(self, "_before", now)
        self._before = now
        return tuple(n - b for n, b in zip(now, before, strict=True))


def streams(life, number):
    """Tables that are hosted, each with a stream that has made a batch."""
    names = [f"t{each}" for each in range(number)]
    for name in names:
        life.create(name, LIVE)
    life.append((4, 4, 4))
    return names


def running(life, name):
    """The job rows of a table whose newest row says RUNNING."""
    rows = {job.job_id: job for job in life.tables.memory.log.appended}
    found = [job for job in rows.values() if job.table.name == name]
    return [job for job in found if job.status is JobStatus.RUNNING]


def as_shown(life, name):
    """How all others see the newest job of a table."""
    rows = life.execute("SHOW JOBS").rows
    return next(row[3] for row in rows if row[1].endswith(f".{name}"))


@pytest.mark.parametrize("number", [1, 20])
def test_nothing_is_written_while_nothing_happens(life, number):
    names = streams(life, number)
    life.create("daily", DAILY)
    manager = life.manager()
    life.live(120)
    commits = Commits(life)
    life.live(3600)
    assert commits() == (0, 0)
    assert manager.hosted() == set(names)
    assert as_shown(life, "t0") == "RUNNING", "the lease tells that its streams run"


def test_figures_of_fifty_streams_are_one_commit_a_minute(life):
    names = streams(life, 50)
    life.manager()
    life.live(120)
    for number in range(20):  # streams start again once, when it is known how long batches take
        life.append((50 + number, 1, 1))
        life.live(15)
    commits = Commits(life)
    for number in range(20):
        life.append((100 + number, 1, 1))
        life.live(15)
    registry, leases = commits()
    assert 4 <= registry <= 5, "five minutes"
    assert leases == 0
    known = life.tables.memory.log.tables("spark_catalog")
    assert len({table.last_refresh_at_ms for table in known}) <= len(names)
    assert [life.rows(name) for name in names] == [44] * 50


def test_refreshes_of_changed_sources_are_one_commit_a_minute(life):
    query = "SELECT count(*) AS n FROM events"
    life.learn(query, "n BIGINT", lambda rows: [(len(rows["events"]),)])
    for number in range(5):
        life.create(f"n{number}", LIVE, query)
    manager = life.manager()
    life.live(120)
    commits = Commits(life)
    for number in range(20):
        life.append((100 + number, 1, 1))
        life.live(15)
    assert 4 <= commits()[0] <= 5, "five minutes"
    life.live(60)
    assert life.tables.rows("n4") == [(23,)]
    manager.manager.stop(1)
    assert len(life.jobs("n4", "FINISHED")) >= 9, "each refresh has its row"
    known = {t.name.name: t for t in life.tables.memory.log.tables("spark_catalog")}
    newest = life.tables.stored("n4").last_refresh.started_at_ms
    assert known["n4"].last_refresh_at_ms == newest


def test_fifty_streams_that_start_are_one_commit(life):
    streams(life, 50)
    commits = Commits(life)
    life.manager()
    life.live(20)
    assert commits()[0] <= 3, "handlers, streams that started, figures"
    assert len(running(life, "t49")) == 1


def test_scheduled_refreshes_without_work_are_one_commit_a_minute(life):
    for number in range(10):
        life.create(f"f{number}", MINUTELY)
    life.manager()
    life.live(120)
    commits = Commits(life)
    life.live(600)
    assert commits() == (10, 0)
    assert len(life.scheduled("f9")) >= 10


def test_a_stream_that_fails_is_written_within_a_tick(life):
    streams(life, 3)
    manager = life.manager()
    life.live(120)
    commits = Commits(life)
    life.tables.drop("t1")
    manager.hosting.notice(life.tables.name("t1"))
    life.live(40)
    assert commits()[0] >= 1
    assert running(life, "t1") == []
    assert len(running(life, "t2")) == 1


def test_the_end_of_a_manager_is_noticed(life):
    """Its streams count as failed at once where the process is known to be gone."""
    streams(life, 2)
    first = life.manager(1)
    life.live(3600, every=20)
    assert as_shown(life, "t0") == "RUNNING"
    life.kill(first)
    assert as_shown(life, "t0") == "FAILED"


def test_missing_heartbeats_of_a_manager_on_another_machine_are_noticed(life):
    streams(life, 2)
    first = life.manager(1)
    life.live(3600, every=20)
    life.processes.remove(first)
    life.move(59)
    assert as_shown(life, "t0") == "RUNNING"
    life.move(12)
    assert as_shown(life, "t0") == "FAILED"


def test_streams_of_a_manager_that_lost_its_lease_count_no_longer(life):
    streams(life, 1)
    first = life.manager(1)
    life.live(3600, every=20)
    (job,) = running(life, "t0")
    life.processes.remove(first)
    second = life.manager(2)
    life.live(200)
    assert second.reconciler.leads
    environment = life.tables.environment
    assert with_effective_status(job, environment).status is JobStatus.FAILED
    assert as_shown(life, "t0") == "RUNNING", "the second one's"


def test_a_stream_at_rest_stays_in_the_log_for_ever(life):
    """Rows of the log are kept for 30 days; a row a day keeps a stream in it."""
    streams(life, 2)
    life.manager()
    life.live(120)
    commits = Commits(life)
    life.live(40 * 24 * 3600, every=3600)
    registry, _ = commits()
    assert 35 <= registry <= 45
    assert as_shown(life, "t0") == "RUNNING"


def test_a_failed_write_is_repeated(life):
    streams(life, 2)
    manager = life.manager()
    life.live(120)
    real, failed = manager.log_port._port.append, []

    def fail(*jobs, tables=()):
        failed.append((jobs, tables))
        raise ConnectionError

    manager.log_port._port.append = fail
    life.append((5, 5, 5))
    life.live(60)
    assert failed
    assert manager.loop.state.problem, "it shows in its health"
    manager.log_port._port.append = real
    life.live(10)
    assert manager.loop.state.problem == ""
    known = life.tables.memory.log.tables("spark_catalog")
    assert {table.last_refresh_at_ms for table in known} != {None}


def test_what_waits_is_written_when_the_manager_stops(life):
    life.create("f", MINUTELY)
    streams(life, 1)
    manager = life.manager()
    life.live(120)
    life.append((5, 5, 5))
    life.live(30)
    manager.hosting.forget(life.tables.name("t0"))
    life.live(5)
    manager.manager.stop(1)
    assert manager.log.deferred.waiting() == ()
    assert running(life, "t0") == []


def test_the_lease_covers_every_refresh_of_the_manager_and_of_no_other_process(life):
    streams(life, 1)
    manager = life.manager(1)
    life.live(120)
    (job,) = running(life, "t0")
    other = replace(
        job, kind=type(job.kind).MANUAL, last_heartbeat_ms=job.last_heartbeat_ms - 100_000
    )
    assert with_effective_status(other, life.tables.environment) is other
    foreign = replace(other, owner=Owner("elsewhere", 7))
    assert with_effective_status(foreign, manager.ports()).status is JobStatus.FAILED
    life.kill(manager)
    assert with_effective_status(other, life.tables.environment).status is JobStatus.FAILED
