"""Carries out the runs that schedules and people ask for, and tries failed ones again."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from random import random
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.errors import (
    NotMaterializedError,
    SuspendedError,
    TableNotFoundError,
    problem_of,
)
from dbt.adapters.spark_mt.execution.giving_up import Failures, give_up
from dbt.adapters.spark_mt.execution.jobs import LONGEST_ERROR, JobTeller
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.results import RefreshResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.conduct import Beating
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.host_progress import HostPolicy
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
    """

    def __init__(
        self,
        environment: Callable[[], Environment],
        policy: HostPolicy,
        gone: Callable[[TableName], None],
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._gone = gone
        self._failures: dict[TableName, Failures] = {}
        self._told: dict[str, _Told] = {}

    def tell(self, job: Job) -> None:
        """Tell of a run before it begins, and go on doing so while it waits for its turn."""
        environment = self._environment()
        teller = JobTeller(environment, job)
        teller.write(job)
        self._told[job.job_id] = _Told(teller, environment.conduct.heartbeat(teller.beat))

    def failures(self, table: TableName) -> Failures:
        """Return how often in a row the runs of a table failed."""
        return self._failures.get(table, Failures())

    def perform(self, run: Run) -> Run | None:
        """Carry out a run; whatever goes wrong is told, not raised.

        Returns:
            The run that tries it again; None where nothing is to be tried again.
        """
        environment = self._environment()
        told = self._told.pop(run.asked.refresh_id, None)
        if told is not None:
            told.waiting.stop()
        try:
            outcome = Refreshes(environment).carry_out(run.table, run.asked)
        except (TableNotFoundError, NotMaterializedError) as error:
            _end(told, JobStatus.FAILED, problem_of(error))
            self._gone(run.table)
        except SuspendedError as error:
            _end(told, JobStatus.CANCELED, problem_of(error))
        except BaseException as error:  # noqa: BLE001 - a run must not end the thread of others
            _end(told, JobStatus.FAILED, str(error)[:LONGEST_ERROR])
            return self._failed(environment, run, error)
        else:
            self._failures.pop(run.table, None)
            if outcome.status is RefreshResult.UP_TO_DATE:
                _end(told, JobStatus.SKIPPED)
        return None

    def _failed(self, environment: Environment, run: Run, error: BaseException) -> Run | None:
        failures = self.failures(run.table).after(error)
        self._failures[run.table] = failures
        _LOGGER.warning("the refresh of %s failed: %s", run.table, failures.problem)
        if run.asked.scheduled_at is None:
            return None
        if 0 < self._policy.give_up_after <= failures.same:
            self._give_up(environment, run.table, failures)
            return None
        pause_ms = self._policy.pause_after(failures.count + 1, random())  # noqa: S311 - no secret
        again = replace(run.asked, refresh_id="")
        return replace(run, asked=again, ready_at_ms=environment.now_ms() + pause_ms)

    def _give_up(self, environment: Environment, table: TableName, failures: Failures) -> None:
        try:
            give_up(environment, table, failures)
        except Exception as error:  # noqa: BLE001 - the next scheduled run tries it again
            _LOGGER.warning("%s could not be suspended: %s", table, problem_of(error))
        else:
            self._failures.pop(table, None)


def _end(told: _Told | None, status: JobStatus, error: str = "") -> None:
    """End the row of a run that was told before it began, and that nothing else ends."""
    if told is not None:
        told.teller.write(told.teller.ended(status, error=error))
