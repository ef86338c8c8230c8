"""SHOW JOBS and DESC JOB (semantics 11)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.execution.errors import JobNotFoundError
from dbt.adapters.spark_mt.execution.holds import KEPT_MS, judged
from dbt.adapters.spark_mt.execution.results import ResultColumn, StatementResult

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.environment import Environment

_JOBS = (
    ResultColumn("job_id", "STRING"),
    ResultColumn("table", "STRING"),
    ResultColumn("kind", "STRING"),
    ResultColumn("status", "STRING"),
    ResultColumn("start_time", "TIMESTAMP"),
    ResultColumn("end_time", "TIMESTAMP"),
    ResultColumn("rows", "BIGINT"),
    ResultColumn("error", "STRING"),
)


class JobInspection:
    """Shows the refreshes of the current catalog's tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def show_jobs(self) -> StatementResult:
        """List the refreshes of the last 30 days, the newest first."""
        since = self._env.now_ms() - KEPT_MS
        jobs = self._env.conduct.log.jobs(self._catalog(), since)
        return StatementResult(_JOBS, tuple(self._row(job) for job in jobs))

    def describe_job(self, job_id: str) -> StatementResult:
        """Show one refresh.

        Raises:
            JobNotFoundError: There is none, or not any more.
        """
        catalog = self._catalog()
        job = self._env.conduct.log.job(catalog, job_id)
        if job is None:
            raise JobNotFoundError(job_id=job_id, catalog=catalog)
        return StatementResult(_JOBS, (self._row(job),))

    def _catalog(self) -> str:
        return self._env.store.full_name(TableName("_")).catalog or ""

    def _row(self, job: Job) -> tuple[object, ...]:
        shown = judged(job, self._env)
        return (
            shown.job_id,
            str(shown.table),
            shown.kind.value,
            shown.status.value,
            _instant(shown.started_at_ms),
            None if shown.ended_at_ms is None else _instant(shown.ended_at_ms),
            shown.rows,
            shown.error or None,
        )


def _instant(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
