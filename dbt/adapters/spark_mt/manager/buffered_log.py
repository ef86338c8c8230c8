"""Log of refreshes of a manager, whose rows wait for one commit."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.context import DeferredRows
from dbt.adapters.spark_mt.execution.errors import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.ports import ManagedJobLog
    from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
    from dbt.adapters.spark_mt.planning.steps import Register

_LOGGER = logging.getLogger(__name__)
_REMEMBERED = 10_000


def _may_wait(last: Job) -> bool:
    """Whether the last row of a job may wait.

    It may for a scheduled run with nothing to do, and a verification that found no difference.
    """
    if last.verification is not None:
        return last.status is not JobStatus.FAILED
    return last.status is JobStatus.SKIPPED and last.scheduled_at_ms is not None


class BufferedJobLog:
    """The log of refreshes of a manager: rows that may wait are written together.

    A thousand tables that are looked at each hour would otherwise cost a thousand commits. What is
    lost when the process is killed is written again: such a run is then still due. Until then a
    caller of this object reads kept rows as if they were written.

    Args:
        log: Where rows go.
        statistics: Takes every row in at once.
        now_ms: Milliseconds since the epoch, UTC.
        leads: Whether the lease of this process shows that its refreshes run, so that their
            heartbeats may wait.

    Attributes:
        deferred: What waits; rows of hosted streams come here.
    """

    def __init__(
        self,
        log: ManagedJobLog,
        statistics: RefreshStatistics,
        now_ms: Callable[[], int],
        leads: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = log
        self._statistics = statistics
        self._leads = leads
        self._begun: set[str] = set()
        """The running refreshes that have a row."""
        self._newest: OrderedDict[str, Job] = OrderedDict()
        """The newest row of each of the last refreshes of this process: clients poll them."""
        self._lock = Lock()
        self.now_ms = now_ms
        self._of_jobs_alone: deque[int] = deque(maxlen=_REMEMBERED)
        self.deferred = DeferredRows(self._write, now_ms, covered=True)

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Write rows about jobs and tables, or keep those that may wait."""
        self._statistics.note(jobs)
        self._remember(*jobs)
        now = [job for job in jobs if not self._is_deferred(job)]
        if not now and not tables:
            return -1
        try:
            version = self._log.append(*now, tables=tables)
        except Exception:
            for job in now:  # no lease may show that a refresh runs which has ended
                if job.status is not JobStatus.RUNNING:
                    self.deferred.changed(job)
            raise
        for job in now:
            if job.status is not JobStatus.RUNNING:
                self.deferred.drop(job.job_id)
        return version

    def accept(self, job: Job) -> None:
        """Keep the row of an accepted refresh; it is written with those of others."""
        self._remember(job)
        self.deferred.changed(job)

    def forget(self, job_id: str) -> None:
        """Read a refresh from the log from now on: another manager carries it out."""
        self._newest.pop(job_id, None)

    def _remember(self, *jobs: Job) -> None:
        with self._lock:
            for job in jobs:
                self._newest[job.job_id] = job
                self._newest.move_to_end(job.job_id)
            while len(self._newest) > _REMEMBERED:
                self._newest.popitem(last=False)

    def _is_deferred(self, job: Job) -> bool:
        """Whether the row of a job may wait, and does so now."""
        if job.status is not JobStatus.RUNNING:
            self._begun.discard(job.job_id)
            if not _may_wait(job):
                return False
            self.deferred.progressed(job)
            return True
        is_first = job.job_id not in self._begun
        self._begun.add(job.job_id)
        if not self._leads() or (is_first and job.creates):  # others must see who creates a table
            return False
        (self.deferred.changed if is_first else self.deferred.progressed)(job)
        return True

    def settle(self, last: Job) -> None:
        """Write the last row of a run with the next tick, unless one has been written already."""
        self._statistics.note([last])
        kept = self._kept(last.job_id)
        found = kept
        if kept is None or kept.status is JobStatus.RUNNING:
            try:
                found = self._log.job(last.table.catalog or "", last.job_id)
            except Exception as problem:  # noqa: BLE001 - to write the end twice is better than never
                _LOGGER.warning("the log of refreshes could not be read: %s", problem_of(problem))
        if found is None or found.status is JobStatus.RUNNING:
            found = last
            self.deferred.changed(last)
        elif kept is found:
            self.deferred.changed(found)
        else:  # the row that waits is older
            self.deferred.drop(last.job_id)
        self._remember(found)

    def flush(self) -> None:
        """Write what must not wait any longer.

        Raises:
            Exception: The log could not be written; what was kept is kept for the next time.
        """
        self.deferred.write_due()

    def close(self) -> None:
        """Write whatever was kept.

        Raises:
            Exception: The log could not be written.
        """
        self.deferred.write()

    def knows(self, version: int) -> bool:
        """Whether a version of the registry has nothing but rows about jobs that came from here."""
        return version in self._of_jobs_alone

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs with a heartbeat since an instant."""
        return self._log.jobs(catalog, since_ms)

    def job(self, catalog: str, job_id: str) -> Job | None:
        newest = self._newest.get(job_id) or self._kept(job_id)
        is_of = newest is not None and newest.table.catalog == catalog
        return newest if is_of else self._log.job(catalog, job_id)

    def _kept(self, job_id: str) -> Job | None:
        return next((job for job in self.deferred.waiting() if job.job_id == job_id), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that have not ended."""
        found = {job.job_id: job for job in self._log.running(catalog, schema, since_ms)}
        kept = (job for job in self.deferred.waiting() if job.table.schema == schema)
        found |= {job.job_id: job for job in kept if job.table.catalog == catalog}
        return tuple(job for job in found.values() if job.status is JobStatus.RUNNING)

    def accepted(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the refreshes that were accepted and have not begun, the oldest first."""
        found = {job.job_id: job for job in self._log.accepted(catalog, since_ms)}
        found |= {j.job_id: j for j in self.deferred.waiting() if j.table.catalog == catalog}
        waiting = (job for job in found.values() if job.status is JobStatus.RUNNING and job.request)
        return tuple(sorted(waiting, key=lambda job: job.started_at_ms))

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table."""
        return self._log.newest(catalog, per_table, since_ms)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        found = {job.job_id: job for job in self._log.of_table(name, limit)}
        found |= {job.job_id: job for job in self.deferred.waiting() if job.table == name}
        return tuple(sorted(found.values(), key=lambda job: -job.started_at_ms)[:limit])

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        found = dict(self._log.last_scheduled(catalog))
        for job in self.deferred.waiting():
            if job.table.catalog == catalog and job.scheduled_at_ms is not None:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        return found

    def _write(self, *jobs: Job, tables: Sequence[Register]) -> None:
        self._statistics.note(jobs)
        version = self._log.append(*jobs, tables=tables)
        if version >= 0 and not tables:
            self._of_jobs_alone.append(version)
