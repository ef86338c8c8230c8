"""Executor of plans.

A refresh that computes rows writes a row of the refresh log. That row costs no extra commit where
the registry's row is written anyway. A refresh of more than two seconds also writes that it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.context import run_sequential
from dbt.adapters.spark_mt.execution.job_recorder import DeferredJobRecorder, JobRecorder, job_of
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.definition import (
        StoredDefinition,
        StoredTable,
    )
    from dbt.adapters.spark_mt.execution.context import RunBoth
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.planning.steps import RefreshRun, Step

    Finished = Callable[[StepResult], Job]

_LOGGED = (steps.Register, steps.RecordJob, steps.Unregister)


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
    execution_context.committed.add()
    return replace(result, warnings=(*result.warnings, *recorder.problems))


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


def suspend(environment: Environment, table: StoredTable, reason: str, sentence: str) -> None:
    """Suspend a table with the reason, unless it is suspended already."""
    definition = table.definition
    if definition.status is not RefreshStatus.SUSPENDED:
        after = replace(definition, status=RefreshStatus.SUSPENDED, status_reason=reason)
        perform(steps.plan_status(table, after, sentence), environment)
