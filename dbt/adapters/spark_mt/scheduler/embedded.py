"""Embedded workflow scheduler, which the loop of the manager calls.

The times to run follow from the schedule and from the newest run, so a time that passed while no
process ran is not lost. The scheduler has no thread: `run_due` submits the runs that are due and
returns when to call it again.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import DueRun
from dbt.adapters.spark_mt.planning.schedule import missed_runs

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.execution.workflows import (
        CreatePeriodicRefreshWorkflow,
        DeleteRefreshWorkflow,
        SchedulerContext,
        SuspendRefreshWorkflow,
        WorkflowScheduler,
    )


_LOGGER = logging.getLogger(__name__)
NAME = "embedded"


def create(context: SchedulerContext) -> WorkflowScheduler[FullRefreshHandler]:
    """Make the scheduler."""
    return EmbeddedScheduler(context)


@dataclass(frozen=True, slots=True)
class _Workflow:
    """An active workflow.

    Args:
        requested: What the workflow was asked for.
        last: The newest scheduled time that was run for.
        next: The next one.
    """

    requested: CreatePeriodicRefreshWorkflow
    last: datetime
    next: datetime

    def after(self, last: datetime) -> _Workflow:
        """Return the workflow after the run of a scheduled time."""
        return replace(self, last=last, next=self.requested.schedule.next_after(last))


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
                self._workflows[table_id] = self._submit(workflow, now)
        following = (workflow.next - now for workflow in self._workflows.values())
        return min((pause.total_seconds() for pause in following), default=math.inf)

    def _submit(self, workflow: _Workflow, now: datetime) -> _Workflow:
        requested = workflow.requested
        missed = missed_runs(requested.schedule, dict(requested.formatters), workflow.last, now)
        if missed.left_out is not None:
            _LOGGER.warning("%s: no run up to %s: too many", requested.table, missed.left_out)
        for scheduled_at in missed.scheduled:
            self._context.submit(DueRun(requested.table, scheduled_at))
        return workflow.after(max((workflow.last, *missed.scheduled)))
