"""Executor of plans: steps, job rows, retries and writer priority.

A refresh that computes rows writes a row of the refresh log. That row costs no extra commit where
the registry's row is written anyway. A refresh of more than two seconds also writes that it runs.

A batch commits faster than a query is recomputed, so a statement that fills a hosted table could
lose every conflict. After the first one, it records in the log that it runs, and takes the next
sequence number by a commit without rows. The host's batch then loses, and the host waits for the
statement that the log names.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    Missing,
    StoredTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.errors import CommitConflictError, ExecutorLostError
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.context import run_sequential
from dbt.adapters.spark_mt.execution.jobs import raise_if_initializing
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.execution.context import RunBoth
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.planning.steps import RefreshRun, Step

    Finished = Callable[[StepResult], Job]
    _T = TypeVar("_T")


_LOGGED = (steps.Register, steps.RecordJob, steps.Unregister)


LONGEST_ERROR = 2000
"""The largest number of characters of an error in the log."""
_KINDS = {steps.SCHEDULED: JobKind.SCHEDULED, steps.HOSTED: JobKind.CONTINUOUS}
_LOGGER = logging.getLogger(__name__)
_ATTEMPTS = 5
_TRANSIENT = (CommitConflictError, ExecutorLostError)


def execute(
    plan: steps.Plan,
    runner: StepRunner,
    run_both: RunBoth = run_sequential,
    finished: Finished | None = None,
) -> StepResult:
    """Run every step of `plan`: up to the commit point in order, then the steps after it.

    If a step before or at the commit point fails, everything stays as it was. The steps that ran
    before it are undone, newest first. A step after the commit point cannot undo the commit. Its
    failure is reported as such, and the next statement on the table repeats it.

    Rows of the registry and of the log of refreshes are written in parallel with the other steps
    after the commit. They are an index, so a row that could not be written is only a warning.

    Args:
        plan: The steps.
        runner: Runs each of them.
        run_both: Runs the writes of the registry's rows and the other steps.
        finished: Returns the row of a refresh from the result of its commit; None if the plan is
            no refresh.

    Returns:
        The rows and positions of the commit, and all warnings.

    Raises:
        UnfinishedChangeError: A step after the commit point failed.
        MaterializedTableError: A step before or at the commit point failed.
    """
    warnings = list(plan.warnings)
    committed = _commit(plan, runner, warnings)
    rest = [step for step in plan.steps if step.phase is steps.Phase.AFTER]
    logged = [step for step in rest if isinstance(step, _LOGGED)]
    follow_ups = [step for step in rest if not isinstance(step, _LOGGED)]
    not_recorded: list[str] = []

    def record() -> None:
        not_recorded.extend(_record(logged, runner, finished and (lambda: finished(committed))))

    def follow_up() -> None:
        try:
            for step in follow_ups:
                warnings.extend(runner.run(step).warnings)
        except Exception as error:
            raise conditions.UNFINISHED_CHANGE(
                table=plan.table, problem=errors.problem_of(error)
            ) from error

    # A published definition means, also after a crash, that nothing is left to do. So it waits for
    # the rows: otherwise a table could stay without one, and SHOW would not list it.
    if not follow_ups or any(isinstance(step, steps.Publish) for step in follow_ups):
        record()
        follow_up()
    else:
        run_both(record, follow_up)
    return replace(committed, warnings=(*warnings, *not_recorded))


def _commit(plan: steps.Plan, runner: StepRunner, warnings: list[str]) -> StepResult:
    committed = StepResult()
    done: list[Step] = []
    for step in plan.steps:
        if step.phase is steps.Phase.AFTER:
            continue
        try:
            result = runner.run(step)
        except Exception:
            for undone in (step, *reversed(done)):
                runner.undo(undone)
            raise
        done.append(step)
        warnings += result.warnings
        if step.phase is steps.Phase.COMMIT:
            committed = result
    return committed


def _record(
    planned: Sequence[Step], runner: StepRunner, job: Callable[[], Job] | None
) -> list[str]:
    """Write the rows of the registry and of the log; return a sentence where that failed."""
    problems: list[str] = []
    try:
        for step in _with_job(planned, job() if job else None):
            problems += runner.run(step).warnings
    except Exception as error:  # noqa: BLE001 - the commit is valid without its index
        problem = errors.problem_of(error)
        problems.append(f"The registry of materialized tables was not updated: {problem}")
    return problems


def _with_job(planned: Sequence[Step], job: Job | None) -> Sequence[Step]:
    """Return the steps with the row of a refresh, in one commit with the row of its table."""
    if job is None:
        return planned
    if not any(isinstance(step, steps.Register) for step in planned):
        return (*planned, steps.RecordJob(job))
    return [
        replace(step, job=job) if isinstance(step, steps.Register) else step for step in planned
    ]


def perform(plan: steps.Plan, environment: Environment) -> StepResult:
    """Execute a plan, and write the log of refreshes if the plan computes rows.

    Raises:
        MaterializedTableError: As `execute`; a failed write of the log is only a warning.
    """
    execution_context = environment.execution_context
    job = _job_of(plan, environment)
    if job is None:
        return execute(plan, environment.runner, execution_context.run_both)
    # Rows may wait if a manager's host refreshes a table whose definition stays as it is.
    waits = (
        execution_context.deferred.covered
        and job.kind is JobKind.CONTINUOUS
        and not any(isinstance(step, steps.Publish) for step in plan.steps)
    )
    recorder = DeferredJobRecorder(environment, job) if waits else JobRecorder(environment, job)
    runner = _DeferringRunner(environment) if waits else environment.runner
    heartbeat = execution_context.heartbeat(recorder.beat)

    def finished(committed: StepResult) -> Job:
        heartbeat.stop()
        return recorder.ended(JobStatus.FINISHED, rows=committed.rows)

    try:
        result = execute(plan, runner, execution_context.run_both, finished)
    except BaseException as error:
        heartbeat.stop()
        recorder.fail(error)
        raise
    return replace(result, warnings=(*result.warnings, *recorder.problems))


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
        """Record the failure of the job, unless its rows are committed and a later step failed."""
        if not self.is_over:
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


class _DeferringRunner:
    """Runs steps, but defers rows of the registry and of the log."""

    def __init__(self, environment: Environment) -> None:
        self._runner = environment.runner
        self._deferred = environment.execution_context.deferred
        self._now_ms = environment.now_ms

    def run(self, step: Step) -> StepResult:
        if isinstance(step, steps.Register) and step.job is not None:
            table = replace(step, job=None, at_ms=self._now_ms())
            self._deferred.progressed(step.job, table)
            return StepResult()
        return self._runner.run(step)

    def undo(self, step: Step) -> None:
        self._runner.undo(step)


def _job_of(plan: steps.Plan, environment: Environment) -> Job | None:
    """Return the job of a plan whose commit computes rows; there is at most one such step."""
    for step in plan.steps:
        run: RefreshRun | None = getattr(step, "run", None)
        definition: StoredDefinition | None = getattr(step, "definition", None)
        if run is not None and definition is not None:
            creates = isinstance(step, steps.Fill) and step.mode is steps.FillMode.CREATE
            return job_of(environment, definition, run, creates=creates)
    return None


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


def retrying(
    operation: Callable[[], _T],
    writer_priority: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> _T:
    """Run `operation` again when another writer was first, or when an executor was lost with rows.

    It reads everything again each time. All attempts after the first one run in `writer_priority`.

    Raises:
        CommitConflictError: Other writers were first; it is the last of five attempts.
        ExecutorLostError: An executor was lost; it is the last of five attempts.
    """
    with suppress(*_TRANSIENT):
        return operation()
    with writer_priority():
        for _ in range(_ATTEMPTS - 2):
            with suppress(*_TRANSIENT):
                return operation()
        return operation()


@contextmanager
def writer_priority(environment: Environment, name: TableName) -> Iterator[None]:
    """Keep hosts of the table with a full name from beginning new batches while the block runs.

    Hosts wait only while the log has recent heartbeats of the block's job, so never for ever. If
    no host wrote the newest rows, the block runs without priority.
    """
    environment.store.forget()
    table = environment.store.find(name)
    last = table.last_refresh if isinstance(table, StoredTable) else None
    if not isinstance(table, StoredTable) or last is None or last.trigger != steps.HOSTED:
        yield
        return
    resolved, now = table.definition.resolved, environment.now_ms()
    job = Job(
        job_id=environment.new_id(),
        table=table.name,
        kind=JobKind.MANUAL,
        status=JobStatus.RUNNING,
        started_at_ms=now,
        last_heartbeat_ms=now,
        owner=environment.execution_context.processes.owner(),
        trigger="TURN",
        refresh_mode=resolved.refresh_mode.value,
        freshness=resolved.freshness.sql,
    )
    recorder = JobRecorder(environment, job)
    recorder.beat()
    heartbeat = environment.execution_context.heartbeat(recorder.beat)
    try:
        _take_number(environment, name)
        yield
    finally:
        heartbeat.stop()
        recorder.write(recorder.ended(JobStatus.SKIPPED))


def _take_number(environment: Environment, name: TableName) -> None:
    """Commit no rows and the same definition; a batch may win a few conflicts before that."""
    for _ in range(_ATTEMPTS):
        environment.store.forget()
        table = environment.store.find(name)
        if not isinstance(table, StoredTable):
            return
        planned = steps.definition_steps(table, table.definition, table.positions)
        with suppress(CommitConflictError):
            execute(
                steps.Plan(name, planned),
                environment.runner,
                environment.execution_context.run_both,
            )
            return


def suspend(environment: Environment, table: StoredTable, reason: str, sentence: str) -> None:
    """Suspend a table with the reason, unless it is suspended already."""
    definition = table.definition
    if definition.status is not RefreshStatus.SUSPENDED:
        after = replace(definition, status=RefreshStatus.SUSPENDED, status_reason=reason)
        perform(steps.plan_status(table, after, sentence), environment)


def stored_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name`, and finish an unfinished statement before.

    Raises:
        MaterializedTableError: As `existing_table`.
    """
    found = existing_table(environment, name)
    if found.unpublished:
        perform(steps.plan_publish(found), environment)
        return replace(found, published=None)
    return found


def existing_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name` and change nothing.

    Raises:
        TableNotFoundError: There is nothing of this name.
        MaterializedTableError: Another process is creating it at this moment.
        NotMaterializedError: A view or an unmanaged table has the name.
        MaterializedTableError: Another program changed the table, and its definition does not fit.
        UnreadableDefinitionError: Its definition cannot be read.
    """
    found = environment.store.find(name)
    if isinstance(found, Missing):
        raise_if_initializing(environment, name)
        raise conditions.NOT_FOUND(table=name)
    if isinstance(found, Unreadable):
        raise found.error
    if isinstance(found, InconsistentTable):
        raise conditions.CHANGED_OUTSIDE(table=name, problem=found.problem)
    if not isinstance(found, StoredTable):
        raise conditions.EXPECTED(table=name, kind=found.kind)
    return found
