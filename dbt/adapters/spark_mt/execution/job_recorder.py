"""Recorder of a job in the log of refreshes."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


LONGEST_ERROR = 2000
"""The largest number of characters of an error in the log."""
_KINDS = {steps.SCHEDULED: JobKind.SCHEDULED, steps.HOSTED: JobKind.CONTINUOUS}
_LOGGER = logging.getLogger(__name__)
_Errors = tuple[type[BaseException], ...]
_TRIED_AGAIN: ContextVar[_Errors] = ContextVar("errors that end no job", default=())


@contextmanager
def tried_again(after: _Errors) -> Iterator[None]:
    """Let no job of the block end by some errors: the same job is carried out again after them.

    Without it, whoever polls a job sees an end that is none.
    """
    token = _TRIED_AGAIN.set((*_TRIED_AGAIN.get(), *after))
    try:
        yield
    finally:
        _TRIED_AGAIN.reset(token)


def record_skipped(environment: Environment, definition: StoredDefinition, run: RefreshRun) -> None:
    """Record that a scheduled refresh had nothing to do; other refreshes leave no row."""
    if run.trigger != steps.SCHEDULED:
        return
    recorder = JobRecorder(environment, job_of(environment, definition, run))
    recorder.write(recorder.ended(JobStatus.SKIPPED))


@dataclass(slots=True)
class JobRecorder:
    """Writer of one job's rows in the log; a failed write is a problem for the user to read."""

    environment: Environment
    job: Job
    is_over: bool = False
    problems: list[str] = field(default_factory=list)

    def beat(self) -> None:
        """Record that the job is running."""
        self.write(self.running_job())

    def running_job(self) -> Job:
        """Return the row of the running job."""
        return replace(self.job, last_heartbeat_ms=self.environment.now_ms())

    def ended(self, status: JobStatus, rows: int | None = None, error: str = "") -> Job:
        """Return the last row of the job; nothing is left to record then."""
        self.is_over = True
        now = self.environment.now_ms()
        return replace(
            self.job, status=status, ended_at_ms=now, last_heartbeat_ms=now, rows=rows, error=error
        )

    def failed(self, error: BaseException) -> Job:
        """Return the last row of a job with the reason of its failure."""
        canceled = self.environment.execution_context.is_cancellation(error)
        is_conflict = isinstance(error, CommitConflictError)
        status = JobStatus.CANCELED if canceled or is_conflict else JobStatus.FAILED
        text = str(error) or type(error).__name__
        return self.ended(status, error=text[:LONGEST_ERROR])

    def fail(self, error: BaseException) -> None:
        """Record the failure of the job.

        It is none where its rows are committed and a later step failed, or the job is tried again.
        """
        if not self.is_over and not isinstance(error, _TRIED_AGAIN.get()):
            self.write(self.failed(error))

    def write(self, job: Job) -> None:
        """Write a row of the job; add the reason to `problems` if that fails."""
        try:
            self.environment.execution_context.log.append(job)
        except Exception as error:  # noqa: BLE001 - a log must not fail what it records
            problem = errors.problem_of(error)
            _LOGGER.warning("the log of refreshes was not written: %s", problem)
            self.problems.append(f"The log of refreshes was not updated: {problem}")


@dataclass(slots=True)
class DeferredJobRecorder(JobRecorder):
    """Writer of the rows of a refresh by a manager's host, which may wait."""

    def write(self, job: Job) -> None:
        """Defer a row: one of the end until the next write, one of a running job up to a minute."""
        deferred = self.environment.execution_context.deferred
        (deferred.progressed if job.status is JobStatus.RUNNING else deferred.changed)(job)


def job_of(
    environment: Environment,
    definition: StoredDefinition,
    run: RefreshRun,
    *,
    creates: bool = False,
) -> Job:
    """Return the first row of a refresh."""
    return Job(
        job_id=run.refresh_id,
        table=definition.name,
        kind=_KINDS.get(run.trigger, JobKind.MANUAL),
        status=JobStatus.RUNNING,
        started_at_ms=run.started_at_ms,
        last_heartbeat_ms=environment.now_ms(),
        owner=environment.execution_context.processes.owner(),
        trigger=run.trigger,
        creates=creates,
        refresh_mode=definition.resolved.refresh_mode.value,
        freshness=definition.resolved.freshness.sql,
        scheduled_at_ms=run.scheduled_at_ms,
        strategy=run.choice.name,
        reason=run.choice.explanation,
    )
