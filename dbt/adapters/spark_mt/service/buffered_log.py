"""A log of refreshes that writes many rows of no consequence in one commit."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.ports import ManagedJobLog
    from dbt.adapters.spark_mt.service.tally import Tally

MOST_ROWS = 500


class BufferedJobLog:
    """Keeps rows about scheduled refreshes that had nothing to do until it is flushed.

    A thousand tables that are looked at each hour would otherwise cost a thousand commits. What is
    lost when the process is killed is told again: such a run is then still due. Until then whoever
    asks here reads kept rows as if they were written.

    Args:
        log: Where rows go.
        tally: Takes every row in at once.
    """

    def __init__(self, log: ManagedJobLog, tally: Tally) -> None:
        self._log = log
        self._tally = tally
        self._kept: list[Job] = []
        self._lock = Lock()
        self._flushing = Lock()

    def append(self, *jobs: Job) -> None:
        """Write a row about each job, or keep it where it may wait."""
        self._tally.note(jobs)
        with self._lock:
            self._kept += filter(_may_wait, jobs)
        now = [job for job in jobs if not _may_wait(job)]
        if now:
            self._log.append(*now)

    def flush(self) -> None:
        """Write what was kept, in order; what cannot be written is kept for the next time.

        Raises:
            Exception: The log could not be written.
        """
        with self._flushing:
            while kept := self._first():
                self._log.append(*kept)
                with self._lock:
                    del self._kept[: len(kept)]

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs that were heard of since an instant."""
        return self._log.jobs(catalog, since_ms)

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        kept = next((job for job in self._waiting() if job.job_id == job_id), None)
        return kept or self._log.job(catalog, job_id)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that have not ended."""
        return self._log.running(catalog, schema, since_ms)

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table."""
        return self._log.newest(catalog, per_table, since_ms)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        found = {job.job_id: job for job in self._log.of_table(name, limit)}
        found |= {job.job_id: job for job in self._waiting() if job.table == name}
        return tuple(sorted(found.values(), key=lambda job: -job.started_at_ms)[:limit])

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        found = dict(self._log.last_scheduled(catalog))
        for job in self._waiting():
            if job.table.catalog == catalog and job.scheduled_at_ms is not None:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        return found

    def _waiting(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._kept)

    def _first(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._kept[:MOST_ROWS])


def _may_wait(job: Job) -> bool:
    return job.status is JobStatus.SKIPPED and job.scheduled_at_ms is not None
