"""Manager as REST, page, metrics and command line use it: views, table details, statements."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import NotHostedError
from dbt.adapters.spark_mt.execution import show
from dbt.adapters.spark_mt.execution.baseline import kept_by_table
from dbt.adapters.spark_mt.execution.checks import lag_if_known
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.jobs import with_effective_status
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.execution.repair import known_table
from dbt.adapters.spark_mt.execution.results import RelayedStatement
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.manager.table_views import Observed, table_view, verification_view
from dbt.adapters.spark_mt.manager.views import StatementRequest
from dbt.adapters.spark_mt.planning.steps import plan_registration
from dbt.adapters.spark_mt.statements.nodes import RELAYED, CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.parser import ParsedStatement, parse_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column, Pairs
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.definition.job import Job, Owner
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.leases import Leadership
    from dbt.adapters.spark_mt.execution.operations import TableOperations
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.execution.results import StatementOutcome, StatementResult
    from dbt.adapters.spark_mt.hosting.host import Host
    from dbt.adapters.spark_mt.hosting.policy import HostProgress
    from dbt.adapters.spark_mt.manager.background import TableLags
    from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
    from dbt.adapters.spark_mt.manager.reconciler import Loop, Reconciler
    from dbt.adapters.spark_mt.manager.registry_view import CatalogView
    from dbt.adapters.spark_mt.manager.requests import Requests
    from dbt.adapters.spark_mt.manager.runs import Dispatcher, Refreshing, Submissions
    from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
    from dbt.adapters.spark_mt.manager.views import RefreshRequest, RefreshTotals, TableView
    from dbt.adapters.spark_mt.manager.workflows import RefreshHandlers, TableWorkflows


_LOGGER = logging.getLogger(__name__)
_FAILING_MS = 30_000
"""After how long without a tick that ends well the manager is not ready any more."""
_LAST_WRITES_S = 4.0
"""For what is written when the last refresh has ended: a commit of the log, and of the lease."""
_LEAST_S = 1.0
_SHOWN = 200
"""Characters of a refused statement that the error shows."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manager runs."""

    owner: Owner
    version: str
    spark_version: str
    master: str
    application_id: str
    connect_url: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a manager is made of."""

    catalog: str
    place: Place
    environment: Callable[[], Environment]
    operations: Callable[[], TableOperations]
    """Makes operations on ports of their own."""
    carry_out: Callable[[StatementRequest, ParsedStatement], StatementResult]
    """Carries out the parsed statement of a request in the session of the request."""
    columns: Callable[[str, str], tuple[Column, ...]]
    """Returns the columns that a query has in a session of Spark Connect."""
    carry_out_in: Callable[[StatementRequest, ParsedStatement, SparkSession], StatementResult]
    """The same in a session of the driver."""
    requests: Requests
    log: BufferedJobLog
    leadership: Leadership
    view: CatalogView
    statistics: RefreshStatistics
    lags: TableLags
    hosting: Host
    workflows: TableWorkflows
    handlers: RefreshHandlers
    dispatcher: Dispatcher
    refreshing: Refreshing
    submissions: Submissions
    reconciler: Reconciler
    loop: Loop


class Manager:
    """A `ManagerService`, whose methods describe the contract, over the parts of a manager."""

    def __init__(self, parts: Parts, now_ms: Callable[[], int]) -> None:
        self._parts = parts
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._is_stopping = False

    def about(self) -> views.ManagerView:
        parts, place = self._parts, self._parts.place
        lease, tick = parts.leadership.lease, parts.loop.state
        running = (progress_of(parts.hosting, name) for name in parts.hosting.hosted())
        return views.ManagerView(
            role=self._role(),
            version=place.version,
            spark_version=place.spark_version,
            master=place.master,
            catalog=parts.catalog,
            host=place.owner.host,
            pid=place.owner.pid,
            started_at_ms=self._started_ms,
            leader=str(lease.owner) if lease else "",
            term=lease.term if lease else 0,
            tick_seconds=tick.seconds,
            last_tick_at_ms=tick.ended_at_ms,
            queries_running=sum(p is not None and p.phase is HostPhase.STREAMING for p in running),
            refreshes_running=parts.dispatcher.running,
            connect_url=place.connect_url,
        )

    def health(self) -> views.Health:
        loop, problems = self._parts.loop, []
        if not loop.is_alive:
            problems.append("the loop that checks the catalog has not ended a tick lately")
        if loop.state.problem:
            problems.append(f"the newest check of the catalog failed: {loop.state.problem}")
        role = self._role()
        if not self._parts.view.is_read:
            problems.append("the registry was not read yet")
        if role is views.Role.STOPPING:
            problems.append("the manager is about to stop")
        state = loop.state
        has_failed_long = (
            bool(state.problem) and self._now_ms() - state.failing_since_ms >= _FAILING_MS
        )
        fails = has_failed_long or (role is views.Role.STARTING and bool(state.problem))
        can_answer = self._parts.view.is_read and not fails
        is_ready = can_answer and role is not views.Role.STOPPING and loop.is_alive
        return views.Health(loop.is_alive, is_ready, tuple(problems), self._findings())

    def _findings(self) -> tuple[str, ...]:
        statistics = self._parts.statistics
        found = (
            (name, verification_view(table, statistics.table(name).verified))
            for name, table in sorted(self._parts.view.tables.items(), key=lambda i: str(i[0]))
        )
        return tuple(
            f"a verification of {name} found wrong rows: {verification.problem}"
            for name, verification in found
            if verification is not None and verification.is_wrong
        )

    def tables(self) -> tuple[TableView, ...]:
        now = self._now_ms()
        known = sorted(self._parts.view.tables.values(), key=lambda table: str(table.name))
        return tuple(table_view(self._observed(table), now) for table in known)

    def names(self, schema: str, catalog: str) -> tuple[str, ...]:
        """Return the names of a schema's tables as the registry has them now, in order."""
        environment = self._parts.environment()
        catalog = catalog or self._parts.catalog
        schema = environment.store.full_name(TableName("", schema, catalog)).schema or schema
        if catalog == self._parts.catalog:
            return self._parts.view.names(schema)
        entries = environment.registry.entries(catalog, schema)
        return tuple(entry.name.name for entry in entries)

    def totals(self) -> tuple[RefreshTotals, ...]:
        return self._parts.statistics.totals()

    def table(self, name: str) -> views.TableDetails:
        """Describe one table."""
        environment = self._parts.environment()
        full = environment.store.full_name(parse_name(name))
        known = self._parts.view.tables.get(full)
        if known is None:
            step = plan_registration(existing_table(environment, full))
            known = known_table(step, self._now_ms())
        observed = self._observed(known)
        view = table_view(observed, self._now_ms())
        return _details(environment, full, view, self._history(full, 100), observed.handler)

    def history(self, name: str, limit: int = 100) -> tuple[Job, ...]:
        """Return the newest refreshes of a table, the newest first."""
        environment = self._parts.environment()
        full = environment.store.full_name(parse_name(name))
        if full not in self._parts.view.tables:
            existing_table(environment, full)
        return self._history(full, limit)

    def job(self, job_id: str) -> Job | None:
        found = self._parts.log.job(self._parts.catalog, job_id)
        return found and self._effective(found, self._parts.environment())

    def plan(self, statement: str) -> views.ChangeView:
        """Plan a CREATE or ALTER statement, and change nothing."""
        summary = self._parts.operations().plan(statement)
        return views.ChangeView(
            table=summary.table,
            action=summary.verdict.value.upper(),
            changes=summary.changes,
            violations=summary.violations,
            message="; ".join(filter(None, (summary.strategy, summary.engine))),
            warnings=(*(f"loses {what}" for what in summary.loses), *summary.warnings),
        )

    def execute(self, request: StatementRequest) -> StatementResult:
        """Carry out a statement that makes, changes or refreshes a table; returns at its end."""
        if self._is_stopping:
            raise conditions.MANAGER_STOPPING()
        parsed = _executable(request.statement)
        self._parts.loop.await_first_tick()  # settings of the manager hold once it has the lease
        result = self._parts.carry_out(request, parsed)
        self.wake()
        return result

    def carry_out(
        self, spark: SparkSession, text: str, request_id: str, owner: Pairs
    ) -> StatementResult:
        """Carry out a statement that a client of Spark Connect sent as SQL, as an `SqlEngine`."""
        if self._is_stopping:
            raise conditions.SQL_BEFORE_STOP()
        parsed = ParsedStatement.of(text)
        self._parts.loop.await_first_tick()
        request = StatementRequest(RelayedStatement(text), request_id, owner=owner)
        result = self._parts.carry_out_in(request, parsed, spark)
        if result.outcome is not None:
            self.wake()
        return result

    def columns(self, query: str, session: str) -> tuple[Column, ...]:
        """Return the columns that a query has in a session of Spark Connect."""
        return self._parts.columns(query, session)

    def interrupt(self, request_id: str) -> None:
        self._parts.requests.interrupt(request_id)

    def refresh(self, request: RefreshRequest) -> views.RefreshSubmitted:
        """Check a refresh, and accept it; answers before it has ended."""
        if self._is_stopping:
            raise conditions.REFRESH_NOT_ACCEPTED(table=request.table, reason="it is about to stop")
        job_id = self._parts.submissions.submit(request)
        place = self._parts.place
        return views.RefreshSubmitted(
            job_id,
            (
                ("master", place.master),
                ("applicationId", place.application_id),
                ("host", place.owner.host),
                ("pid", str(place.owner.pid)),
            ),
        )

    def suspend(self, name: str) -> views.ChangeView:
        """Suspend a table."""
        return self._changed(self._parts.operations().suspend(name))

    def resume(self, name: str, run_options: Pairs = ()) -> views.ChangeView:
        """Resume a suspended table; returns when it has caught up."""
        return self._changed(self._parts.operations().resume(name, dict(run_options)))

    def wake(self) -> None:
        self._parts.loop.wake()

    def stop(self, within_s: float) -> bool:
        """Stop in good order: nothing new begins, running batches and refreshes end.

        Args:
            within_s: The longest time that all of it takes, in seconds. Running refreshes have all
                but a quarter of it, or all but a few seconds.

        Returns:
            Whether everything ended within it. What did not is safe: its commit happens or not.
        """
        self._is_stopping = True
        end = monotonic() + within_s
        last_run = end - min(_LAST_WRITES_S, within_s / 4)
        parts = self._parts
        parts.dispatcher.close(0.0)  # at once: a tick in progress may take long
        parts.loop.stop(0.0)  # no tick begins
        # Statements end first: a tick in progress may wait for the cores that one of them holds.
        ended = [parts.requests.drain(_left(last_run)), parts.loop.stop(_left(last_run))]
        ended.append(_succeeds(parts.reconciler.close, _left(end)))
        ended.append(parts.dispatcher.close(_left(last_run)))
        ended.append(parts.hosting.drain(_left(last_run)))
        # Accepted runs that wait stay in the log, for the next manager.
        ended.append(_succeeds(parts.log.close, _left(end)))
        ended.append(_succeeds(parts.leadership.release, _left(end)))
        return all(ended)

    def _role(self) -> views.Role:
        if self._is_stopping:
            return views.Role.STOPPING
        if self._parts.reconciler.leads and self._parts.reconciler.has_converged:
            return views.Role.ACTIVE
        waits = self._parts.loop.state.ticks > 0 and not self._parts.reconciler.leads
        return views.Role.STANDBY if waits else views.Role.STARTING

    def _history(self, name: TableName, limit: int) -> tuple[Job, ...]:
        environment = self._parts.environment()
        return tuple(
            self._effective(job, environment) for job in self._parts.log.of_table(name, limit)
        )

    def _effective(self, job: Job, environment: Environment) -> Job:
        """Return a job with its effective status; the log has the end of every one of this process.

        A busy process may be late with its heartbeats, and answers all the same.
        """
        is_own = job.owner == self._parts.place.owner
        return job if is_own else with_effective_status(job, environment)

    def _changed(self, outcome: StatementOutcome) -> views.ChangeView:
        self.wake()
        action = outcome.action.value if outcome.action else ""
        return views.ChangeView(
            outcome.table, action, outcome.changes, (), outcome.message, outcome.warnings
        )

    def _observed(self, table: KnownTable) -> Observed:
        parts = self._parts
        failures = parts.refreshing.failures(table.name)
        leads = parts.reconciler.leads
        return Observed(
            table=table,
            progress=progress_of(parts.hosting, table.name) if leads else None,
            statistics=parts.statistics.table(table.name),
            points=parts.statistics.points(table.name),
            handler=parts.handlers.describe(table) if leads else "",
            next_run_ms=parts.workflows.next_run_ms(table.name) if leads else None,
            is_refreshing=parts.dispatcher.is_running(table.name),
            problem=failures.problem,
            failures=failures.count,
            lag=parts.lags.of(table.name),
        )


def _executable(sent: RelayedStatement) -> ParsedStatement:
    """Parse a statement that was sent.

    Raises:
        MaterializedTableError: It needs no manager.
    """
    parsed = ParsedStatement.of(sent.text)
    node = parsed.node
    if sent.refresh is None:
        fits = isinstance(node, RELAYED)
    else:
        fits = isinstance(node, CreateTable) and (
            sent.adopt is None or node.form is CreateForm.CREATE_OR_ALTER
        )
    if not fits:
        raise conditions.NOT_EXECUTABLE(statement=sent.text[:_SHOWN])
    return parsed


def _details(
    environment: Environment,
    name: TableName,
    view: TableView,
    history: tuple[Job, ...],
    handler: str,
) -> views.TableDetails:
    """Describe a table; one whose sources are gone is described all the same."""
    confs = environment.confs()
    table = existing_table(environment, name)
    rows = dict(show.definition_rows(table.definition, confs))
    more, newest = _looked_at(environment, table)
    rows |= more
    rows["Refresh handler"] = handler
    return views.TableDetails(
        view=view,
        statement=show.create_text(table.definition, confs, or_alter=False),
        expanded_query=table.definition.resolved.expanded_query,
        description=tuple(rows.items()),
        columns=tuple(
            (c.name, c.type.lower(), c.comment or "") for c in table.definition.resolved.columns
        ),
        positions=_positions(table.positions or {}, newest),
        history=history,
    )


def _looked_at(environment: Environment, table: StoredTable) -> tuple[dict[str, str], Positions]:
    """Look at the sources; where that fails, say so instead of failing."""
    confs, resolved = environment.confs(), table.definition.resolved
    state = dict(show.state_rows(table, lag_if_known(environment, table), confs))
    try:
        analyzed = environment.stored_analyzer.analyze_stored(resolved)
        newest = environment.sources.positions(analyzed.sources)
    except Exception as error:  # noqa: BLE001 - what is wrong is a fact about the table
        return {**state, "Sources": problem_of(error)}, {}
    choice = kept_by_table(table, analyzed)
    return dict(show.choice_rows(table.definition, choice)) | state, newest


def _positions(reflected: Positions, newest: Positions) -> tuple[views.SourcePosition, ...]:
    names = sorted({*reflected, *newest})
    return tuple(
        views.SourcePosition(
            name,
            str(reflected[name]) if name in reflected else "",
            str(newest[name]) if name in newest else "",
        )
        for name in names
    )


def progress_of(hosting: Host, name: TableName) -> HostProgress | None:
    """Return how the host of a table does; None where it is not hosted here."""
    try:
        return hosting.progress(name)
    except NotHostedError:
        return None


def _left(end: float) -> float:
    return max(0.0, end - monotonic())


def _succeeds(action: Callable[[], None], within_s: float) -> bool:
    """Whether an action succeeds in time; neither failure nor delay keeps others from the stop."""
    succeeded = []

    def run() -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - logged, and the rest is stopped all the same
            _LOGGER.warning("while stopping: %s", problem_of(error))
        else:
            succeeded.append(True)

    thread = Thread(target=run, name="materialized-table-stop", daemon=True)
    thread.start()
    thread.join(max(_LEAST_S, within_s))
    if thread.is_alive():
        _LOGGER.warning("a step of the stop did not end within %.0f seconds", within_s)
    return bool(succeeded)
