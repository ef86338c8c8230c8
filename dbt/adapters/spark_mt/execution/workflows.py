"""The port to whatever refreshes tables in mode FULL at their scheduled times (seed 435).

A workflow belongs to one table and is known by the table's id, so that a renamed table keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.refresh_handler import (
        FullRefreshHandler,
        RefreshHandlerSerializer,
    )
    from dbt.adapters.spark_mt.planning.schedules import Schedule


class WorkflowNotFoundError(MaterializedTableError):
    """The scheduler knows of no such workflow."""

    condition = "MATERIALIZED_TABLE_WORKFLOW_NOT_FOUND"
    text = "The workflow scheduler '{scheduler}' has no workflow {workflow}."
    remedy = (
        "The refresh manager creates the workflow of every ACTIVATED table in mode FULL when it "
        "looks at the table next; that computes no row."
    )


@dataclass(frozen=True, slots=True)
class CreatePeriodicRefreshWorkflow:
    """Asks for a workflow that refreshes a table at the times of a schedule.

    Args:
        table: The full name.
        table_id: The table's identity.
        schedule: When it is refreshed.
        formatters: The datetime pattern of each partition column that has one: then a run writes
            partitions of its own, and none may be left out.
        run_options: How its refreshes run.
        last_scheduled_at: The newest scheduled time that was run for, or from when on the table is
            scheduled; times between it and now are made up for. None for now.
    """

    table: TableName
    table_id: str
    schedule: Schedule
    formatters: Pairs = ()
    run_options: Pairs = ()
    last_scheduled_at: datetime | None = None


CreateRefreshWorkflow = CreatePeriodicRefreshWorkflow


@dataclass(frozen=True, slots=True)
class SuspendRefreshWorkflow:
    """Asks a workflow to rest. A run that is under way comes to its end."""

    handler: FullRefreshHandler


@dataclass(frozen=True, slots=True)
class ResumeRefreshWorkflow:
    """Asks a workflow that rests to go on, and to make up for what it missed.

    Args:
        handler: The workflow.
        run_options: How its refreshes run from now on.
        last_scheduled_at: As when it is created; None for what the scheduler ran last.
    """

    handler: FullRefreshHandler
    run_options: Pairs = ()
    last_scheduled_at: datetime | None = None


ModifyRefreshWorkflow = SuspendRefreshWorkflow | ResumeRefreshWorkflow


@dataclass(frozen=True, slots=True)
class DeleteRefreshWorkflow:
    """Asks for the end of a workflow. A run that is under way comes to its end."""

    handler: FullRefreshHandler


@dataclass(frozen=True, slots=True)
class Firing:
    """A scheduled time has come.

    Args:
        table: The full name.
        table_id: The table's identity.
        scheduled_at: The scheduled time to run for, aware; it may be long past.
        run_options: How the refresh shall run.
        left_out: Set at the first run after a long pause: scheduled times up to this one are not
            made up for, because there were too many.
    """

    table: TableName
    table_id: str
    scheduled_at: datetime
    run_options: Pairs = ()
    left_out: datetime | None = None


@dataclass(frozen=True, slots=True)
class SchedulerContext:
    """What a workflow scheduler may use of the process that it works for.

    Args:
        fire: Refreshes a table, or hands that to threads of the process. It is called in threads
            of the scheduler, never twice at a time for one table. What is raised is only logged:
            the next scheduled time comes all the same.
        clock: Returns the current instant, aware.
        threads: How many tables may be refreshed at a time.
    """

    fire: Callable[[Firing], None]
    clock: Callable[[], datetime]
    threads: int = 4


@runtime_checkable
class WorkflowScheduler(Protocol):
    """Keeps a workflow for each table in mode FULL. Every method may be called from any thread."""

    def open(self) -> None:
        """Begin to fire; what was missed up to now is made up for."""
        ...

    def close(self, timeout: float) -> bool:
        """Fire no more, and wait for runs under way.

        Args:
            timeout: For how many seconds at most.

        Returns:
            Whether all of them have ended.
        """
        ...

    def refresh_handler_serializer(self) -> RefreshHandlerSerializer:
        """Return what turns this scheduler's handlers into bytes and back."""
        ...

    def create_refresh_workflow(self, workflow: CreateRefreshWorkflow) -> FullRefreshHandler:
        """Make a workflow, active; to ask for what is there already changes nothing.

        An existing workflow of the table takes over what differs, and goes on from the scheduled
        time that it ran for last, unless `last_scheduled_at` is newer.
        """
        ...

    def modify_refresh_workflow(self, workflow: ModifyRefreshWorkflow) -> None:
        """Suspend or resume a workflow; to ask for the state that it is in changes nothing.

        Raises:
            WorkflowNotFoundError: There is none.
        """
        ...

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow) -> None:
        """Forget a workflow; one that is not there is forgotten already."""
        ...

    def next_run_at(self, handler: FullRefreshHandler) -> datetime | None:
        """Return the next scheduled time of a workflow; None if it rests, or is not there."""
        ...
