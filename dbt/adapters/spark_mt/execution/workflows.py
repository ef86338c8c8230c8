"""Port to workflow schedulers, which refresh tables in mode FULL.

A workflow belongs to one table and is identified by the table's id, so a renamed table keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, runtime_checkable

from dbt.adapters.spark_mt.definition.job import Handler, JsonRefreshHandlerSerializer

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.job import RefreshHandlerSerializer
    from dbt.adapters.spark_mt.planning.schedule import Schedule


@dataclass(frozen=True, slots=True)
class CreatePeriodicRefreshWorkflow:
    """A request for a workflow that refreshes a table at the times of a schedule.

    Args:
        table: The full name.
        table_id: The table's identity.
        schedule: When it is refreshed.
        formatters: The datetime pattern of each partition column that has one. With one, every run
            writes partitions of its own, and no run may be left out.
        last_scheduled_at: The newest scheduled time that was run for, or the time from which the
            table is scheduled. Times between it and now were missed, and are run for. None for now.
    """

    table: TableName
    table_id: str
    schedule: Schedule
    formatters: Pairs = ()
    last_scheduled_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SuspendRefreshWorkflow(Generic[Handler]):
    """A request to suspend a workflow. A running refresh finishes."""

    handler: Handler


@dataclass(frozen=True, slots=True)
class DeleteRefreshWorkflow(Generic[Handler]):
    """A request to delete a workflow. A running refresh finishes."""

    handler: Handler


@dataclass(frozen=True, slots=True)
class DueRun:
    """A due run of a table's schedule.

    Args:
        table: The full name.
        scheduled_at: The scheduled time to run for, aware; it may be long past.
    """

    table: TableName
    scheduled_at: datetime


@dataclass(frozen=True, slots=True)
class SchedulerContext:
    """Functions of the process that a workflow scheduler may call.

    Args:
        submit: Submits a refresh to threads of the process. May be called from any thread.
        clock: Returns the current instant, aware.
    """

    submit: Callable[[DueRun], None]
    clock: Callable[[], datetime]


@runtime_checkable
class WorkflowScheduler(Protocol[Handler]):
    """Keeps a workflow for each table in mode FULL; the manager calls it from one thread.

    Its handlers identify workflows: FullRefreshHandler, or a type of its own that has `describe()`.
    The registry stores them, so that the next manager can suspend or delete a workflow of this one.
    A scheduler with a type of its own has one more method, `refresh_handler_serializer()`. It
    returns a RefreshHandlerSerializer; see `serializer_of`.
    """

    def create_refresh_workflow(self, workflow: CreatePeriodicRefreshWorkflow) -> Handler:
        """Create a workflow, or change and resume the one of the table.

        The workflow continues after the scheduled time that it ran for last, unless
        `last_scheduled_at` is newer.
        """

    def modify_refresh_workflow(self, workflow: SuspendRefreshWorkflow[Handler]) -> None:
        """Suspend a workflow; a suspended one stays as it is.

        Raises:
            WorkflowNotFoundError: There is none.
        """

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow[Handler]) -> None:
        """Delete a workflow, if there is one."""


def serializer_of(scheduler: WorkflowScheduler[Handler]) -> RefreshHandlerSerializer[Handler]:
    """Return the serializer of a scheduler's handlers: its own, or that of our handlers."""
    own = getattr(scheduler, "refresh_handler_serializer", None)
    serializer: RefreshHandlerSerializer[Handler]
    serializer = JsonRefreshHandlerSerializer() if own is None else own()  # type: ignore[assignment]
    return serializer
