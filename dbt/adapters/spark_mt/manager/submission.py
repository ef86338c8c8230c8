"""Submission of refreshes by people and other schedulers, answered before a refresh starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import SuspendedError
from dbt.adapters.spark_mt.execution.executor import existing_table
from dbt.adapters.spark_mt.execution.refresh import RequestedRefresh
from dbt.adapters.spark_mt.manager.runs import Run
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.resolution.durations import SESSION_TIME_ZONE
from dbt.adapters.spark_mt.resolution.options import check_run_options
from dbt.adapters.spark_mt.statements.nodes import PartitionValue
from dbt.adapters.spark_mt.statements.parser import parse_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.manager.runs import Dispatcher, Refreshing
    from dbt.adapters.spark_mt.manager.views import RefreshRequest

    ReadTime = Callable[[str, str, str], datetime]
    """Reads a text by a pattern in a zone."""


_MANUAL = "REST"


@dataclass(frozen=True, slots=True)
class Submissions:
    """Checks, names and begins refreshes.

    Args:
        environment: Makes ports.
        dispatcher: Begins them.
        refreshing: Carries them out.
        read_time: Reads scheduled times.
    """

    environment: Callable[[], Environment]
    dispatcher: Dispatcher
    refreshing: Refreshing
    read_time: ReadTime

    def submit(self, request: RefreshRequest) -> str:
        """Begin a refresh.

        Returns:
            Its name, under which the log of refreshes knows it already.

        Raises:
            SuspendedError: A schedule asks, and the table is suspended.
            InvalidScheduleTimeError: The scheduled time cannot be read.
            MaterializedTableError: There is no such table, or some option is no run option.
        """
        environment = self.environment()
        table = existing_table(environment, environment.store.full_name(parse_name(request.table)))
        if request.run_options:
            check_run_options(str(table.name), request.run_options)
        scheduled_at = self._scheduled_at(table, request) if request.is_periodic else None
        requested = RequestedRefresh(
            partition=tuple(PartitionValue(c, quote_text(value)) for c, value in request.partition),
            trigger=SCHEDULED if request.is_periodic else _MANUAL,
            run_options=request.run_options or None,
            refresh_id=environment.new_id(),
            scheduled_at=scheduled_at,
        )
        job = _job(environment, table, requested)
        self.refreshing.record(job)
        self.dispatcher.submit(Run(table.name, requested, environment.now_ms(), is_submitted=True))
        return requested.refresh_id

    def _scheduled_at(self, table: StoredTable, request: RefreshRequest) -> datetime:
        definition = table.definition
        if definition.status is RefreshStatus.SUSPENDED:
            reason = definition.status_reason
            raise SuspendedError(table=table.name, reason=f" ({reason})" if reason else "")
        zone = dict(definition.resolved.context.confs).get(SESSION_TIME_ZONE, "UTC")
        return self.read_time(request.schedule_time or "", request.schedule_time_format, zone)


def _job(environment: Environment, table: StoredTable, requested: RequestedRefresh) -> Job:
    now, at = environment.now_ms(), requested.scheduled_at
    return Job(
        job_id=requested.refresh_id,
        table=table.name,
        kind=JobKind.MANUAL if at is None else JobKind.SCHEDULED,
        status=JobStatus.RUNNING,
        started_at_ms=now,
        last_heartbeat_ms=now,
        owner=environment.execution_context.processes.owner(),
        trigger=requested.trigger,
        refresh_mode=table.definition.resolved.refresh_mode.value,
        freshness=table.definition.resolved.freshness.sql,
        scheduled_at_ms=None if at is None else round(at.timestamp() * 1000),
    )
