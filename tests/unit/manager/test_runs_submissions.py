"""Refreshes that are asked for by name: known at once, and ended in every case."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import SuspendedError, TableNotFoundError
from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus
from dbt.adapters.spark_mt.execution.jobs import WAITING_MS, with_effective_status
from dbt.adapters.spark_mt.execution.refresh import RequestedRefresh
from dbt.adapters.spark_mt.execution.results import AdoptionTerms, RelayedStatement
from dbt.adapters.spark_mt.manager.runs import decode_request, encode_request
from dbt.adapters.spark_mt.manager.views import RefreshRequest, StatementRequest
from dbt.adapters.spark_mt.statements.nodes import PartitionValue
from tests.behaviour.hosting import EVENTS, FIRST, ROWS
from tests.support.errors import raises
from tests.support.parses import counted_parses
from tests.unit.manager.test_runs_scheduled import PARTITIONED
from tests.unit.manager.world import CATALOG, DAILY, HOURLY, LIVE, world

QUERY = "SELECT id, ds FROM days"
ON_TIME = RefreshRequest("t", is_periodic=True, schedule_time="2026-03-03 00:00:00")


@pytest.fixture
def life():
    with world() as found:
        yield found


@pytest.fixture
def manager(life):
    life.create("t", HOURLY)
    life.move(1)
    found = life.manager()
    found.tick()
    return found


def ask(manager, request: RefreshRequest) -> str:
    """Ask for a refresh; return its name."""
    return manager.manager.refresh(request).job_id


def ended(life, manager, job_id: str):
    """Let it come to its end, as whoever asks the manager and whoever asks the log see it."""
    manager.work()
    life.live(5)
    seen, written = manager.job(job_id), life.tables.memory.log.job("spark_catalog", job_id)
    assert (seen.status, seen.error, seen.rows) == (written.status, written.error, written.rows)
    rows = life.execute(f"DESC JOB '{job_id}'").rows
    assert rows[0][3] == written.status.value
    recorded = [job.status for job in life.tables.memory.log.appended if job.job_id == job_id]
    passing = {JobStatus.RUNNING, JobStatus.CANCELED} - {written.status}
    assert [status for status in recorded if status not in passing][1:] == [], "it is told once"
    return written


def test_a_refresh_is_listed_before_it_begins(life, manager):
    manager.threads.at_once = False
    life.append((4, 4, 4))
    submitted = manager.manager.refresh(RefreshRequest("`default`.t"))
    job = manager.job(submitted.job_id)
    assert (job.status, job.kind, job.table.name) == (JobStatus.RUNNING, JobKind.MANUAL, "t")
    assert life.execute(f"DESC JOB '{submitted.job_id}'").rows[0][3] == "RUNNING"
    assert dict(submitted.cluster)["pid"] == "1"
    for _ in range(10):
        life.move(20)
        life.tables.memory.heartbeat.tick()
    assert manager.job(submitted.job_id).status is JobStatus.RUNNING, "it waits, and says so"
    manager.dispatcher.dispatch()
    manager.threads.work()
    job = ended(life, manager, submitted.job_id)
    assert (job.status, job.rows, life.rows("t")) == (JobStatus.FINISHED, 4, 4)


def test_nothing_to_do_is_skipped(life, manager):
    job = ended(life, manager, ask(manager, RefreshRequest("t")))
    assert (job.status, job.error) == (JobStatus.SKIPPED, "")


def test_a_scheduled_refresh_with_nothing_to_do_is_skipped(life, manager):
    job = ended(life, manager, ask(manager, ON_TIME))
    assert (job.status, job.kind) == (JobStatus.SKIPPED, JobKind.SCHEDULED)


@pytest.mark.parametrize("request_", [RefreshRequest("t"), ON_TIME])
@pytest.mark.parametrize("step", ["analysis", "commit"])
def test_a_failed_request_is_not_retried(life, manager, request_, step):
    life.append((4, 4, 4))
    job_id = ask(manager, request_)
    if step == "analysis":
        life.tables.drop("events")
    else:
        manager.runner.broken["run"] = "disk full"
    job = ended(life, manager, job_id)
    manager.runner.broken.clear()
    assert job.status is JobStatus.FAILED
    assert ("disk full" in job.error) is (step == "commit")
    if step == "analysis":
        life.tables.source("events", EVENTS, [*FIRST, (4, 4, 4)])
    life.live(600, every=30)
    assert life.rows("t") == 3
    assert manager.refreshing.failures(life.tables.name("t")).count == 0


def test_a_refresh_that_always_conflicts_is_canceled(life, manager):
    life.append((4, 4, 4))
    job_id = ask(manager, RefreshRequest("t"))
    manager.conflicts = 100
    manager.work()
    job = manager.job(job_id)
    assert job.status is JobStatus.CANCELED
    assert "at the same time" in job.error


def test_a_refresh_that_conflicts_once_finishes_and_counts_once(life, manager):
    life.append((4, 4, 4))
    job_id = ask(manager, RefreshRequest("t"))
    manager.conflicts = 1
    assert ended(life, manager, job_id).status is JobStatus.FINISHED
    assert manager.manager.totals()[0].by_status == (("FINISHED", 1),)
    assert manager.view_of("t").recent[-1].status == "FINISHED"


def test_a_scheduled_refresh_of_a_table_suspended_meanwhile_is_canceled(life, manager):
    job_id = ask(manager, ON_TIME)
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    job = ended(life, manager, job_id)
    assert (job.status, "suspended" in job.error) == (JobStatus.CANCELED, True)


def test_a_refresh_of_a_table_dropped_meanwhile_has_failed(life, manager):
    job_id = ask(manager, RefreshRequest("t"))
    life.tables.drop("t")
    assert ended(life, manager, job_id).status is JobStatus.FAILED
    life.live(5)
    assert manager.manager.tables() == ()


def test_a_refresh_of_a_table_dropped_before_it_begins_is_canceled(life, manager):
    job_id = ask(manager, RefreshRequest("t"))
    life.execute("DROP MATERIALIZED TABLE t")
    manager.loop.tick()
    job = ended(life, manager, job_id)
    assert job.status is JobStatus.CANCELED
    assert "taken back" in job.error


@pytest.mark.parametrize("why", ["stopped", "killed", "lost"])
def test_a_waiting_refresh_is_kept_when_its_manager_ends(life, manager, why):
    """The next manager carries it out, and no reader of the log sees it fail meanwhile."""
    life.append((4, 4, 4))
    job_ids = [ask(manager, RefreshRequest("t")) for _ in range(3)]
    manager.loop.tick()  # killed later than within a tick
    if why == "stopped":
        manager.manager.stop(1)
        life.processes.remove(manager)
    elif why == "killed":
        life.kill(manager)
    else:
        manager.reconciler.become_standby()
    for job_id in job_ids:
        assert life.execute(f"DESC JOB '{job_id}'").rows[0][3] == "RUNNING"
    following = manager if why == "lost" else life.manager(2)
    life.live(20)
    found = Counter(following.job(job_id).status for job_id in job_ids)
    assert found == {JobStatus.FINISHED: 1, JobStatus.SKIPPED: 2}
    assert life.rows("t") == 4
    assert life.tables.memory.log.accepted("spark_catalog", 0) == ()


def test_a_manager_that_stops_accepts_nothing(manager):
    manager.manager.stop(1)
    with raises(conditions.REFRESH_NOT_ACCEPTED):
        ask(manager, RefreshRequest("t"))


def test_the_leader_runs_a_request_that_a_standby_accepted(life, manager):
    standby = life.manager(2)
    life.live(10)
    assert (manager.reconciler.leads, standby.reconciler.leads) == (True, False)
    life.append((4, 4, 4))
    job_id = ask(standby, RefreshRequest("t"))
    life.live(15)
    assert standby.dispatcher.running == 0
    assert standby.job(job_id).status is manager.job(job_id).status is JobStatus.FINISHED


def test_no_manager_for_a_day_cancels_what_waits(life, manager):
    job_id = ask(manager, RefreshRequest("t"))
    life.kill(manager)
    life.move(WAITING_MS / 1000 + 1)
    assert life.execute(f"DESC JOB '{job_id}'").rows[0][3] == "CANCELED"
    following = life.manager(2)
    life.live(10)
    job = following.job(job_id)
    assert (job.status, "24 hours" in job.error, life.rows("t")) == (JobStatus.CANCELED, True, 3)


def test_a_requested_refresh_is_stored_while_it_waits():
    requested = RequestedRefresh(
        partition=(PartitionValue("ds", "'2026-03-02'"), PartitionValue("h", None)),
        trigger="REST",
        run_options=(("spark.sql.shuffle.partitions", "7"),),
        refresh_id="j",
        scheduled_at=datetime(2026, 3, 2, 11, tzinfo=timezone.utc),
    )
    assert decode_request(encode_request(requested), "j") == requested
    assert decode_request(encode_request(RequestedRefresh(refresh_id="k")), "k").run_options is None


TABLES, REFRESHES = 100, 1_000


def test_a_thousand_accepted_refreshes_wait_without_a_false_state_and_without_commits(life):
    """As seen by the manager and by every other process, at every moment until all have ended."""
    names = [f"m{number}" for number in range(TABLES)]
    for name in names:
        life.create(name, DAILY)
    life.move(1)
    manager = life.manager()
    manager.tick()
    log = life.tables.memory.log
    life.append((4, 4, 4))
    manager.threads.at_once = False
    written = log.commits
    job_ids = [ask(manager, RefreshRequest(names[n % TABLES])) for n in range(REFRESHES)]
    life.live(5)
    assert log.commits - written <= 4, "their rows are written together"
    with raises(conditions.REFRESH_NOT_ACCEPTED) as full:
        replace(manager.submissions, most=REFRESHES - 10).submit(RefreshRequest("m0"))
    assert full.value.parameters["reason"] == f"{REFRESHES - 10} refreshes wait already"
    written = log.commits
    for _ in range(4):
        life.live(900, every=20)  # four of them run meanwhile, and nothing ends
        jobs = (log.job(CATALOG, job_id) for job_id in job_ids)
        seen = {with_effective_status(job, life.tables.environment).status for job in jobs}
        assert seen == {JobStatus.RUNNING}
        assert {manager.job(job_id).status for job_id in job_ids[::50]} == {JobStatus.RUNNING}
    assert (log.commits - written) / 60 <= 2, "commits a minute as in the benchmark"
    manager.threads.at_once = True
    while manager.threads.waiting:
        manager.threads.work()
    life.live(60)
    found = Counter(log.job(CATALOG, job_id).status for job_id in job_ids)
    assert found == {JobStatus.FINISHED: TABLES, JobStatus.SKIPPED: REFRESHES - TABLES}
    assert {life.rows(name) for name in names} == {4}


def test_the_stop_does_not_depend_on_how_many_wait(life, manager):
    manager.threads.at_once = False
    for _ in range(REFRESHES):
        ask(manager, RefreshRequest("t"))
    written = life.tables.memory.log.commits
    manager.manager.stop(1)
    assert life.tables.memory.log.commits - written <= REFRESHES / 500
    waiting = life.tables.memory.log.accepted(CATALOG, 0)
    assert len(waiting) == REFRESHES


def test_an_end_that_could_not_be_written_is_written_later(life, manager):
    """Otherwise the lease would show a refresh as running for as long as the manager lives."""
    life.append((4, 4, 4))
    job_id = ask(manager, RefreshRequest("t"))
    manager.log_port.broken["append"] = "disk full"
    manager.runner.broken["run"] = "disk full"
    manager.work()
    manager.log_port.broken.clear()
    manager.runner.broken.clear()
    life.live(5)
    assert life.tables.memory.log.job(CATALOG, job_id).status is JobStatus.FAILED


def test_a_refresh_without_ports_has_failed(life, manager):
    job_id = ask(manager, RefreshRequest("t"))

    def broken():
        raise ConnectionError

    manager.refreshing._environment, made = broken, manager.refreshing._environment
    manager.work()
    manager.refreshing._environment = made
    job = ended(life, manager, job_id)
    assert (job.status, job.error) == (JobStatus.FAILED, "ConnectionError")


def test_a_periodic_one_writes_the_partitions_of_its_period(life):
    life.tables.source("days", "id INT; ds STRING", [])
    life.learn(QUERY, "id INT; ds STRING", lambda r: list(r["days"]))
    life.create("d", PARTITIONED, QUERY)
    life.tables.append("days", [(day, f"2026-03-0{day}") for day in range(1, 4)])
    manager = life.manager()
    manager.tick()
    at = "2026-03-03 00:00:00"
    job_id = ask(manager, RefreshRequest("d", is_periodic=True, schedule_time=at))
    job = ended(life, manager, job_id)
    assert (job.status, life.tables.rows("d")) == (JobStatus.FINISHED, [(2, "2026-03-02")])
    assert life.scheduled("d") == ["03-03 00:00"]
    job_id = ask(manager, RefreshRequest("d"))
    assert ended(life, manager, job_id).rows == 3
    assert life.rows("d") == 3


def test_run_options_hold_for_this_refresh_only(life, manager):
    seen = []
    real = manager.runner._port.run
    options = (("spark.sql.shuffle.partitions", "7"),)

    class Watching:
        def run(self, step):
            if hasattr(step, "run"):
                seen.append(step.definition.run_options)
            return real(step)

    manager.runner._port = Watching()
    for given in options, ():
        life.append((4, 4, 4))
        job = ended(life, manager, ask(manager, RefreshRequest("t", run_options=given)))
        assert job.status is JobStatus.FINISHED
        assert life.tables.stored("t").definition.run_options == ()
    assert seen == [options, ()]


def test_a_refresh_of_a_continuous_table_catches_up_without_duplicates(life):
    life.create("t", LIVE)
    manager = life.manager()
    life.live(10)
    life.append((4, 4, 4), (4, 4, 4))
    job = ended(life, manager, ask(manager, RefreshRequest("t")))
    assert job.status is JobStatus.FINISHED
    life.live(120)
    assert life.rows("t") == 5


def test_what_cannot_be_begun_is_refused_and_leaves_no_job(life, manager):
    recorded = len(life.tables.memory.log.appended)
    with pytest.raises(TableNotFoundError):
        ask(manager, RefreshRequest("nothing"))
    with raises(conditions.INVALID_RUN_OPTIONS):
        ask(manager, RefreshRequest("t", run_options=(("nonsense", "1"),)))
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    with pytest.raises(SuspendedError):
        ask(manager, ON_TIME)
    assert len(life.tables.memory.log.appended) == recorded
    life.append((4, 4, 4))
    job = ended(life, manager, ask(manager, RefreshRequest("t")))
    assert (job.status, life.rows("t")) == (JobStatus.FINISHED, 4), "by hand it is allowed"


def test_many_at_once_run_one_after_the_other(life, manager):
    life.append((4, 4, 4))
    names = [ask(manager, RefreshRequest("t")) for _ in range(5)]
    statuses = [ended(life, manager, name).status for name in names]
    assert statuses == [JobStatus.FINISHED, *[JobStatus.SKIPPED] * 4]


def test_a_statement_is_carried_out_in_the_manager(life, manager):
    statement = RelayedStatement("ALTER MATERIALIZED TABLE t SUSPEND")
    request = StatementRequest(statement, "r1")
    assert manager.manager.execute(request).outcome.status == "SUSPENDED"
    assert life.status("t") == "SUSPENDED"


@pytest.mark.parametrize(
    "statement",
    [
        RelayedStatement("ALTER MATERIALIZED TABLE t SUSPEND"),
        RelayedStatement(f"CREATE OR ALTER MATERIALIZED TABLE t {HOURLY} AS {ROWS}", "auto"),
    ],
)
def test_a_manager_parses_a_statement_once(manager, monkeypatch, statement):
    parses = counted_parses(monkeypatch)
    manager.manager.execute(StatementRequest(statement, "r1"))
    assert parses == [statement.text]


@pytest.mark.parametrize(
    "statement",
    [
        RelayedStatement("SHOW MATERIALIZED TABLES"),
        RelayedStatement("SELECT 1"),
        RelayedStatement("ALTER MATERIALIZED TABLE t SUSPEND", "auto"),
        RelayedStatement(
            "CREATE OR REPLACE MATERIALIZED TABLE t AS SELECT 1 AS n", "auto", AdoptionTerms()
        ),
    ],
)
def test_a_statement_that_needs_no_manager_is_refused(manager, statement):
    with raises(conditions.NOT_EXECUTABLE):
        manager.manager.execute(StatementRequest(statement, "r1"))


def test_a_partition_is_refreshed_alone(life):
    life.learn(QUERY, "id INT; ds STRING", lambda r: list(r["days"]))
    life.tables.source("days", "id INT; ds STRING", [(1, "2026-03-01"), (2, "2026-03-02")])
    life.create("d", PARTITIONED, QUERY)
    life.move(1)
    manager = life.manager()
    manager.tick()
    life.tables.append("days", [(3, "2026-03-01"), (4, "2026-03-02")])
    request = RefreshRequest("d", partition=(("ds", "2026-03-02"),))
    job = ended(life, manager, ask(manager, request))
    assert (job.status, job.kind) == (JobStatus.FINISHED, JobKind.MANUAL)
    assert sorted(life.tables.rows("d")) == [
        (1, "2026-03-01"),
        (2, "2026-03-02"),
        (4, "2026-03-02"),
    ]


def test_a_partition_of_a_column_that_is_none_fails_the_job(life, manager):
    job = ended(life, manager, ask(manager, RefreshRequest("t", partition=(("ds", "x"),))))
    assert job.status is JobStatus.FAILED
    assert job.error.startswith(f"[{conditions.UNKNOWN_PARTITION_KEY.name}]")


def test_a_running_refresh_of_a_killed_manager_has_failed_and_is_not_repeated(life, manager):
    """It may be what ended the process: to begin it again would end the next one, too."""
    manager.threads.at_once = False
    life.append((4, 4, 4))
    job_ids = [ask(manager, RefreshRequest("t")) for _ in range(2)]
    manager.work()
    begun = replace(life.tables.memory.log.job(CATALOG, job_ids[0]), request="")
    manager.log.append(begun)  # what a refresh of two seconds writes of itself
    life.live(5)
    life.kill(manager)
    statuses = [life.execute(f"DESC JOB '{job_id}'").rows[0][3] for job_id in job_ids]
    assert statuses == ["FAILED", "RUNNING"]
    following = life.manager(2)
    life.live(20)
    assert [following.job(job_id).status for job_id in job_ids] == [
        JobStatus.FAILED,
        JobStatus.FINISHED,
    ]
    assert life.rows("t") == 4


def test_a_poll_of_an_accepted_refresh_reads_no_registry(life, manager):
    """A thousand clients that poll would otherwise keep the manager from its work."""
    manager.threads.at_once = False
    life.append((4, 4, 4))
    job_ids = [ask(manager, RefreshRequest("t")) for _ in range(3)]
    before = manager.log_port.calls["job"]
    seen = [manager.job(job_id).status for job_id in job_ids for _ in range(10)]
    assert set(seen) == {JobStatus.RUNNING}
    assert manager.log_port.calls["job"] == before
    manager.threads.at_once = True
    manager.work()
    ends = [manager.job(job_id) for job_id in job_ids]
    life.live(5)
    log = life.tables.memory.log
    for end in ends:
        stored = log.job(CATALOG, end.job_id)
        assert (end.status, end.rows, end.error) == (stored.status, stored.rows, stored.error)
    assert [end.status for end in ends] == [JobStatus.FINISHED, *[JobStatus.SKIPPED] * 2]


def test_a_manager_that_lost_the_lease_reads_what_the_next_one_writes(life, manager):
    job_id = ask(manager, RefreshRequest("t"))
    second = life.manager(2)
    second.tick()
    life.move(61)  # the first one is paused
    second.tick()
    assert second.reconciler.leads
    life.live(20)
    assert not manager.reconciler.leads
    assert manager.job(job_id).status is second.job(job_id).status is JobStatus.SKIPPED
