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
    lost when the process is killed is told again: such a run is then still due.

    Args:
        log: Where rows go.
        tally: Takes every row in at once.
    """

    def __init__(self, log: ManagedJobLog, tally: Tally) -> None:
        self._log = log
        self._tally = tally
        self._kept: list[Job] = []
        self._lock = Lock()

    def append(self, *jobs: Job) -> None:
        """Write a row about each job, or keep it where it may wait."""
        self._tally.note(jobs)
        waiting = [job for job in jobs if job.status is JobStatus.SKIPPED and job.scheduled_at_ms]
        with self._lock:
            self._kept += waiting
        self._log.append(*(job for job in jobs if job not in waiting))

    def flush(self) -> None:
        """Write what was kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for start in range(0, len(kept), MOST_ROWS):
            self._log.append(*kept[start : start + MOST_ROWS])

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs that were heard of since an instant."""
        return self._log.jobs(catalog, since_ms)

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        with self._lock:
            kept = next((job for job in self._kept if job.job_id == job_id), None)
        return kept or self._log.job(catalog, job_id)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that have not ended."""
        return self._log.running(catalog, schema, since_ms)

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table."""
        return self._log.newest(catalog, per_table, since_ms)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        return self._log.of_table(name, limit)

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        return self._log.last_scheduled(catalog)
