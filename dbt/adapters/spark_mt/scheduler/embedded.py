"""Embedded workflow scheduler, and the loading of the scheduler that a setting names.

The loop of the manager calls the embedded one, which has no thread: `run_due` submits the runs that
are due and returns when to call it again. The times to run follow from the schedule and from the
newest run, so a time that passed while no process ran is not lost.
"""

from __future__ import annotations

import importlib
import logging
import math
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    UnknownSchedulerError,
    did_you_mean,
)
from dbt.adapters.spark_mt.definition.job import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import DueRun, WorkflowScheduler
from dbt.adapters.spark_mt.planning.schedule import missed_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.job import RefreshHandler
    from dbt.adapters.spark_mt.execution.workflows import (
        CreatePeriodicRefreshWorkflow,
        DeleteRefreshWorkflow,
        SchedulerContext,
        SuspendRefreshWorkflow,
    )


_LOGGER = logging.getLogger(__name__)
NAME = "embedded"
ENTRY_POINT_GROUP = "dbt_spark_mt.workflow_schedulers"
SCHEDULERS = {
    "airflow": "dbt.adapters.spark_mt.scheduler.airflow:create",
    "embedded": "dbt.adapters.spark_mt.scheduler.embedded:create",
}
"""The schedulers that ship with the package, by the name under which a setting chooses them."""


def create(context: SchedulerContext) -> WorkflowScheduler[FullRefreshHandler]:
    """Make the scheduler."""
    return EmbeddedScheduler(context)


@dataclass(frozen=True, slots=True)
class _Workflow:
    """An active workflow; `last` is the newest scheduled time that was run for."""

    requested: CreatePeriodicRefreshWorkflow
    last: datetime
    next: datetime


class EmbeddedScheduler:
    """Submits the runs of active workflows. Every method is called from one thread.

    Args:
        context: The process that it works for.
    """

    def __init__(self, context: SchedulerContext) -> None:
        self._context = context
        self._workflows: dict[str, _Workflow] = {}

    def create_refresh_workflow(
        self, workflow: CreatePeriodicRefreshWorkflow
    ) -> FullRefreshHandler:
        """Make a workflow, or change the one of the table; it continues after its newest run."""
        known = self._workflows.get(workflow.table_id)
        last = workflow.last_scheduled_at or (known.last if known else self._context.clock())
        last = max(last, known.last) if known else last
        following = workflow.schedule.next_after(last)
        self._workflows[workflow.table_id] = _Workflow(workflow, last, following)
        return FullRefreshHandler(NAME, workflow.table_id, workflow.schedule.text)

    def modify_refresh_workflow(self, workflow: SuspendRefreshWorkflow[FullRefreshHandler]) -> None:
        """Suspend a workflow. To create it again resumes it."""
        self._workflows.pop(workflow.handler.workflow_id, None)

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow[FullRefreshHandler]) -> None:
        """Forget a workflow."""
        self._workflows.pop(workflow.handler.workflow_id, None)

    def run_due(self) -> float:
        """Submit the runs that are due, missed ones included.

        Returns:
            Seconds until the next scheduled time.
        """
        now = self._context.clock()
        for table_id, workflow in self._workflows.items():
            if workflow.next <= now:
                last = self._submit(workflow, now)
                following = workflow.requested.schedule.next_after(last)
                self._workflows[table_id] = replace(workflow, last=last, next=following)
        pauses = ((each.next - now).total_seconds() for each in self._workflows.values())
        return min(pauses, default=math.inf)

    def _submit(self, workflow: _Workflow, now: datetime) -> datetime:
        """Submit the runs of a workflow, and return the newest scheduled time."""
        requested = workflow.requested
        missed = missed_runs(requested.schedule, dict(requested.formatters), workflow.last, now)
        if missed.left_out is not None:
            _LOGGER.warning("%s: no run up to %s: too many", requested.table, missed.left_out)
        for scheduled_at in missed.scheduled:
            self._context.submit(DueRun(requested.table, scheduled_at))
        return max((workflow.last, *missed.scheduled))


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
    except Exception as error:  # a module of others may raise anything
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
    return conditions.UNKNOWN_SCHEDULER(scheduler=spec, problem=problem, known=known)
