"""Makes the workflows of a scheduler be those that the registry's FULL tables want."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.asked_refresh import AskedRefresh
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.workflows import (
    CreatePeriodicRefreshWorkflow,
    DeleteRefreshWorkflow,
    SuspendRefreshWorkflow,
)
from dbt.adapters.spark_mt.planning.schedules import Schedule
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.service.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.refresh_handler import FullRefreshHandler
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.workflows import Firing, WorkflowScheduler

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A workflow as it was asked for last."""

    handler: FullRefreshHandler
    asked: CreatePeriodicRefreshWorkflow
    is_active: bool


class TableWorkflows:
    """The workflows of one catalog's FULL tables.

    Args:
        scheduler: Keeps and fires them.
    """

    def __init__(self, scheduler: WorkflowScheduler) -> None:
        self._scheduler = scheduler
        self._kept: dict[str, _Kept] = {}
        self._by_name: dict[TableName, str] = {}

    def converge(
        self, tables: Sequence[KnownTable], last_scheduled: Mapping[TableName, int]
    ) -> bool:
        """Create, change, suspend and delete workflows; what is right already costs nothing.

        Returns:
            Whether the scheduler took all of it; one table that it refuses holds up no other.
        """
        wanted = {table.table_id: table for table in tables}
        self._by_name = {table.name: table.table_id for table in tables}
        took = [self._took(self._delete, key) for key in self._kept.keys() - wanted.keys()]
        took += [self._took(self._converge, t, last_scheduled.get(t.name)) for t in tables]
        return all(took)

    def _took(self, change: Callable[..., None], *what: object) -> bool:
        try:
            change(*what)
        except Exception as error:  # noqa: BLE001 - the next look tries it again
            _LOGGER.warning("a workflow was not changed: %s", problem_of(error))
            return False
        return True

    def handler(self, name: TableName) -> FullRefreshHandler | None:
        """Return the refresh handler of a table that has a workflow."""
        kept = self._kept.get(self._by_name.get(name, ""))
        return kept.handler if kept else None

    def next_run_ms(self, name: TableName) -> int | None:
        """Return when a table is scheduled next, milliseconds since the epoch, UTC."""
        handler = self.handler(name)
        found = None if handler is None else self._scheduler.next_run_at(handler)
        return None if found is None else round(found.timestamp() * 1000)

    def _converge(self, table: KnownTable, last_scheduled_ms: int | None) -> None:
        kept = self._kept.get(table.table_id)
        is_active = table.status is RefreshStatus.ACTIVATED
        if kept is not None and is_active and not kept.is_active:
            self._delete(table.table_id)  # what it ran last may have failed: the log knows better
            kept = None
        since_ms = _made_up_to(table, last_scheduled_ms)
        asked = CreatePeriodicRefreshWorkflow(
            table=table.name,
            table_id=table.table_id,
            schedule=Schedule(table.freshness, table.zone),
            formatters=table.formatters,
            last_scheduled_at=kept.asked.last_scheduled_at if kept else _instant(since_ms),
        )
        if is_active and (kept is None or kept.asked != asked):
            handler = self._scheduler.create_refresh_workflow(asked)
            self._kept[table.table_id] = _Kept(handler, asked, is_active=True)
        elif kept is not None and kept.is_active and not is_active:
            self._scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(kept.handler))
            self._kept[table.table_id] = replace(kept, is_active=False)

    def _delete(self, table_id: str) -> None:
        handler = self._kept[table_id].handler
        self._scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))
        del self._kept[table_id]


@dataclass(frozen=True, slots=True)
class Firings:
    """Makes runs of what a scheduler fires; for `SchedulerContext.fire`.

    Args:
        submit: Takes a run.
        known: Returns what is known of the tables.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        patience_ms: How long a run waits for upstream tables at most.
    """

    submit: Callable[[Run], None]
    known: Callable[[], Mapping[TableName, KnownTable]]
    now_ms: Callable[[], int]
    patience_ms: int

    def __call__(self, fired: Firing) -> None:
        """Submit the run of a scheduled time."""
        asked = AskedRefresh(
            trigger=SCHEDULED,
            scheduled_at=fired.scheduled_at,
            run_options=fired.run_options or None,
        )
        table = self.known().get(fired.table)
        covers_all = table is not None and not table.formatters
        ready_at_ms = self.now_ms() + GATHER_MS
        self.submit(Run(fired.table, asked, ready_at_ms, self.patience_ms, replaces=covers_all))


def _made_up_to(table: KnownTable, last_scheduled_ms: int | None) -> int:
    """Return up to when no scheduled time is missed.

    A table that was computed whole needs no run for a time before that, and a run for a time long
    past, which somebody asked for, says nothing of those since.
    """
    known = (last_scheduled_ms, table.last_refresh_at_ms)
    return max((at for at in known if at is not None), default=table.recorded_at_ms)


GATHER_MS = 200
"""For how long runs of the same scheduled time are gathered before the first of them begins."""


def _instant(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
