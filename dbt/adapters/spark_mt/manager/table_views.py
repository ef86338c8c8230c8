"""Refresh statistics of tables, and the views made of them and of what else is in memory.

Statistics are the newest refreshes of each table for charts, and counters for metrics.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.verification import VerificationResult
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.strategies.whole_table import FULL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.verification import Verification
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.hosting.policy import HostProgress

    WithEffectiveStatus = Callable[[Job], Job]


KEPT = 30
_CANCELED_KEPT = 1_000
_SUCCEEDED = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})
_UNDECIDED = ("", "", "the sources were not looked at yet")
_WAITING = "waiting"
_ACTIVITIES = {
    HostPhase.STARTING: "starting",
    HostPhase.STREAMING: "streaming",
    HostPhase.FOLLOWING: "following",
    HostPhase.SUSPENDED: "suspended",
    HostPhase.FAILING: "failing",
    HostPhase.ENDED: _WAITING,
}


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
        verifications: How many verifications had each result.
        verified: The newest one that compared rows.
    """

    points: dict[str, views.RefreshPoint] = field(default_factory=dict)
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
    verifications: Counter[str] = field(default_factory=Counter)
    verified: Job | None = None


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
            began = progress.checked_at_ms or progress.committed_at_ms
            duration = max(0, progress.committed_at_ms - began)
            rows = max(0, progress.rows - statistics.batch_rows)
            statistics.batches, statistics.batch_rows = progress.batches, progress.rows
            statistics.counts[JobStatus.FINISHED.value] += new
            statistics.duration_ms += duration
            statistics.written += rows
            statistics.rows = rows
            statistics.last_success_at_ms = progress.committed_at_ms
            statistics.failures, statistics.problem = 0, ""
            statistics.points[f"batch {progress.batches} {began}"] = views.RefreshPoint(
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

    def points(self, name: TableName) -> tuple[views.RefreshPoint, ...]:
        """Return a table's newest refreshes, the oldest first."""
        with self._lock:
            statistics = self._tables.get(name)
            found = list(statistics.points.values()) if statistics else []
        return tuple(sorted(found, key=lambda point: point.started_at_ms))

    def totals(self) -> tuple[views.RefreshTotals, ...]:
        """Return the counters of every table."""
        with self._lock:
            return tuple(
                views.RefreshTotals(
                    table=str(name),
                    by_status=tuple(sorted((+statistics.counts).items())),
                    duration_seconds=statistics.duration_ms / 1000,
                    rows=statistics.written,
                    last_success_at_ms=statistics.last_success_at_ms,
                    by_verification=tuple(sorted(statistics.verifications.items())),
                )
                for name, statistics in sorted(self._tables.items(), key=lambda item: str(item[0]))
            )

    def _of(self, table: TableName) -> TableStatistics:
        return self._tables.setdefault(table, TableStatistics())

    def _note(self, job: Job) -> None:
        if job.verification is not None:
            self._note_verification(job, job.verification)
            return
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

    def _note_verification(self, job: Job, found: Verification) -> None:
        """Take in a verification, which is no refresh; the row after its repair replaces it."""
        statistics, newest = self._of(job.table), self._of(job.table).verified
        if job.job_id not in self._seen:
            self._remember(job.job_id)
            if (job.ended_at_ms or job.last_heartbeat_ms) >= self._since_ms:
                statistics.verifications[found.result.value] += 1
        is_newest = newest is None or job.started_at_ms >= newest.started_at_ms
        if is_newest and found.result is not VerificationResult.SKIPPED:
            statistics.verified = job

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
        statistics.points[job.job_id] = views.RefreshPoint(
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


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that is known of a table.

    Args:
        table: Its row in the registry.
        progress: How its host does; None where it is not hosted here.
        statistics: What became of its refreshes.
        points: The newest of them, the oldest first.
        handler: Who refreshes it, for people.
        next_run_ms: When it is scheduled next.
        is_refreshing: Whether a run of it is in progress here.
        problem: Why its runs fail now; empty if they do not.
        failures: How often in a row.
        lag: As it was measured last; None before that.
    """

    table: KnownTable
    progress: HostProgress | None
    statistics: TableStatistics
    points: tuple[views.RefreshPoint, ...]
    handler: str
    next_run_ms: int | None
    is_refreshing: bool
    problem: str = ""
    failures: int = 0
    lag: Lag | None = None

    @property
    def is_full(self) -> bool:
        """Whether it is refreshed at scheduled times."""
        return self.table.refresh_mode is RefreshMode.FULL

    @property
    def is_active(self) -> bool:
        """Whether its refresh is wanted."""
        return self.table.status is RefreshStatus.ACTIVATED


def table_view(seen: Observed, now_ms: int) -> views.TableView:
    """Return the row of a list.

    Args:
        seen: What is known of the table.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    table = seen.table
    engine, strategy, reason = _engine(seen)
    problem, failures = _failing(seen)
    view = views.TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        declared_refresh_mode=table.declared_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine=engine,
        strategy=strategy,
        reason=reason,
        activity=_activity(seen, failures),
        freshness_status=unmeasured(table),
        lag_seconds=None,
        rows=seen.statistics.rows if seen.statistics.rows is not None else table.rows,
        last_refresh_at_ms=complete_at(seen.table, seen.statistics, seen.progress),
        next_run_at_ms=seen.next_run_ms,
        failures=failures,
        problem=problem,
        refresh_handler=seen.handler,
        schedule=_schedule(table) if seen.is_full else None,
        reads=table.reads,
        estimated_refresh_seconds=_estimated_seconds(seen),
        recent=seen.points,
        verification=verification_view(table, seen.statistics.verified),
    )
    return view if seen.lag is None else with_lag(view, seen.lag, now_ms)


def verification_view(table: KnownTable, newest: Job | None) -> views.VerificationView | None:
    """Return the view of a verification, if it was one of the table's definition."""
    found = newest.verification if newest is not None else None
    if newest is None or found is None:
        return None
    if (found.table_id, found.generation) != (table.table_id, table.generation):
        return None
    return views.VerificationView(
        found.result.value, newest.started_at_ms, newest.job_id, found.describe()
    )


def with_lag(view: views.TableView, lag: Lag, now_ms: int) -> views.TableView:
    """Return a view with a lag that was measured, as it is now."""
    is_active = view.status == RefreshStatus.ACTIVATED.value
    return replace(
        view,
        freshness_status=lag.status_at(now_ms, is_active=is_active),
        lag_seconds=lag.seconds_at(now_ms),
        own_lag_seconds=lag.own_seconds_at(now_ms),
        allowed_lag_seconds=lag.allowed_seconds,
        lag_measured_at_ms=lag.measured_at_ms,
        lag_stages=lag.stages_at(now_ms),
        source_activities=lag.sources,
        problem=view.problem or lag.problem,
    )


def unmeasured(table: KnownTable) -> FreshnessStatus:
    """Return the freshness status of a table whose lag was not measured."""
    is_active = table.status is RefreshStatus.ACTIVATED
    return FreshnessStatus.UNKNOWN if is_active else FreshnessStatus.NONE


def complete_at(
    table: KnownTable, statistics: TableStatistics, progress: HostProgress | None
) -> int | None:
    """Return the instant whose state of the sources the rows are known to reflect.

    Args:
        table: Its row in the registry.
        statistics: What became of its refreshes.
        progress: How its host does; None where it is not hosted here.
    """
    looked_at = progress.checked_at_ms if progress else 0
    times = (statistics.last_started_at_ms, table.last_refresh_at_ms, looked_at or None)
    return max((at for at in times if at is not None), default=None)


def _engine(seen: Observed) -> tuple[str, str, str]:
    """Return how a hosted table is kept, or how the last refresh of a scheduled one was done."""
    hosted = seen.progress.choice if seen.progress else None
    if seen.is_full and seen.statistics.strategy is not None:
        return seen.statistics.strategy
    choice = FULL if seen.is_full else hosted
    return _UNDECIDED if choice is None else (choice.engine, choice.strategy, choice.explanation)


def _estimated_seconds(seen: Observed) -> float | None:
    """Return how long the last refresh by the strategy took; of a scheduled one, the last run."""
    if not seen.is_full:
        choice = seen.progress.choice if seen.progress else None
        return choice.cost.seconds if choice is not None and choice.cost is not None else None
    finished = JobStatus.FINISHED.value
    took = [
        p.duration_ms for p in seen.points if p.status == finished and p.duration_ms is not None
    ]
    return took[-1] / 1000 if took else None


def _failing(seen: Observed) -> tuple[str, int]:
    if seen.progress is not None and seen.progress.failures:
        return seen.progress.problem, seen.progress.failures
    if seen.failures:
        return seen.problem, seen.failures
    return seen.statistics.problem, seen.statistics.failures


def _activity(seen: Observed, failures: int) -> str:
    if not seen.is_active:
        return "suspended"
    if seen.is_refreshing:
        return "refreshing"
    if seen.is_full:
        return "failing" if failures else ("scheduled" if seen.next_run_ms else _WAITING)
    return _ACTIVITIES[seen.progress.phase] if seen.progress else _WAITING


def _schedule(table: KnownTable) -> views.ScheduleView:
    schedule = Schedule(table.freshness, table.zone)
    return views.ScheduleView(
        schedule.text,
        table.zone,
        schedule.cron,
        schedule.every_seconds,
        by_partition=bool(table.formatters),
    )
