"""Refresh statistics of each table: newest refreshes for charts, counters for metrics."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus
from dbt.adapters.spark_mt.manager.views import RefreshPoint, RefreshTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.hosting.hosted_table import HostProgress

    WithEffectiveStatus = Callable[[Job], Job]


KEPT = 30
_CANCELED_KEPT = 1_000
_SUCCEEDED = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})


@dataclass(slots=True)
class TableStatistics:
    """What is known of one table's refreshes.

    Args:
        points: The newest, by job; a batch of a stream has a name of its own.
        failures: How often in a row it failed.
        problem: The newest failure's text; empty when the newest refresh did not fail.
        last_success_at_ms: When the newest one ended that did not fail.
        last_started_at_ms: When that one read its sources.
        rows: What it wrote.
        strategy: Engine, strategy and reasons of that one; None where unknown.
    """

    points: dict[str, RefreshPoint] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    duration_ms: int = 0
    written: int = 0
    failures: int = 0
    problem: str = ""
    last_success_at_ms: int | None = None
    last_started_at_ms: int | None = None
    rows: int | None = None
    strategy: tuple[str, str, str] | None = None
    batches: int = 0
    batch_rows: int = 0


class RefreshStatistics:
    """Counts; safe to be read and written by several threads.

    What a host commits is counted by its progress, batch by batch. The row of a stream in the log
    of refreshes, which may run for weeks, is no refresh of its own; only its failure is.

    Args:
        since_ms: Refreshes that ended before are shown, but not counted: those of managers before.
    """

    def __init__(self, since_ms: int) -> None:
        self._since_ms = since_ms
        self._tables: dict[TableName, TableStatistics] = {}
        self._ended: deque[str] = deque(maxlen=10_000)
        self._seen: set[str] = set()
        self._open: dict[str, Job] = {}
        self._canceled: dict[str, Job] = {}
        self._lock = Lock()

    def note(
        self, jobs: Iterable[Job], with_effective_status: WithEffectiveStatus = lambda job: job
    ) -> None:
        """Take in rows of the log of refreshes; a row that was taken in before changes nothing.

        Args:
            jobs: The rows.
            with_effective_status: Returns a job that has not ended with its effective status, which
                is shown. It counts only when the log has its end.
        """
        with self._lock:
            for job in sorted(jobs, key=lambda job: job.started_at_ms):
                self._note(job)
            for job in tuple(self._open.values()):
                self._show(with_effective_status(job))

    def note_batches(self, table: TableName, progress: HostProgress) -> None:
        """Take in what a host has committed since the last call."""
        with self._lock:
            statistics = self._of(table)
            if progress.batches < statistics.batches:
                statistics.batches = statistics.batch_rows = 0
            new = progress.batches - statistics.batches
            if new == 0:
                return
            began = progress.looked_at_ms or progress.committed_at_ms
            duration = max(0, progress.committed_at_ms - began)
            rows = max(0, progress.rows - statistics.batch_rows)
            statistics.batches, statistics.batch_rows = progress.batches, progress.rows
            statistics.counts[JobStatus.FINISHED.value] += new
            statistics.duration_ms += duration
            statistics.written += rows
            statistics.rows = rows
            statistics.last_success_at_ms = progress.committed_at_ms
            statistics.failures, statistics.problem = 0, ""
            statistics.points[f"batch {progress.batches} {began}"] = RefreshPoint(
                began, duration, JobStatus.FINISHED.value, rows
            )
            _trim(statistics)

    def keep(self, tables: Iterable[TableName]) -> None:
        """Forget every other table: they are gone."""
        with self._lock:
            gone = self._tables.keys() - set(tables)
            for table in gone:
                del self._tables[table]
            for jobs in self._open, self._canceled:
                for job in tuple(jobs.values()):
                    if job.table in gone:
                        del jobs[job.job_id]

    def table(self, name: TableName) -> TableStatistics:
        """Return what is known of a table; the caller must not change it."""
        with self._lock:
            return self._tables.get(name) or TableStatistics()

    def points(self, name: TableName) -> tuple[RefreshPoint, ...]:
        """Return a table's newest refreshes, the oldest first."""
        with self._lock:
            statistics = self._tables.get(name)
            found = list(statistics.points.values()) if statistics else []
        return tuple(sorted(found, key=lambda point: point.started_at_ms))

    def totals(self) -> tuple[RefreshTotals, ...]:
        """Return the counters of every table."""
        with self._lock:
            return tuple(
                RefreshTotals(
                    table=str(name),
                    by_status=tuple(sorted((+statistics.counts).items())),
                    duration_seconds=statistics.duration_ms / 1000,
                    rows=statistics.written,
                    last_success_at_ms=statistics.last_success_at_ms,
                )
                for name, statistics in sorted(self._tables.items(), key=lambda item: str(item[0]))
            )

    def _of(self, table: TableName) -> TableStatistics:
        return self._tables.setdefault(table, TableStatistics())

    def _note(self, job: Job) -> None:
        if job.job_id in self._seen or _is_counted_by_batches(job) or self._is_canceled(job):
            return
        if job.status is JobStatus.RUNNING:
            self._open[job.job_id] = job
            return
        self._open.pop(job.job_id, None)
        self._show(job)
        if job.status is JobStatus.CANCELED:
            self._canceled[job.job_id] = job
            if len(self._canceled) > _CANCELED_KEPT:
                del self._canceled[next(iter(self._canceled))]
        else:
            self._remember(job.job_id)
        self._count(self._of(job.table), job, job.ended_at_ms or job.last_heartbeat_ms)

    def _is_canceled(self, job: Job) -> bool:
        """Whether this says nothing new; one that another writer beat may end well after all."""
        if job.status is JobStatus.CANCELED or job.status is JobStatus.RUNNING:
            return job.job_id in self._canceled
        before = self._canceled.pop(job.job_id, None)
        if before is not None and (before.ended_at_ms or 0) >= self._since_ms:
            self._of(job.table).counts[JobStatus.CANCELED.value] -= 1
        return False

    def _show(self, job: Job) -> None:
        """Show a job with its status; one whose owner is gone keeps the effective status."""
        statistics, ended = self._of(job.table), job.ended_at_ms
        duration = None if ended is None else max(0, ended - job.started_at_ms)
        statistics.points[job.job_id] = RefreshPoint(
            job.started_at_ms, duration, job.status.value, job.rows, job.error
        )
        _trim(statistics)
        if job.status is not JobStatus.RUNNING:
            self._open.pop(job.job_id, None)

    def _count(self, statistics: TableStatistics, job: Job, ended: int) -> None:
        if ended >= self._since_ms:
            statistics.counts[job.status.value] += 1
            statistics.duration_ms += max(0, ended - job.started_at_ms)
            statistics.written += job.rows or 0
        if job.status in _SUCCEEDED:
            statistics.failures, statistics.problem = 0, ""
            statistics.last_success_at_ms = max(ended, statistics.last_success_at_ms or 0)
            statistics.last_started_at_ms = max(
                job.started_at_ms, statistics.last_started_at_ms or 0
            )
            statistics.rows = job.rows if job.rows is not None else statistics.rows
            if job.strategy:
                engine, _, strategy = job.strategy.partition("/")
                statistics.strategy = (engine, strategy, job.reason)
        elif job.status is JobStatus.FAILED:
            statistics.failures += 1
            statistics.problem = job.error

    def _remember(self, job_id: str) -> None:
        """Jobs are read again for a while: clocks of those that write them differ."""
        if len(self._ended) == self._ended.maxlen:
            self._seen.discard(self._ended[0])
        self._ended.append(job_id)
        self._seen.add(job_id)


def _is_counted_by_batches(job: Job) -> bool:
    return job.kind is JobKind.CONTINUOUS and job.status is not JobStatus.FAILED


def _trim(statistics: TableStatistics) -> None:
    while len(statistics.points) > KEPT:
        oldest = min(statistics.points, key=lambda key: statistics.points[key].started_at_ms)
        del statistics.points[oldest]
