"""A manager in memory: what `ManagerService` guarantees, without Spark, over given tables."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution.results import (
    Action,
    ResultColumn,
    StatementOutcome,
    StatementResult,
)
from dbt.adapters.spark_mt.manager.views import (
    ChangeView,
    Health,
    RefreshSubmitted,
    RefreshTotals,
    TableDetails,
    TableView,
)
from dbt.adapters.spark_mt.statements.nodes import CreateTable
from dbt.adapters.spark_mt.statements.parser import parse, parse_name
from tests.unit.manager.samples import CATALOG, MANAGER, NOW_MS, OWNER, points, sample_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.manager.views import ManagerView, RefreshRequest, StatementRequest

READY = Health(is_alive=True, is_ready=True)


class FakeManager:
    """A `ManagerService` whose refreshes end when the test says so.

    Args:
        tables: What the catalog holds; the sample of nine tables if left out.
        now: The clock, milliseconds since the epoch.

    `requested` lists what was asked of it, in order; `before` is called at the start of each call
    that may take long, with the name of the method, and may raise or block.
    """

    def __init__(
        self, tables: Iterable[TableDetails] | None = None, now: Callable[[], int] = lambda: NOW_MS
    ) -> None:
        found = sample_tables() if tables is None else tables
        self._tables = {details.view.name: details for details in found}
        self._now = now
        self._lock = threading.RLock()
        self._manager: ManagerView = MANAGER
        self._health = READY
        self._submitted = 0
        self.requested: list[tuple[str, object]] = []
        self.before: Callable[[str], None] = lambda _: None

    # What tests set.

    def become(self, health: Health | None = None, **manager: object) -> None:
        """Change what it reports about itself."""
        with self._lock:
            self._health = health or self._health
            self._manager = replace(self._manager, **manager)

    def change(self, name: str, **view: object) -> None:
        """Change what the list shows of a table."""
        with self._lock:
            self._put(replace(self._get(name), view=replace(self._get(name).view, **view)))

    def drop(self, name: str) -> None:
        """Let a table be gone."""
        with self._lock:
            del self._tables[self._get(name).view.name]

    def finish(self, job_id: str, status: JobStatus = JobStatus.FINISHED, error: str = "") -> None:
        """Let a refresh end."""
        with self._lock:
            job = self.job(job_id)
            assert job is not None
            assert job.ended_at_ms is None
            rows = 10 if status is JobStatus.FINISHED else None
            ended = replace(job, status=status, ended_at_ms=self._now(), rows=rows, error=error)
            details = self._get(job.table.sql)
            history = tuple(ended if j.job_id == job_id else j for j in details.history)
            view = replace(details.view, recent=points(history), problem=error)
            self._put(replace(details, view=view, history=history))

    # The methods of ManagerService.

    def about(self) -> ManagerView:
        """Return the state of the manager."""
        return self._manager

    def health(self) -> Health:
        """Return what the test set."""
        return self._health

    def tables(self) -> tuple[TableView, ...]:
        """Return every table, ordered by name."""
        with self._lock:
            return tuple(self._tables[name].view for name in sorted(self._tables))

    def totals(self) -> tuple[RefreshTotals, ...]:
        """Count the histories."""
        with self._lock:
            return tuple(_totals(self._tables[name]) for name in sorted(self._tables))

    def table(self, name: str) -> TableDetails:
        """Describe one table."""
        self._note("table", name)
        return self._get(name)

    def history(self, name: str, limit: int = 100) -> tuple[Job, ...]:
        """Return the newest refreshes of a table."""
        self._note("history", (name, limit))
        return self._get(name).history[:limit]

    def job(self, job_id: str) -> Job | None:
        """Return one refresh."""
        with self._lock:
            known = (job for details in self._tables.values() for job in details.history)
            return next((job for job in known if job.job_id == job_id), None)

    def plan(self, statement: str) -> ChangeView:
        """Return whether a statement's table exists; `DROPPED COLUMN` in it is refused."""
        self._note("plan", statement)
        parsed = parse(statement)
        name = str(_full(parsed.name)) if hasattr(parsed, "name") else ""
        if "dropped_column" in statement:
            return ChangeView(name, "REFUSED", violations=("The column x cannot be dropped.",))
        if name not in self._tables and not isinstance(parsed, CreateTable):
            raise conditions.NOT_FOUND(table=name)
        action = "ALTERED" if name in self._tables else "CREATED"
        return ChangeView(name, action, ("The freshness becomes 3 minutes.",), message="Planned.")

    def execute(self, request: StatementRequest) -> StatementResult:
        """Say what a statement would have done."""
        self._note("execute", request)
        parsed = parse(request.statement.text)
        if not isinstance(parsed, CreateTable):
            raise conditions.NOT_EXECUTABLE(statement=request.statement.text)
        name = parsed.name.within(request.catalog or "spark_catalog", request.schema or "default")
        outcome = StatementOutcome(str(name), Action.CREATED, ("created",))
        columns = (ResultColumn("operation", "STRING"), ResultColumn("changes", "ARRAY<STRING>"))
        return StatementResult(columns, (("CREATE", ["created"]),), outcome)

    def columns(self, query: str, session: str) -> tuple[Column, ...]:
        """Return the two columns of any query."""
        self._note("columns", (query, session))
        return (Column("k", "INT", nullable=False, comment="the key"), Column("v", "STRING"))

    def interrupt(self, request_id: str) -> None:
        """Note it."""
        self._note("interrupt", request_id)

    def names(self, schema: str, catalog: str) -> tuple[str, ...]:
        """Return the names of the tables whose full names begin so."""
        self._note("names", (schema, catalog))
        prefix = f"{catalog or 'spark_catalog'}.{schema}."
        return tuple(n.removeprefix(prefix) for n in sorted(self._tables) if n.startswith(prefix))

    def refresh(self, request: RefreshRequest) -> RefreshSubmitted:
        """Begin a refresh, which runs until the test ends it."""
        self._note("refresh", request)
        with self._lock:
            details = self._get(request.table)
            _refuse(details.view, request)
            self._submitted += 1
            job = self._started(details, f"job-{self._submitted}", periodic=request.is_periodic)
            history = (job, *details.history)
            view = replace(details.view, recent=points(history), activity="refreshing")
            self._put(replace(details, view=view, history=history))
        return RefreshSubmitted(job.job_id, (("host", "node-1"), ("master", "local[2]")))

    def suspend(self, name: str) -> ChangeView:
        """Suspend a table."""
        self._note("suspend", name)
        with self._lock:
            view = self._get(name).view
            if view.status == "SUSPENDED":
                raise conditions.ALREADY_SUSPENDED(table=view.name, reason="")
            self.change(
                name,
                status="SUSPENDED",
                activity="suspended",
                freshness_status=FreshnessStatus.NONE,
            )
        return ChangeView(view.name, "SUSPENDED", message="Its refresh has been suspended.")

    def resume(self, name: str, run_options: Pairs = ()) -> ChangeView:
        """Resume a table."""
        self._note("resume", (name, run_options))
        with self._lock:
            view = self._get(name).view
            if view.status != "SUSPENDED":
                raise conditions.ALREADY_RESUMED(table=view.name)
            self.change(
                name, status="ACTIVATED", activity="streaming", freshness_status=FreshnessStatus.MET
            )
        return ChangeView(view.name, "RESUMED", message="It is refreshed again.")

    def wake(self) -> None:
        """Record the call."""
        self.requested.append(("wake", None))

    def _note(self, method: str, argument: object) -> None:
        self.requested.append((method, argument))
        self.before(method)

    def _get(self, name: str) -> TableDetails:
        with self._lock:
            full = str(_full(parse_name(name)))
            if full not in self._tables:
                raise conditions.NOT_FOUND(table=full)
            return self._tables[full]

    def _put(self, details: TableDetails) -> None:
        self._tables[details.view.name] = details

    def _started(self, details: TableDetails, job_id: str, *, periodic: bool) -> Job:
        return Job(
            job_id=job_id,
            table=parse_name(details.view.name),
            kind=JobKind.SCHEDULED if periodic else JobKind.MANUAL,
            status=JobStatus.RUNNING,
            started_at_ms=self._now(),
            last_heartbeat_ms=self._now(),
            owner=OWNER,
            trigger="REFRESH",
            refresh_mode=details.view.refresh_mode,
            freshness=details.view.freshness,
        )


def _full(name: TableName) -> TableName:
    return name.within(CATALOG, "default")


def _refuse(view: TableView, request: RefreshRequest) -> None:
    if view.status == "INITIALIZING":
        raise conditions.INITIALIZING(table=view.name, owner=str(OWNER), since="14:49:40")
    if view.status == "SUSPENDED" and request.is_periodic:
        raise conditions.SUSPENDED(table=view.name, reason="")


def _totals(details: TableDetails) -> RefreshTotals:
    ended = [job for job in details.history if job.ended_at_ms is not None]
    statuses = [status for status in JobStatus if status is not JobStatus.RUNNING]
    good = [job.ended_at_ms for job in ended if job.status.value in {"FINISHED", "SKIPPED"}]
    return RefreshTotals(
        table=details.view.name,
        by_status=tuple((s.value, sum(job.status is s for job in ended)) for s in statuses),
        duration_seconds=sum((job.ended_at_ms or 0) - job.started_at_ms for job in ended) / 1000,
        rows=sum(job.rows or 0 for job in ended),
        last_success_at_ms=max((at for at in good if at is not None), default=None),
        by_verification=(("different", 1), ("equal", 3)),
    )
