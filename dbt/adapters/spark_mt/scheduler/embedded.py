"""The scheduler that lives in the manager's process, on APScheduler 3.

APScheduler tells when a scheduled time has come; for which times to run follows from what was run
last, so that a time that passed while nobody looked is never lost. Runs work in threads of their
own, not in APScheduler's: a table that is slow delays no other, and the timer never waits.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timezone
from threading import Lock
from typing import TYPE_CHECKING

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.interval import IntervalTrigger

from dbt.adapters.spark_mt.definition.refresh_handler import (
    FullRefreshHandler,
    JsonRefreshHandlerSerializer,
)
from dbt.adapters.spark_mt.execution.workflows import SuspendRefreshWorkflow, WorkflowNotFoundError
from dbt.adapters.spark_mt.scheduler.workflow import Workflow

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from datetime import datetime

    from apscheduler.schedulers.base import BaseScheduler

    from dbt.adapters.spark_mt.definition.refresh_handler import RefreshHandlerSerializer
    from dbt.adapters.spark_mt.execution.workflows import (
        CreateRefreshWorkflow,
        DeleteRefreshWorkflow,
        ModifyRefreshWorkflow,
        SchedulerContext,
        WorkflowScheduler,
    )
    from dbt.adapters.spark_mt.planning.schedules import Schedule

_LOGGER = logging.getLogger(__name__)
NAME = "embedded"
LOOK_SECONDS = 60
"""How often everything is looked at, whatever the timer says: a machine that slept, or whose clock
was set, wakes up late otherwise."""


def create(context: SchedulerContext) -> WorkflowScheduler:
    """Make the scheduler; nothing fires before `open`."""
    pool = ThreadPoolExecutor(context.threads, thread_name_prefix="materialized-table-refresh")
    return EmbeddedScheduler(context, BackgroundScheduler(**timer_options()), pool)


def timer_options() -> dict[str, object]:
    """Return how APScheduler has to be set up: what it calls runs in its own thread, at once."""
    return {
        "timezone": timezone.utc,
        "executors": {"default": DebugExecutor()},
        "job_defaults": {"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    }


class ScheduleTrigger(BaseTrigger):  # type: ignore[misc]
    """Tells APScheduler the next time of a schedule; past ones are not its business."""

    __slots__ = ("_schedule",)

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the first scheduled time after both."""
        return self._schedule.next_after(max(now, previous_fire_time or now))


class EmbeddedScheduler:
    """A workflow scheduler over a timer and a pool of threads.

    Args:
        context: The process that it works for.
        timer: An APScheduler that was set up by `timer_options` and not started.
        pool: Where runs work; belongs to the scheduler from now on.
    """

    def __init__(self, context: SchedulerContext, timer: BaseScheduler, pool: Executor) -> None:
        self._context = context
        self._timer = timer
        self._pool = pool
        self._workflows: dict[str, Workflow] = {}
        self._runs: dict[str, Future[None]] = {}
        self._is_open = False
        self._changes = Lock()  # never taken by what the timer calls: that holds the timer's locks
        self._looking = Lock()  # the timer is never called under it

    def open(self) -> None:
        """Begin to fire; what was missed up to now is made up for."""
        with self._changes:
            self._is_open = True
            self._timer.add_job(self._look_at_all, IntervalTrigger(seconds=LOOK_SECONDS))
            self._timer.start()
        self._look_at_all()

    def close(self, timeout: float) -> bool:
        """Fire no more, and wait for runs under way; returns whether all have ended."""
        with self._changes:
            with self._looking:
                self._is_open = False
            if self._timer.running:
                self._timer.shutdown(wait=False)
            self._pool.shutdown(wait=False, cancel_futures=True)
        with self._looking:
            under_way = tuple(self._runs.values())
        return not wait(under_way, timeout).not_done

    def refresh_handler_serializer(self) -> RefreshHandlerSerializer:
        """Return what turns handlers into bytes and back."""
        return JsonRefreshHandlerSerializer()

    def create_refresh_workflow(self, workflow: CreateRefreshWorkflow) -> FullRefreshHandler:
        """Make a workflow, active; to ask for what is there already changes nothing."""
        with self._changes:
            known = self._workflows.get(workflow.table_id)
            if known is None:
                self._workflows[workflow.table_id] = Workflow(workflow, self._context)
                self._time(workflow)
            elif not known.is_active or _differ(known.asked, workflow):
                known.update(workflow)
                self._time(workflow)
        self._look_at(workflow.table_id)
        return FullRefreshHandler(NAME, workflow.table_id, workflow.schedule.text)

    def modify_refresh_workflow(self, workflow: ModifyRefreshWorkflow) -> None:
        """Suspend or resume a workflow; to ask for the state that it is in changes nothing.

        Raises:
            WorkflowNotFoundError: There is none.
        """
        table_id = workflow.handler.workflow_id
        with self._changes:
            known = self._workflows.get(table_id)
            if known is None:
                raise WorkflowNotFoundError(scheduler=NAME, workflow=table_id)
            if isinstance(workflow, SuspendRefreshWorkflow):
                known.rest()
                self._untime(table_id)
            elif not known.is_active:
                known.resume(workflow)
                self._time(known.asked)
        self._look_at(table_id)

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow) -> None:
        """Forget a workflow; one that is not there is forgotten already."""
        with self._changes:
            known = self._workflows.pop(workflow.handler.workflow_id, None)
            if known is not None:
                known.rest()
                self._untime(workflow.handler.workflow_id)

    def next_run_at(self, handler: FullRefreshHandler) -> datetime | None:
        """Return the next scheduled time of a workflow; None if it rests, or is not there."""
        known = self._workflows.get(handler.workflow_id)
        if known is None or not known.is_active:
            return None
        return known.asked.schedule.next_after(self._context.clock())

    def _time(self, workflow: CreateRefreshWorkflow) -> None:
        self._timer.add_job(
            self._look_at,
            ScheduleTrigger(workflow.schedule),
            args=(workflow.table_id,),
            id=workflow.table_id,
            name=str(workflow.table),
            replace_existing=True,
        )

    def _untime(self, table_id: str) -> None:
        if self._timer.get_job(table_id) is not None:
            self._timer.remove_job(table_id)

    def _look_at_all(self) -> None:
        for table_id in tuple(self._workflows):
            self._look_at(table_id)

    def _look_at(self, table_id: str) -> None:
        """Run what is due of a table; while a run of it is under way, its end looks again."""
        with self._looking:
            workflow = self._workflows.get(table_id)
            if not self._is_open or workflow is None or table_id in self._runs:
                return
            if not workflow.is_due():
                return
            run = self._pool.submit(workflow.run, self._is_closed)
            self._runs[table_id] = run
        run.add_done_callback(lambda ended: self._ended(table_id, ended))

    def _ended(self, table_id: str, run: Future[None]) -> None:
        with self._looking:
            del self._runs[table_id]
        if run.cancelled():
            return
        if (error := run.exception()) is not None:
            _LOGGER.error("The workflow of table %s failed", table_id, exc_info=error)
            return
        self._look_at(table_id)

    def _is_closed(self) -> bool:
        return not self._is_open


def _differ(known: CreateRefreshWorkflow, asked: CreateRefreshWorkflow) -> bool:
    """Whether two orders differ in more than from where they count."""
    return replace(known, last_scheduled_at=None) != replace(asked, last_scheduled_at=None)
