"""Workflows of the registry's FULL tables in a scheduler, and their refresh handlers."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, WorkflowNotFoundError
from dbt.adapters.spark_mt.definition.job import (
    ContinuousRefreshHandler,
    JsonRefreshHandlerSerializer,
    StoredHandler,
)
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.refresh import RequestedRefresh
from dbt.adapters.spark_mt.execution.workflows import (
    CreatePeriodicRefreshWorkflow,
    DeleteRefreshWorkflow,
    SuspendRefreshWorkflow,
    serializer_of,
)
from dbt.adapters.spark_mt.manager.runs import Run
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.planning.steps import SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Owner, RefreshHandler
    from dbt.adapters.spark_mt.execution.ports import KnownTable, ManagedRegistry
    from dbt.adapters.spark_mt.execution.workflows import DueRun, WorkflowScheduler


_LOGGER = logging.getLogger(__name__)
GATHER_MS = 200
"""How long a run waits for the submission of other runs of the same scheduled time."""


class RefreshHandlers:
    """Each is written once, and again where it changes; one commit for all that changed.

    A handler names the term of the lease under which it was written, and is valid while it is held.
    """

    def __init__(
        self,
        catalog: str,
        registry: ManagedRegistry,
        owner: Owner,
        term: Callable[[], int],
        workflows: TableWorkflows,
    ) -> None:
        self._catalog = catalog
        self._registry = registry
        self._owner = owner
        self._term = term
        self._workflows = workflows
        self._recorded: dict[TableName, bytes] = {}

    def take_over(self) -> None:
        """Read the handlers of the manager before this one, and take over its workflows."""
        self._recorded = dict(self._registry.handlers(self._catalog))
        stored = {name: _stored(text) for name, text in self._recorded.items()}
        self._workflows.restore({name: each for name, each in stored.items() if each is not None})

    def record(self, tables: Sequence[KnownTable]) -> None:
        """Write who refreshes these tables, and that no manager refreshes the others any more."""
        wanted = {table.name: self._text(table) for table in tables}
        changed = {n: h for n, h in wanted.items() if self._recorded.get(n) != h}
        changed |= dict.fromkeys(self._recorded.keys() - wanted.keys(), b"")
        if changed:
            self._registry.record_handlers(self._catalog, changed)
        self._recorded = wanted

    def recorded(self, table: TableName) -> bytes:
        """Return the handler of a table that the registry has; empty without one.

        Other processes write no handlers while this manager holds the lease.
        """
        return self._recorded.get(table, b"")

    def describe(self, table: KnownTable) -> str:
        """Describe the handler of a table that this manager refreshes, for people."""
        return StoredHandler.decode(self._text(table)).description

    def _text(self, table: KnownTable) -> bytes:
        stored = self._workflows.stored(table.name)
        if table.refresh_mode is RefreshMode.FULL and stored is not None:
            return stored.encode()
        handler = ContinuousRefreshHandler(
            host=str(self._owner),
            query_id=table.table_id,
            run_id=f"{self._term()}.{table.generation}",
            checkpoint="",
        )
        return JsonRefreshHandlerSerializer().serialize(handler)


def _stored(text: bytes) -> StoredHandler | None:
    """One that this release cannot read counts as none."""
    try:
        return StoredHandler.decode(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A workflow as it was asked for last."""

    handler: RefreshHandler
    stored: StoredHandler
    requested: CreatePeriodicRefreshWorkflow | None
    """None if a manager before this one asked."""
    is_active: bool
    """Whether it runs at its scheduled times, as far as is known."""


class TableWorkflows:
    """The workflows of one catalog's FULL tables."""

    def __init__(
        self,
        scheduler: WorkflowScheduler[RefreshHandler],
        name: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._scheduler = scheduler
        self._name = name
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._by_name: dict[TableName, str] = {}

    def restore(self, stored: Mapping[TableName, StoredHandler]) -> None:
        """Take over the workflows of the manager before this one, from the registry.

        Those of tables that are gone can then be deleted, those of suspended ones suspended.
        """
        for table, each in stored.items():
            if each.table_id and each.table_id not in self._kept:
                self._took(self._restore, table, each)

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
        except Exception as error:  # noqa: BLE001 - the next tick tries it again
            _LOGGER.warning("a workflow was not changed: %s", problem_of(error))
            return False
        return True

    def stored(self, name: TableName) -> StoredHandler | None:
        """Return what the registry is to keep of the handler of a table that has a workflow."""
        kept = self._kept.get(self._by_name.get(name, ""))
        return kept.stored if kept else None

    def next_run_ms(self, name: TableName) -> int | None:
        """Return when a table is scheduled next, milliseconds since the epoch, UTC."""
        kept = self._kept.get(self._by_name.get(name, ""))
        if kept is None or kept.requested is None or not kept.is_active:
            return None
        return round(kept.requested.schedule.next_after(self._clock()).timestamp() * 1000)

    def _converge(self, table: KnownTable, last_scheduled_ms: int | None) -> None:
        kept = self._kept.get(table.table_id)
        is_active = table.status is RefreshStatus.ACTIVATED
        if kept is not None and is_active and not kept.is_active:
            self._delete(table.table_id)  # what it ran last may have failed: the log knows better
            kept = None
        since_ms = _made_up_to(table, last_scheduled_ms)
        requested = CreatePeriodicRefreshWorkflow(
            table=table.name,
            table_id=table.table_id,
            schedule=Schedule(table.freshness, table.zone),
            formatters=table.formatters,
            last_scheduled_at=(
                kept.requested.last_scheduled_at
                if kept and kept.requested
                else datetime.fromtimestamp(since_ms / 1000, tz=timezone.utc)
            ),
        )
        if is_active and (kept is None or kept.requested != requested):
            handler = self._scheduler.create_refresh_workflow(requested)
            stored = self._to_store(requested, handler)
            self._kept[table.table_id] = _Kept(handler, stored, requested, is_active=True)
        elif kept is not None and kept.is_active and not is_active:
            self._suspend(kept)
            self._kept[table.table_id] = replace(kept, is_active=False)

    def _suspend(self, kept: _Kept) -> None:
        try:
            self._scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(kept.handler))
        except WorkflowNotFoundError:
            if kept.requested is not None:
                raise
            # A scheduler in the process of the manager before this one ended with that process.

    def _to_store(
        self, workflow: CreatePeriodicRefreshWorkflow, handler: RefreshHandler
    ) -> StoredHandler:
        """Serialize a handler; a failure is logged, and the workflow is kept."""
        description, serialized = type(handler).__name__, b""
        try:
            description = handler.describe()
            serialized = _bytes(serializer_of(self._scheduler).serialize(handler))
        except Exception as error:  # noqa: BLE001 - the scheduler's code may raise anything
            refused = self._refused("serialize", workflow.table, error)
            _LOGGER.error("%s", refused)  # noqa: TRY400 - the error says it, the stack is another's
            description += f"; {problem_of(refused)}"
        return StoredHandler(description, self._name, workflow.table_id, serialized)

    def _restore(self, table: TableName, stored: StoredHandler) -> None:
        if stored.scheduler != self._name:
            _LOGGER.warning(
                "%s has a workflow in the scheduler '%s', which is not the configured one: %s. "
                "If it still refreshes the table, delete it there",
                table,
                stored.scheduler,
                stored.description,
            )
            return
        try:
            handler = serializer_of(self._scheduler).deserialize(stored.serialized)
        except Exception as error:  # noqa: BLE001 - the scheduler's code may raise anything
            _LOGGER.error("%s", self._refused("deserialize", table, error))  # noqa: TRY400 - as above
            return
        self._kept[stored.table_id] = _Kept(handler, stored, requested=None, is_active=True)

    def _refused(
        self, operation: str, table: TableName, error: Exception
    ) -> MaterializedTableError:
        problem = f"{type(error).__name__}: {problem_of(error)}".rstrip(".: ")
        return conditions.REFRESH_HANDLER_SERIALIZER(
            scheduler=self._name, operation=operation, table=table, problem=problem
        )

    def _delete(self, table_id: str) -> None:
        handler = self._kept[table_id].handler
        self._scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))
        del self._kept[table_id]


@dataclass(frozen=True, slots=True)
class DueRuns:
    """Makes runs for the scheduled times of tables; for `SchedulerContext.submit`.

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

    def __call__(self, due: DueRun) -> None:
        """Submit the run of a scheduled time."""
        requested = RequestedRefresh(trigger=SCHEDULED, scheduled_at=due.scheduled_at)
        table = self.known().get(due.table)
        covers_all = table is not None and not table.formatters
        ready_at_ms = self.now_ms() + GATHER_MS
        self.submit(Run(due.table, requested, ready_at_ms, self.patience_ms, replaces=covers_all))


def _made_up_to(table: KnownTable, last_scheduled_ms: int | None) -> int:
    """Return up to when no scheduled time is missed.

    A table that was computed whole needs no run for a time before that, and a run for a time long
    past, which a user requested, says nothing of those since.
    """
    known = (last_scheduled_ms, table.last_refresh_at_ms)
    return max((at for at in known if at is not None), default=table.recorded_at_ms)


def _bytes(serialized: object) -> bytes:
    if not isinstance(serialized, bytes):
        raise TypeError(f"it returned {type(serialized).__name__}, not bytes")  # noqa: TRY003, EM102
    return serialized
