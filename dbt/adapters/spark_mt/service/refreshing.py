"""Carries out the runs that schedules and people ask for, and tries failed ones again."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from random import random
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution.errors import (
    NotMaterializedError,
    SuspendedError,
    TableNotFoundError,
    problem_of,
)
from dbt.adapters.spark_mt.execution.giving_up import Failures, give_up
from dbt.adapters.spark_mt.execution.jobs import LONGEST_ERROR, JobTeller
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.results import RefreshResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.conduct import Beating
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.host_progress import HostPolicy
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.service.runs import Run

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    teller: JobTeller
    waiting: Beating


class Refreshing:
    """Performs runs; one object serves all threads.

    Args:
        environment: Makes the ports of one run.
        policy: How failed runs are tried again.
        gone: Takes a table that turned out not to be there any more.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        environment: Callable[[], Environment],
        policy: HostPolicy,
        gone: Callable[[TableName], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._gone = gone
        self._now_ms = now_ms
        self._failures: dict[TableName, Failures] = {}
        self._told: dict[str, _Told] = {}

    def tell(self, job: Job) -> None:
        """Tell of a run before it begins, and go on doing so while it waits for its turn."""
        environment = self._environment()
        teller = JobTeller(environment, job)
        teller.write(job)
        self._told[job.job_id] = _Told(teller, environment.conduct.heartbeat(teller.beat))

    def cancel(self, run: Run) -> None:
        """Tell that a run will not begin."""
        told = self._stopped_waiting(run)
        if told is not None:
            error = "it was taken back before it began: the table or its manager is no more"
            told.teller.write(told.teller.ended(JobStatus.CANCELED, error=error))

    def failures(self, table: TableName) -> Failures:
        """Return how often in a row the scheduled runs of a table failed."""
        return self._failures.get(table, Failures())

    def perform(self, run: Run) -> Run | None:
        """Carry out a run; whatever goes wrong is told, not raised.

        Returns:
            The run that tries it again; None where nothing is to be tried again.
        """
        told, began_ms = self._stopped_waiting(run), self._now_ms()
        try:
            environment = self._environment()
        except Exception as error:  # noqa: BLE001 - a session that is gone is a failure as any other
            if told is not None:
                _settle(told.teller, JobStatus.FAILED, error=problem_of(error))
            return self._failed(run, error)
        asked = run.asked
        if not asked.refresh_id:
            asked = replace(asked, refresh_id=environment.new_id())
        teller = told.teller if told else JobTeller(environment, _job(environment, run, began_ms))
        teller.job = replace(teller.job, job_id=asked.refresh_id)
        return self._carry_out(environment, replace(run, asked=asked), teller)

    def _carry_out(self, environment: Environment, run: Run, teller: JobTeller) -> Run | None:
        try:
            outcome = Refreshes(environment).carry_out(run.table, run.asked)
        except (TableNotFoundError, NotMaterializedError) as error:
            self._failures.pop(run.table, None)
            self._gone(run.table)
            self._refused(run, teller, JobStatus.FAILED, error)
        except SuspendedError as error:
            self._refused(run, teller, JobStatus.CANCELED, error)
        except BaseException as error:  # noqa: BLE001 - a run must not end the thread of others
            canceled = environment.conduct.is_cancellation(error)
            beaten = isinstance(error, CommitConflictError)
            status = JobStatus.CANCELED if canceled or beaten else JobStatus.FAILED
            _settle(teller, status, error=str(error) or type(error).__name__)
            return self._failed(run, error)
        else:
            self._succeeded(run, teller, outcome)
        return None

    def _refused(self, run: Run, teller: JobTeller, status: JobStatus, error: Exception) -> None:
        """A schedule may ask a moment too late; whoever submitted the run is told."""
        if run.is_submitted:
            _settle(teller, status, error=problem_of(error))

    def _succeeded(self, run: Run, teller: JobTeller, outcome: RefreshOutcome) -> None:
        if run.asked.scheduled_at is not None:
            self._failures.pop(run.table, None)
        if run.is_submitted:
            skipped = outcome.status is RefreshResult.UP_TO_DATE
            status = JobStatus.SKIPPED if skipped else JobStatus.FINISHED
            _settle(teller, status, rows=outcome.rows)

    def _stopped_waiting(self, run: Run) -> _Told | None:
        told = self._told.pop(run.asked.refresh_id, None)
        if told is not None:
            told.waiting.stop()
        return told

    def _failed(self, run: Run, error: BaseException) -> Run | None:
        """Return the run that tries it again; whoever asks by hand asks again himself."""
        failures = self.failures(run.table).after(error)
        _LOGGER.warning("the refresh of %s failed: %s", run.table, failures.problem)
        if run.is_submitted:
            return None
        if isinstance(error, CommitConflictError):
            return self._again(run, self._policy.first_pause)
        self._failures[run.table] = failures
        if 0 < self._policy.give_up_after <= failures.same:
            self._give_up(run.table, failures)
        return self._again(run, self._policy.pause_after(failures.count + 1, random()))  # noqa: S311 - no secret

    def _again(self, run: Run, pause_ms: int) -> Run:
        asked = replace(run.asked, refresh_id="")
        return replace(run, asked=asked, ready_at_ms=self._now_ms() + pause_ms)

    def _give_up(self, table: TableName, failures: Failures) -> None:
        """Suspend the table; its runs are withdrawn by whoever sees that, or end by themselves."""
        try:
            give_up(self._environment(), table, failures)
        except Exception as error:  # noqa: BLE001 - the next failure tries it again
            _LOGGER.warning("%s could not be suspended: %s", table, problem_of(error))
        else:
            self._failures.pop(table, None)


def _settle(teller: JobTeller, status: JobStatus, rows: int | None = None, error: str = "") -> None:
    """End the row of a run, unless what carried it out has done so already."""
    job, log = teller.job, teller.environment.conduct.log
    try:
        found = log.job(job.table.catalog or "", job.job_id)
    except Exception as problem:  # noqa: BLE001 - to tell the end twice is better than never
        _LOGGER.warning("the log of refreshes could not be read: %s", problem_of(problem))
        found = None
    if found is None or found.status is JobStatus.RUNNING:
        teller.write(teller.ended(status, rows, error[:LONGEST_ERROR]))


def _job(environment: Environment, run: Run, began_ms: int) -> Job:
    """The row of a scheduled run that failed before anything else told of it."""
    at = run.asked.scheduled_at
    return Job(
        job_id=run.asked.refresh_id,
        table=run.table,
        kind=JobKind.MANUAL if at is None else JobKind.SCHEDULED,
        status=JobStatus.RUNNING,
        started_at_ms=began_ms,
        heard_at_ms=began_ms,
        owner=environment.conduct.processes.owner(),
        trigger=run.asked.trigger,
        scheduled_at_ms=None if at is None else round(at.timestamp() * 1000),
    )
