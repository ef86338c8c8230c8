"""Heartbeats in threads, and two actions at the same time."""

from threading import Event, get_ident

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.context import (
    DeferredRows,
    ThreadedHeartbeat,
    run_parallel,
    run_sequential,
)

FOREVER = 3600.0


def test_a_heartbeat_is_written_until_it_is_stopped():
    called = Event()
    beats = []

    def beat():
        beats.append(get_ident())
        if len(beats) == 3:
            called.set()

    heartbeat = ThreadedHeartbeat(0, 0)(beat)
    assert called.wait(10)
    heartbeat.stop()
    seen = len(beats)
    heartbeat.stop()
    assert len(beats) == seen
    assert get_ident() not in beats


def test_a_fast_step_writes_no_heartbeat():
    beats = []
    ThreadedHeartbeat(FOREVER, FOREVER)(lambda: beats.append(1)).stop()
    assert beats == []


def test_stopping_waits_for_a_running_heartbeat():
    started, go_on, done = Event(), Event(), []

    def beat():
        started.set()
        assert go_on.wait(10)
        done.append(1)

    heartbeat = ThreadedHeartbeat(0, FOREVER)(beat)
    assert started.wait(10)
    go_on.set()
    heartbeat.stop()
    assert done == [1]


@pytest.mark.parametrize("run_both", [run_sequential, run_parallel])
def test_both_end_although_one_fails(run_both):
    done = []

    def fail():
        raise KeyError

    with pytest.raises(KeyError):
        run_both(lambda: done.append(1), fail)
    assert done == [1]


def row(name: str) -> Job:
    owner = Owner("node", 1)
    table = TableName("t", "s", "c")
    return Job(name, table, JobKind.MANUAL, JobStatus.RUNNING, 0, 0, owner, "REST")


def test_a_write_ends_although_rows_come_as_fast_as_they_are_written():
    """Otherwise the tick of a manager under load would never come to its heartbeat."""
    written = []

    def write(*jobs, **_):
        written.append([job.job_id for job in jobs])
        assert len(written) < 10, "it does not end"
        deferred.changed(row(f"meanwhile {len(written)}"))

    deferred = DeferredRows(write, lambda: 0)
    deferred.changed(row("first"))
    deferred.write()
    assert written == [["first"]]
    deferred.write()
    assert written == [["first"], ["meanwhile 1"]]


def test_a_row_that_may_wait_is_not_written_while_others_are_written_or_soon_after():
    now, written = [100_000], []

    def write(*jobs, **_):
        written.append(len(jobs))
        deferred.changed(row("other"))
        deferred.write_apart(0)  # as another thread would

    deferred = DeferredRows(write, lambda: now[0])
    deferred.changed(row("first"))
    deferred.write_apart(5_000)
    assert written == [1]
    now[0] += 4_999
    deferred.write_apart(5_000)
    assert written == [1]
    now[0] += 1
    deferred.write_apart(5_000)
    assert written == [1, 1]
