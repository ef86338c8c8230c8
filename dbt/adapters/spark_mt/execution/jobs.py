"""Every refresh that computes leaves a row in the log of refreshes (semantics 11).

A row costs no commit of its own where the registry's row is written anyway. A refresh that takes
longer than two seconds also says that it is under way, and holds its table by that.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.executor import execute
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.planning.steps import HOSTED, SCHEDULED, Fill, FillMode

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepResult
    from dbt.adapters.spark_mt.planning.steps import Plan, RefreshRun, Register

LONGEST_ERROR = 2000
"""How many characters of an error the log keeps."""
_KINDS = {SCHEDULED: JobKind.SCHEDULED, HOSTED: JobKind.CONTINUOUS}
_LOGGER = logging.getLogger(__name__)


def perform(plan: Plan, environment: Environment) -> StepResult:
    """Execute a plan, and keep the log of refreshes where the plan computes rows.

    Raises:
        MaterializedTableError: As `execute`; that the log could not be written is only a warning.
    """
    conduct = environment.conduct
    job = _job_of(plan, environment)
    if job is None:
        return execute(plan, environment.runner, conduct.beside)
    told = JobTeller(environment, job)
    beating = conduct.heartbeat(told.beat)

    def finished(committed: StepResult) -> Job:
        beating.stop()
        return told.ended(JobStatus.FINISHED, rows=committed.rows)

    try:
        result = execute(plan, environment.runner, conduct.beside, finished)
    except BaseException as error:
        beating.stop()
        told.fail(error)
        raise
    return replace(result, warnings=(*result.warnings, *told.problems))


def record_skipped(environment: Environment, definition: StoredDefinition, run: RefreshRun) -> None:
    """Tell that a scheduled refresh had nothing to do; any other leaves no trace."""
    if run.trigger != SCHEDULED:
        return
    told = JobTeller(environment, job_of(environment, definition, run))
    told.write(told.ended(JobStatus.SKIPPED))


@dataclass(slots=True)
class JobTeller:
    """What the log is told about one job; telling never fails what it tells about.

    Args:
        is_over: Whether the log was told how it ended.
        problems: Why the log does not know, for the user.
    """

    environment: Environment
    job: Job
    is_over: bool = False
    problems: list[str] = field(default_factory=list)

    def beat(self) -> None:
        """Tell that it goes on."""
        self.write(self.going_on())

    def going_on(self) -> Job:
        """Return the row of a job that goes on."""
        return replace(self.job, heard_at_ms=self.environment.now_ms())

    def ended(self, status: JobStatus, rows: int | None = None, error: str = "") -> Job:
        """Return its last row; from now on it is over."""
        self.is_over = True
        now = self.environment.now_ms()
        return replace(
            self.job, status=status, ended_at_ms=now, heard_at_ms=now, rows=rows, error=error
        )

    def fail(self, error: BaseException, registration: Register | None = None) -> None:
        """Tell how the job failed, unless its rows are committed and only what follows failed.

        Args:
            error: Why.
            registration: What its table became before, to be told in the same commit.
        """
        if self.is_over:
            return
        canceled = self.environment.conduct.is_cancellation(error)
        beaten = isinstance(error, CommitConflictError)
        status = JobStatus.CANCELED if canceled or beaten else JobStatus.FAILED
        text = str(error) or type(error).__name__
        self.write(self.ended(status, error=text[:LONGEST_ERROR]), registration)

    def write(self, job: Job, registration: Register | None = None) -> bool:
        """Write a row about it, and with it the row of its table where that is given.

        Returns:
            Whether they were written; `problems` says why not.
        """
        try:
            if registration is None:
                self.environment.conduct.log.append(job)
            else:
                self.environment.runner.run(replace(registration, job=job))
        except Exception as error:  # noqa: BLE001 - a log must not fail what it tells about
            problem = problem_of(error)
            _LOGGER.warning("the log of refreshes was not written: %s", problem)
            self.problems.append(f"The log of refreshes was not updated: {problem}")
            return False
        return True


def _job_of(plan: Plan, environment: Environment) -> Job | None:
    """The job of a plan whose commit computes rows; there is at most one such step."""
    for step in plan.steps:
        run: RefreshRun | None = getattr(step, "run", None)
        definition: StoredDefinition | None = getattr(step, "definition", None)
        if run is not None and definition is not None:
            creates = isinstance(step, Fill) and step.mode is FillMode.CREATE
            return job_of(environment, definition, run, creates=creates)
    return None


def job_of(
    environment: Environment,
    definition: StoredDefinition,
    run: RefreshRun,
    *,
    creates: bool = False,
) -> Job:
    """Return the row of a refresh that begins."""
    return Job(
        job_id=run.refresh_id,
        table=definition.name,
        kind=_KINDS.get(run.trigger, JobKind.MANUAL),
        status=JobStatus.RUNNING,
        started_at_ms=run.started_at_ms,
        heard_at_ms=environment.now_ms(),
        owner=environment.conduct.processes.owner(),
        trigger=run.trigger,
        creates=creates,
        refresh_mode=definition.resolved.refresh_mode.value,
        freshness=definition.resolved.freshness.sql,
        scheduled_at_ms=run.scheduled_at_ms,
    )
