"""When a refresh that fails again and again is tried no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.planner import plan_status

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment

LONGEST_REASON = 600
"""How many characters of an error the reason of a suspension keeps."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often in a row a refresh failed, and how often of them for the same cause.

    Args:
        count: In a row.
        same: Of the newest cause, in a row.
        cause: The condition of the newest error, or its class where it has none.
        problem: The newest error's text.
    """

    count: int = 0
    same: int = 0
    cause: str = ""
    problem: str = ""

    def after(self, error: BaseException) -> Failures:
        """Return what they are after one more."""
        cause = cause_of(error)
        same = self.same + 1 if cause == self.cause else 1
        text = problem_of(error) if isinstance(error, Exception) else repr(error)
        return Failures(self.count + 1, same, cause, text)


def cause_of(error: BaseException) -> str:
    """Return what two failures share that have the same cause: a condition, never a text."""
    if isinstance(error, MaterializedTableError):
        return error.condition
    inner = getattr(error, "java_exception", None) or error
    condition = getattr(inner, "getCondition", None)
    found = condition() if callable(condition) else None
    return str(found) if found else type(error).__name__


def give_up(environment: Environment, name: TableName, failures: Failures) -> None:
    """Suspend a table with the reason; RESUME or a changed definition ends that (semantics 8).

    Raises:
        MaterializedTableError: The table could not be suspended.
    """
    reason = (
        f"given up after {failures.same} failures of the same cause: "
        f"{failures.problem[:LONGEST_REASON]}"
    )
    retrying(lambda: _suspend(environment, name, reason))


def _suspend(environment: Environment, name: TableName, reason: str) -> None:
    table = stored_table(environment, name)
    definition = table.definition
    if definition.status is RefreshStatus.SUSPENDED:
        return
    after = replace(definition, status=RefreshStatus.SUSPENDED, status_reason=reason)
    perform(plan_status(table, after, f"suspended: {reason}"), environment)
