"""What became of refreshes is shown as it is, and counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.host_progress import HostProgress
from dbt.adapters.spark_mt.service.tally import KEPT, Tally

T = TableName("t", "s", "c")
HERE = Owner("node", 1)
SINCE = 1_000_000


def job(id_="j", status=JobStatus.FINISHED, began=SINCE, took=100, **more) -> Job:
    ended = None if status is JobStatus.RUNNING else began + took
    heard = began if ended is None else ended
    return Job(
        id_,
        T,
        JobKind.SCHEDULED,
        status,
        began,
        heard,
        HERE,
        "SCHEDULED",
        ended_at_ms=ended,
        **more,
    )


@pytest.fixture
def tally():
    return Tally(SINCE)


def counts(tally):
    return dict(tally.totals()[0].by_status)


def statuses(tally):
    return [point.status for point in tally.points(T)]


def test_each_job_counts_once_however_often_it_is_read(tally):
    jobs = [
        job("a", JobStatus.RUNNING),
        job("a", rows=5),
        job("b", JobStatus.SKIPPED, SINCE + 1),
        job("c", JobStatus.FAILED, SINCE + 2, error="full"),
        job("d", JobStatus.CANCELED, SINCE + 3),
    ]
    for _ in range(3):
        for each in jobs:
            tally.note([each])
        tally.note(jobs)
    assert counts(tally) == {"FINISHED": 1, "SKIPPED": 1, "FAILED": 1, "CANCELED": 1}
    totals = tally.totals()[0]
    assert (totals.rows, totals.duration_seconds, totals.table) == (5, 0.4, "c.s.t")
    assert totals.last_success_at_ms == SINCE + 101
    assert statuses(tally) == ["FINISHED", "SKIPPED", "FAILED", "CANCELED"]


def test_what_ended_before_is_shown_and_not_counted(tally):
    tally.note([job("a", began=SINCE - 500, rows=3)])
    assert (counts(tally), statuses(tally)) == ({}, ["FINISHED"])
    assert tally.table(T).rows == 3
    assert tally.totals()[0].last_success_at_ms == SINCE - 400


def test_failures_in_a_row_end_with_a_success(tally):
    tally.note([job(str(n), JobStatus.FAILED, SINCE + n, error=f"e{n}") for n in range(3)])
    assert (tally.table(T).failures, tally.table(T).problem) == (3, "e2")
    tally.note([job("c", JobStatus.CANCELED, SINCE + 5)])
    assert tally.table(T).failures == 3, "a canceled one tells nothing"
    tally.note([job("s", JobStatus.SKIPPED, SINCE + 10)])
    assert (tally.table(T).failures, tally.table(T).problem) == (0, "")
    assert tally.table(T).last_started_at_ms == SINCE + 10


def test_one_that_was_beaten_first_counts_as_it_ended(tally):
    tally.note([job(status=JobStatus.CANCELED)])
    assert counts(tally) == {"CANCELED": 1}
    tally.note([job(status=JobStatus.RUNNING)])
    tally.note([job(rows=2)])
    tally.note([job(status=JobStatus.CANCELED)])
    assert (counts(tally), statuses(tally)) == ({"FINISHED": 1}, ["FINISHED"])


def test_one_whose_owner_is_gone_is_shown_as_failed_also_later(tally):
    """The log says nothing new of it: it is judged again each time."""
    is_gone = False

    def judge(each):
        if not is_gone or each.status is not JobStatus.RUNNING:
            return each
        return replace(each, status=JobStatus.FAILED, ended_at_ms=SINCE + 50, error="gone")

    tally.note([job(status=JobStatus.RUNNING)], judge)
    assert [p.duration_ms for p in tally.points(T)] == [None]
    is_gone = True
    tally.note([], judge)
    point = tally.points(T)[0]
    assert (point.status, point.error, point.duration_ms) == ("FAILED", "gone", 50)
    assert counts(tally) == {}, "the log does not say so"
    tally.note([job()], judge)
    assert (counts(tally), statuses(tally)) == ({"FINISHED": 1}, ["FINISHED"])


def test_the_newest_are_kept_in_order(tally):
    tally.note([job(str(n), began=SINCE + n) for n in reversed(range(KEPT + 10))])
    starts = [point.started_at_ms for point in tally.points(T)]
    assert starts == list(range(SINCE + 10, SINCE + KEPT + 10))
    assert counts(tally) == {"FINISHED": KEPT + 10}


def progress(batches, rows, at, **more):
    return HostProgress("c.s.t", batches=batches, rows=rows, committed_at_ms=at, **more)


def test_batches_count_by_progress(tally):
    for _ in range(2):
        tally.note_batches(T, progress(2, 10, SINCE + 300, looked_at_ms=SINCE + 100))
    for _ in range(2):
        tally.note_batches(T, progress(3, 14, SINCE + 900, looked_at_ms=SINCE + 800))
    totals = tally.totals()[0]
    assert (counts(tally), totals.rows, totals.duration_seconds) == ({"FINISHED": 3}, 14, 0.3)
    assert (totals.last_success_at_ms, tally.table(T).rows) == (SINCE + 900, 4)
    assert [(p.started_at_ms, p.rows) for p in tally.points(T)] == [
        (SINCE + 100, 10),
        (SINCE + 800, 4),
    ]


def test_a_host_that_began_anew_counts_on(tally):
    tally.note_batches(T, progress(5, 50, SINCE + 100))
    tally.note_batches(T, progress(0, 0, 0))
    tally.note_batches(T, progress(1, 7, SINCE + 200))
    assert (counts(tally), tally.totals()[0].rows) == ({"FINISHED": 6}, 57)


def test_what_batches_tell_of_is_not_counted_by_the_log_again(tally):
    """A stream has one row in the log for all of its life; a refresh of a host has one, too."""
    stream = replace(job("stream", took=10**9, rows=14), kind=JobKind.CONTINUOUS)
    running = replace(stream, status=JobStatus.RUNNING, ended_at_ms=None)
    tally.note_batches(T, progress(3, 14, SINCE + 900, looked_at_ms=SINCE + 800))
    tally.note([running])
    tally.note([stream])
    totals = tally.totals()[0]
    assert (counts(tally), totals.rows, totals.duration_seconds) == ({"FINISHED": 3}, 14, 0.1)
    assert len(tally.points(T)) == 1
    failed = replace(job("f", JobStatus.FAILED, error="no"), kind=JobKind.CONTINUOUS)
    tally.note([failed])
    assert (counts(tally)["FAILED"], tally.table(T).problem) == (1, "no")
    tally.note_batches(T, progress(4, 14, SINCE + 2_000))
    assert tally.table(T).problem == ""


def test_tables_that_are_gone_are_forgotten(tally):
    other = TableName("u", "s", "c")
    tally.note([job(), replace(job("o"), table=other), replace(job("r"), table=other)])
    tally.note([replace(job("x", JobStatus.RUNNING), table=other)])
    tally.keep([T])
    tally.note([])
    assert [each.table for each in tally.totals()] == ["c.s.t"]
    assert (tally.points(other), tally.table(other).failures) == ((), 0)
