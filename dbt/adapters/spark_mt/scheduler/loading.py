"""Loading of the workflow scheduler that a setting names."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.workflows import WorkflowScheduler
from dbt.adapters.spark_mt.resolution.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.job import RefreshHandler
    from dbt.adapters.spark_mt.execution.workflows import SchedulerContext


ENTRY_POINT_GROUP = "dbt_spark_mt.workflow_schedulers"
SCHEDULERS = {
    "airflow": "dbt.adapters.spark_mt.scheduler.airflow:create",
    "embedded": "dbt.adapters.spark_mt.scheduler.embedded:create",
}
"""The schedulers that ship with the package, by the name under which a setting chooses them."""


class UnknownSchedulerError(MaterializedTableError):
    """No workflow scheduler can be made under the configured name."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_SCHEDULER"
    text = "The workflow scheduler '{scheduler}' cannot be loaded: {problem}."
    remedy = (
        "Set spark.materialized-table.scheduler to one of {known}, to the name of an entry point "
        "in the group "
        + ENTRY_POINT_GROUP
        + ", or to `module:callable`. No table was changed, but "
        "none in mode FULL is refreshed before a scheduler runs."
    )


def load_scheduler(spec: str, context: SchedulerContext) -> WorkflowScheduler[RefreshHandler]:
    """Make the scheduler that the setting names.

    Args:
        spec: A name in `SCHEDULERS`, the name of an entry point, or `module:callable`; the callable
            takes the context.
        context: The process that it works for.

    Raises:
        UnknownSchedulerError: There is none, it cannot be imported or made, or it is no scheduler.
    """
    try:
        scheduler = _find(spec)(context)
    except UnknownSchedulerError:
        raise
    except (
        Exception
    ) as error:  # a module of others may raise anything when it is imported or called
        problem = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise _unknown(spec, problem) from error
    if not isinstance(scheduler, WorkflowScheduler):
        raise _unknown(spec, f"it made a {type(scheduler).__name__}, which is no WorkflowScheduler")
    return scheduler


def _find(spec: str) -> Callable[[SchedulerContext], object]:
    places = _places()
    module, colon, name = places.get(spec, spec).partition(":")
    if not colon:
        raise _unknown(spec, "nothing has this name" + did_you_mean(spec, places).rstrip("?"))
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise _unknown(spec, f"{name} cannot be called")
    return found


def _places() -> dict[str, str]:
    """Return the `module:callable` of every name; ours win."""
    registered = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**registered, **SCHEDULERS}


def _unknown(spec: str, problem: str) -> UnknownSchedulerError:
    known = ", ".join(f"`{name}`" for name in sorted(_places()))
    return UnknownSchedulerError(scheduler=spec, problem=problem, known=known)
