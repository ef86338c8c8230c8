"""What became of refreshes is shown as it is, and counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.verification import Verification, VerificationResult
from dbt.adapters.spark_mt.hosting.policy import HostProgress
from dbt.adapters.spark_mt.manager.table_views import KEPT, RefreshStatistics

T = TableName("t", "s", "c")
HERE = Owner("node", 1)
SINCE = 1_000_000


def job(id_="j", status=JobStatus.FINISHED, began=SINCE, took=100, **more) -> Job:
    ended = None if status is JobStatus.RUNNING else began + took
    last_heartbeat_ms = began if ended is None else ended
    return Job(
        id_,
        T,
        JobKind.SCHEDULED,
        status,
        began,
        last_heartbeat_ms,
        HERE,
        "SCHEDULED",
        ended_at_ms=ended,
        **more,
    )


@pytest.fixture
def statistics():
    return RefreshStatistics(SINCE)


def counts(statistics):
    return dict(statistics.totals()[0].by_status)


def statuses(statistics):
    return [point.status for point in statistics.points(T)]


def test_each_job_counts_once_however_often_it_is_read(statistics):
    jobs = [
        job("a", JobStatus.RUNNING),
        job("a", rows=5),
        job("b", JobStatus.SKIPPED, SINCE + 1),
        job("c", JobStatus.FAILED, SINCE + 2, error="full"),
        job("d", JobStatus.CANCELED, SINCE + 3),
    ]
    for _ in range(3):
        for each in jobs:
            statistics.note([each])
        statistics.note(jobs)
    assert counts(statistics) == {"FINISHED": 1, "SKIPPED": 1, "FAILED": 1, "CANCELED": 1}
    totals = statistics.totals()[0]
    assert (totals.rows, totals.duration_seconds, totals.table) == (5, 0.4, "c.s.t")
    assert totals.last_success_at_ms == SINCE + 101
    assert statuses(statistics) == ["FINISHED", "SKIPPED", "FAILED", "CANCELED"]


def test_jobs_that_ended_before_are_shown_and_not_counted(statistics):
    statistics.note([job("a", began=SINCE - 500, rows=3)])
    assert (counts(statistics), statuses(statistics)) == ({}, ["FINISHED"])
    assert statistics.table(T).rows == 3
    assert statistics.totals()[0].last_success_at_ms == SINCE - 400


def test_failures_in_a_row_end_with_a_success(statistics):
    statistics.note([job(str(n), JobStatus.FAILED, SINCE + n, error=f"e{n}") for n in range(3)])
    assert (statistics.table(T).failures, statistics.table(T).problem) == (3, "e2")
    statistics.note([job("c", JobStatus.CANCELED, SINCE + 5)])
    assert statistics.table(T).failures == 3, "a canceled one tells nothing"
    statistics.note([job("s", JobStatus.SKIPPED, SINCE + 10)])
    assert (statistics.table(T).failures, statistics.table(T).problem) == (0, "")
    assert statistics.table(T).last_started_at_ms == SINCE + 10


def test_a_refresh_after_a_conflict_counts_by_its_end(statistics):
    statistics.note([job(status=JobStatus.CANCELED)])
    assert counts(statistics) == {"CANCELED": 1}
    statistics.note([job(status=JobStatus.RUNNING)])
    statistics.note([job(rows=2)])
    statistics.note([job(status=JobStatus.CANCELED)])
    assert (counts(statistics), statuses(statistics)) == ({"FINISHED": 1}, ["FINISHED"])


def test_a_job_whose_owner_ended_is_shown_as_failed_also_later(statistics):
    """The log has nothing new of it: its effective status is computed each time."""
    is_gone = False

    def with_effective_status(each):
        if not is_gone or each.status is not JobStatus.RUNNING:
            return each
        return replace(each, status=JobStatus.FAILED, ended_at_ms=SINCE + 50, error="gone")

    statistics.note([job(status=JobStatus.RUNNING)], with_effective_status)
    assert [p.duration_ms for p in statistics.points(T)] == [None]
    is_gone = True
    statistics.note([], with_effective_status)
    point = statistics.points(T)[0]
    assert (point.status, point.error, point.duration_ms) == ("FAILED", "gone", 50)
    assert counts(statistics) == {}, "the log does not say so"
    statistics.note([job()], with_effective_status)
    assert (counts(statistics), statuses(statistics)) == ({"FINISHED": 1}, ["FINISHED"])


def test_the_newest_are_kept_in_order(statistics):
    statistics.note([job(str(n), began=SINCE + n) for n in reversed(range(KEPT + 10))])
    starts = [point.started_at_ms for point in statistics.points(T)]
    assert starts == list(range(SINCE + 10, SINCE + KEPT + 10))
    assert counts(statistics) == {"FINISHED": KEPT + 10}


def progress(batches, rows, at, **more):
    return HostProgress("c.s.t", batches=batches, rows=rows, committed_at_ms=at, **more)


def test_batches_count_by_progress(statistics):
    for _ in range(2):
        statistics.note_batches(T, progress(2, 10, SINCE + 300, checked_at_ms=SINCE + 100))
    for _ in range(2):
        statistics.note_batches(T, progress(3, 14, SINCE + 900, checked_at_ms=SINCE + 800))
    totals = statistics.totals()[0]
    assert (counts(statistics), totals.rows, totals.duration_seconds) == ({"FINISHED": 3}, 14, 0.3)
    assert (totals.last_success_at_ms, statistics.table(T).rows) == (SINCE + 900, 4)
    assert [(p.started_at_ms, p.rows) for p in statistics.points(T)] == [
        (SINCE + 100, 10),
        (SINCE + 800, 4),
    ]


def test_a_restarted_host_continues_its_counts(statistics):
    statistics.note_batches(T, progress(5, 50, SINCE + 100))
    statistics.note_batches(T, progress(0, 0, 0))
    statistics.note_batches(T, progress(1, 7, SINCE + 200))
    assert (counts(statistics), statistics.totals()[0].rows) == ({"FINISHED": 6}, 57)


def test_batches_are_not_counted_again_from_the_log(statistics):
    """A stream has one row in the log for all of its life; a refresh of a host has one, too."""
    stream = replace(job("stream", took=10**9, rows=14), kind=JobKind.CONTINUOUS)
    running = replace(stream, status=JobStatus.RUNNING, ended_at_ms=None)
    statistics.note_batches(T, progress(3, 14, SINCE + 900, checked_at_ms=SINCE + 800))
    statistics.note([running])
    statistics.note([stream])
    totals = statistics.totals()[0]
    assert (counts(statistics), totals.rows, totals.duration_seconds) == ({"FINISHED": 3}, 14, 0.1)
    assert len(statistics.points(T)) == 1
    failed = replace(job("f", JobStatus.FAILED, error="no"), kind=JobKind.CONTINUOUS)
    statistics.note([failed])
    assert (counts(statistics)["FAILED"], statistics.table(T).problem) == (1, "no")
    statistics.note_batches(T, progress(4, 14, SINCE + 2_000))
    assert statistics.table(T).problem == ""


def test_tables_that_are_gone_are_forgotten(statistics):
    other = TableName("u", "s", "c")
    statistics.note([job(), replace(job("o"), table=other), replace(job("r"), table=other)])
    statistics.note([replace(job("x", JobStatus.RUNNING), table=other)])
    statistics.keep([T])
    statistics.note([])
    assert [each.table for each in statistics.totals()] == ["c.s.t"]
    assert (statistics.points(other), statistics.table(other).failures) == ((), 0)


def verification(result, id_="v", began=SINCE, *, repaired=False):
    is_wrong = result is VerificationResult.DIFFERENT
    status = JobStatus.FAILED if is_wrong else JobStatus.FINISHED
    found = Verification(result, "r", 7, "id", 1, total=int(is_wrong), repaired=repaired)
    made = job(id_, status, began, verification=found)
    return replace(made, kind=JobKind.VERIFICATION, trigger="VERIFY")


def test_a_verification_is_no_refresh_and_counts_once(statistics):
    wrong = verification(VerificationResult.DIFFERENT)
    repaired = verification(VerificationResult.DIFFERENT, repaired=True)
    skipped = verification(VerificationResult.SKIPPED, "w", SINCE + 5)
    statistics.note([job("a"), wrong])
    statistics.note([repaired, skipped, wrong])
    (totals,) = statistics.totals()
    assert totals.by_status == (("FINISHED", 1),)
    assert totals.by_verification == (("different", 1), ("skipped", 1))
    assert statuses(statistics) == ["FINISHED"]
    found = statistics.table(T)
    assert (found.failures, found.problem) == (0, "")
    assert found.verified.verification.result is VerificationResult.DIFFERENT


def test_the_newest_comparison_is_shown(statistics):
    statistics.note([verification(VerificationResult.DIFFERENT)])
    statistics.note([verification(VerificationResult.EQUAL, "w", SINCE + 9)])
    statistics.note([verification(VerificationResult.DIFFERENT)])
    assert statistics.table(T).verified.job_id == "w"
