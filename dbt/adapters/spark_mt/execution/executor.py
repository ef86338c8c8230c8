"""Carries a plan out, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.conduct import in_turn
from dbt.adapters.spark_mt.execution.errors import UnfinishedChangeError, problem_of
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.planning.phase import Phase
from dbt.adapters.spark_mt.planning.steps import Publish, RecordJob, Register, Unregister

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.conduct import Action, Beside
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.planning.steps import Plan, Step

    Finished = Callable[[StepResult], Job]

_LOGGED = (Register, RecordJob, Unregister)


def execute(
    plan: Plan, runner: StepRunner, beside: Beside = in_turn, finished: Finished | None = None
) -> StepResult:
    """Run every step of `plan`: up to the commit point in order, then what follows from it.

    A step before or at the commit point that fails leaves everything as it was; the steps that ran
    before it are undone, newest first. A step after the commit point cannot take the commit back:
    its failure is reported as such, and the next statement on the table does it again. What the
    registry and the log of refreshes are told goes on beside the other steps after the commit; they
    are an index, so a row that could not be written is only a warning. Only publication waits for
    it: a published definition says that nothing is left to do, also to whoever comes after a crash,
    and a table that the registry never heard of would be listed by nobody.

    Args:
        plan: The steps.
        runner: Carries each out.
        beside: Runs what the registry is told beside the other steps.
        finished: Returns the row of the refresh from what its commit did, where this is a refresh.

    Returns:
        The rows and positions of the commit, and all warnings.

    Raises:
        UnfinishedChangeError: A step after the commit point failed.
        MaterializedTableError: A step before or at the commit point failed.
    """
    warnings = list(plan.warnings)
    committed = _commit(plan, runner, warnings)
    rest = [step for step in plan.steps if step.phase is Phase.AFTER]
    told = [step for step in rest if isinstance(step, _LOGGED)]
    follow_ups = [step for step in rest if not isinstance(step, _LOGGED)]
    not_told: list[str] = []

    def tell() -> None:
        not_told.extend(_tell(told, runner, finished and (lambda: finished(committed))))

    publishes = any(isinstance(step, Publish) for step in follow_ups)
    order = _first if publishes or not follow_ups else beside
    order(tell, lambda: _follow_up(plan, follow_ups, runner, warnings))
    return replace(committed, warnings=(*warnings, *not_told))


def _first(aside: Action, main: Action) -> None:
    aside()
    main()


def _commit(plan: Plan, runner: StepRunner, warnings: list[str]) -> StepResult:
    committed = StepResult()
    done: list[Step] = []
    for step in plan.steps:
        if step.phase is Phase.AFTER:
            continue
        try:
            result = runner.run(step)
        except Exception:
            for undone in (step, *reversed(done)):
                runner.undo(undone)
            raise
        done.append(step)
        warnings += result.warnings
        if step.phase is Phase.COMMIT:
            committed = result
    return committed


def _follow_up(plan: Plan, steps: Sequence[Step], runner: StepRunner, warnings: list[str]) -> None:
    try:
        for step in steps:
            warnings += runner.run(step).warnings
    except Exception as error:
        raise UnfinishedChangeError(table=plan.table, problem=problem_of(error)) from error


def _tell(steps: Sequence[Step], runner: StepRunner, job: Callable[[], Job] | None) -> list[str]:
    """Write the rows of the registry and of the log; return a sentence where that failed."""
    problems: list[str] = []
    try:
        for step in _with_job(steps, job() if job else None):
            problems += runner.run(step).warnings
    except Exception as error:  # noqa: BLE001 - the commit stands, whatever its index says
        problem = problem_of(error)
        problems.append(f"The registry of materialized tables was not updated: {problem}")
    return problems


def _with_job(steps: Sequence[Step], job: Job | None) -> Sequence[Step]:
    """Let the row of a refresh go with the row of its table, in one commit."""
    if job is None:
        return steps
    if not any(isinstance(step, Register) for step in steps):
        return (*steps, RecordJob(job))
    return [replace(step, job=job) if isinstance(step, Register) else step for step in steps]
