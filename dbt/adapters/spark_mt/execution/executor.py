"""Carries a plan out, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.errors import UnfinishedChangeError
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.planning.steps import Phase, Register, Unregister

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.planning.steps import Plan, Step

_INDEX = (Register, Unregister)


def execute(plan: Plan, runner: StepRunner) -> StepResult:
    """Run every step of `plan` in order.

    A step before or at the commit point that fails leaves everything as it was; the steps that ran
    before it are undone, newest first. A step after the commit point cannot take the commit back:
    its failure is reported as such, and the next statement on the table does it again. The registry
    is an index, so a row that could not be written is only a warning.

    Returns:
        The rows and positions of the commit, and all warnings.

    Raises:
        UnfinishedChangeError: A step after the commit point failed.
        MaterializedTableError: A step before or at the commit point failed.
    """
    done: list[Step] = []
    committed = StepResult()
    warnings = list(plan.warnings)
    for step in plan.steps:
        try:
            result = runner.run(step)
        except Exception as error:
            if isinstance(step, _INDEX):
                warnings.append(f"The registry of materialized tables was not updated: {error}")
                continue
            _recover(plan, step, done, runner, error)
            raise
        done.append(step)
        warnings += result.warnings
        if step.phase is Phase.COMMIT:
            committed = result
    return StepResult(
        committed.rows, committed.committed_at_ms, committed.positions, tuple(warnings)
    )


def _recover(
    plan: Plan, failed: Step, done: list[Step], runner: StepRunner, error: Exception
) -> None:
    if failed.phase is Phase.AFTER:
        problem = error.args[0] if isinstance(error, MaterializedTableError) else str(error)
        raise UnfinishedChangeError(table=plan.table, problem=problem) from error
    for step in (failed, *reversed(done)):
        runner.undo(step)
