"""Assembly of a manager on a Spark session, and its ordered start and stop."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.execution.alter import Alterations
from dbt.adapters.spark_mt.execution.context import ThreadedHeartbeat
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.leases import HEARTBEAT_MS, Claim, Leadership
from dbt.adapters.spark_mt.execution.operations import TableOperations, executed
from dbt.adapters.spark_mt.execution.refresh import Refreshes
from dbt.adapters.spark_mt.execution.verification import QueuedVerifications, VerificationQueue
from dbt.adapters.spark_mt.execution.workflows import SchedulerContext
from dbt.adapters.spark_mt.hosting.host import Host
from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
from dbt.adapters.spark_mt.hosting.policy import Turns
from dbt.adapters.spark_mt.manager import service
from dbt.adapters.spark_mt.manager.background import TableLags, TableMaintenance
from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
from dbt.adapters.spark_mt.manager.reconciler import Loop, Reconciler, Workers
from dbt.adapters.spark_mt.manager.registry_view import CatalogView
from dbt.adapters.spark_mt.manager.requests import Requests
from dbt.adapters.spark_mt.manager.runs import Dispatcher, Refreshing, Submissions
from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics, complete_at
from dbt.adapters.spark_mt.manager.workflows import DueRuns, RefreshHandlers, TableWorkflows
from dbt.adapters.spark_mt.resolution.settings import PREFIX, is_derived_by
from dbt.adapters.spark_mt.scheduler.embedded import EmbeddedScheduler, load_scheduler
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.launch.connect_server import served_session
from dbt.adapters.spark_mt.spark.query.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.session.errors import is_spark_error
from dbt.adapters.spark_mt.spark.session.private_session import interrupt_session
from dbt.adapters.spark_mt.spark.session.types import read_schedule_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
    from dbt.adapters.spark_mt.manager.views import StatementRequest
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement


_LOGGER = logging.getLogger(__name__)
_BEATS_PER_SILENCE = 3
_RUNS = 4
"""How many refreshes of FULL tables, and such that were asked for, run at a time."""
_USE_EVERY_S = 600.0


@dataclass(frozen=True, slots=True)
class RunningManager:
    """A manager with what has to be opened and closed."""

    manager: service.Manager
    parts: service.Parts

    def start(self) -> None:
        """Begin to keep tables fresh."""
        work = self.parts.dispatcher.work
        Thread(target=work, name="materialized-table-dispatcher", daemon=True).start()
        self.parts.loop.start()

    def stop(self, within_s: float) -> bool:
        """Stop in good order; returns whether everything ended within the time, in seconds."""
        return self.manager.stop(within_s)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a manager is to others.

    Args:
        catalog: Whose tables it keeps fresh; None for the session's current one.
        version: Of this package.
        address: Returns the address of its REST interface; empty without one.
        connect_url: Where Spark Connect answers; empty without it.
    """

    catalog: str | None = None
    version: str = ""
    address: Callable[[], str] = str
    connect_url: str = ""


def assemble(
    spark: SparkSession,
    policy: ManagerPolicy,
    identity: Identity,
    clock: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc),
) -> RunningManager:
    """Put a manager together; nothing runs before it is started.

    Args:
        spark: A classic session.
        policy: How it spends time and threads.
        identity: What it is to others.
        clock: Returns the current instant, aware.

    Raises:
        UnknownSchedulerError: The configured workflow scheduler cannot be made.
        MaterializedTableError: The session's settings cannot be used.
    """
    return _Assembly(spark, policy, identity, clock).build()


class _Assembly:
    def __init__(
        self,
        spark: SparkSession,
        policy: ManagerPolicy,
        identity: Identity,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = identity.catalog or spark.catalog.currentCatalog()
        spark = self._spark = _session_in(spark, self._catalog)
        self._policy = policy
        self._identity = identity
        self._own = SparkEnvironment(spark, clock=clock, in_background=_in_background)
        self._clock = clock
        self._now_ms = self._own.value.now_ms
        self._turns = Turns(spark.sparkContext.defaultParallelism, self._now_ms)
        self._statistics = RefreshStatistics(self._now_ms())
        self._up_to_date = SparkEnvironment(spark, clock=clock).value.up_to_date
        self._handler_of: Callable[[TableName], bytes] = self._own.log.handler
        self._requested = Requests()
        self._verifications = VerificationQueue(_in_background)
        self._owner = self._own.value.execution_context.processes.owner()
        self._leadership = self._lease()
        self._log = BufferedJobLog(
            self._own.log, self._statistics, self._now_ms, lambda: self._leadership.is_held
        )

    def build(self) -> RunningManager:
        """Make every part."""
        policy, own = self._policy, self._own
        logged, log = self._logged(own.value), self._log
        view = CatalogView(self._catalog, logged, own.log, log, self._statistics)
        refreshing = Refreshing(
            self._environment, policy.scheduled, view.check_again, self._now_ms, log
        )
        dispatcher = Dispatcher(
            refreshing.perform, _in_background, _RUNS, self._now_ms, refreshing.cancel
        )
        submissions, leadership = self._submissions(dispatcher), self._leadership
        submit = DueRuns(dispatcher.submit, lambda: view.tables, self._now_ms, policy.patience)
        name = own.value.settings().scheduler
        scheduler = load_scheduler(name, SchedulerContext(submit, self._clock))
        workflows = TableWorkflows(scheduler, name, self._clock)
        handlers = RefreshHandlers(
            self._catalog, own.log, self._owner, partial(_term, leadership), workflows
        )
        hosting = Host(self._hosted)
        lags = self._lags(hosting)
        maintenance = TableMaintenance(own.value.storage, self._now_ms, _in_background)
        derive = partial(_in_background, partial(self._derive_again, view))
        workers = Workers(
            hosting, workflows, dispatcher, submissions, handlers, maintenance, lags, log.flush,
            derive,
        )  # fmt: skip
        reconciler = Reconciler(leadership, view, workers, policy, self._statistics)

        def handler_of(name: TableName) -> bytes:
            is_own = reconciler.leads and name.catalog == self._catalog
            return handlers.recorded(name) if is_own else own.log.handler(name)

        self._handler_of = handler_of
        parts = service.Parts(
            catalog=self._catalog,
            place=self._place(),
            environment=self._environment,
            operations=lambda: TableOperations(self._environment()),
            carry_out=self._carry_out,
            carry_out_in=self._carry_out,
            columns=lambda query, session: SparkQueryAnalyzer(self._served(session)).columns(query),
            requests=self._requested,
            log=self._log,
            leadership=leadership,
            view=view,
            statistics=self._statistics,
            lags=lags,
            hosting=hosting,
            workflows=workflows,
            handlers=handlers,
            dispatcher=dispatcher,
            refreshing=refreshing,
            submissions=submissions,
            reconciler=reconciler,
            loop=Loop(reconciler, _run_due(scheduler), policy.tick, self._now_ms),
        )
        return RunningManager(service.Manager(parts, self._now_ms), parts)

    def _submissions(self, dispatcher: Dispatcher) -> Submissions:
        leadership = self._leadership
        return Submissions(
            self._environment,
            dispatcher,
            self._log,
            self._read_time,
            self._catalog,
            lambda: leadership.is_held,
        )

    def _lags(self, hosting: Host) -> TableLags:
        """Lags have ports of their own, whose memory of logs outlasts looks at the catalog."""

        def complete(table: KnownTable) -> int | None:
            return complete_at(
                table, self._statistics.table(table.name), service.progress_of(hosting, table.name)
            )

        made = SparkEnvironment(self._spark, clock=self._clock)
        return TableLags(made.value.states, complete, self._now_ms, _in_background)

    def _environment(self) -> Environment:
        """Return ports of their own for one operation, which share what was read once."""
        made = SparkEnvironment(self._spark, clock=self._clock, shared=self._own.shared)
        return self._logged(made.value)

    def _carry_out(
        self,
        request: StatementRequest,
        parsed: ParsedStatement,
        client: SparkSession | None = None,
    ) -> StatementResult:
        """Carry out a statement in the session of a client, in which others may run, or in ours."""
        session = client or self._session_of(request)
        made = SparkEnvironment(
            session,
            owner=lambda: request.owner,
            clock=self._clock,
            shared=self._own.shared,
        )
        mine = partial(_interrupt, made.sessions, None if client else session)
        with self._requested.running(request.request_id, mine):
            # Its client asks for nothing until the statement is done, and Spark ends idle sessions.
            use = partial(self._use, request.session)
            using = ThreadedHeartbeat(_USE_EVERY_S, _USE_EVERY_S)(use)
            try:
                environment = replace(
                    self._logged(made.value),
                    managers=self._own.value.managers,  # which read the lease when it is written
                    handlers=self._handler_of,
                )
                return executed(parsed, request.statement, TableOperations(environment))
            except Exception as error:
                if not is_spark_error(error):
                    raise
                raise conditions.STATEMENT_FAILED(problem=problem_of(error)) from error
            finally:
                using.stop()

    def _session_of(self, request: StatementRequest) -> SparkSession:
        if request.session:
            return self._served(request.session)
        session = _session_in(self._spark.newSession(), request.catalog or self._catalog)
        if request.schema:
            session.sql(f"USE {quote(request.schema)}")
        return session

    def _served(self, session_id: str) -> SparkSession:
        session = served_session(self._spark, session_id)
        if session is None:
            raise conditions.SESSION_GONE(session=session_id)
        return session

    def _use(self, session_id: str) -> None:
        served_session(self._spark, session_id)

    def _logged(self, environment: Environment) -> Environment:
        execution_context = replace(
            environment.execution_context, log=self._log, deferred=self._log.deferred
        )
        return replace(
            environment,
            execution_context=execution_context,
            up_to_date=self._up_to_date,
            verifications=QueuedVerifications(self._verifications, self._environment),
        )

    def _hosted(self, name: TableName) -> HostedTable:
        environment = self._environment()
        refreshes, policy = Refreshes(environment), self._policy.hosts
        return HostedTable(name, environment, refreshes, policy, self._turns)

    def _read_time(self, text: str, pattern: str, zone: str) -> datetime:
        return read_schedule_time(self._own.sessions, text, pattern, zone)

    def _lease(self) -> Leadership:
        claim = Claim(
            self._catalog,
            self._owner,
            self._identity.address,
            tuple(sorted(self._own.set_confs(PREFIX).items())),
            self._policy.takeover,
            min(HEARTBEAT_MS, self._policy.takeover // _BEATS_PER_SILENCE),
        )
        return Leadership(
            self._own.leases, self._own.value.execution_context.processes, claim, self._now_ms
        )

    def _place(self) -> service.Place:
        context = self._spark.sparkContext
        return service.Place(
            self._owner,
            self._identity.version,
            self._spark.version,
            str(context.master),
            str(context.applicationId),
            self._identity.connect_url,
        )

    def _derive_again(self, view: CatalogView) -> None:
        """Derive freshness and mode of tables again under this manager's settings."""
        try:
            environment = self._environment()
            open_ones = _open_to(environment.settings(), view.tables.values())
            derived = Alterations(environment).derive_again(self._catalog, open_ones)
        except Exception as error:  # noqa: BLE001 - tables keep what was derived before
            _LOGGER.warning("modes were not derived again: %s", problem_of(error))
            return
        for each in derived:
            if each.error is not None:
                _LOGGER.warning("%s: not derived again: %s", each.table, problem_of(each.error))
            elif each.outcome is not None:
                _LOGGER.info("%s: %s", each.table, "; ".join(each.outcome.changes))


def _session_in(spark: SparkSession, catalog: str) -> SparkSession:
    """Return a session in which names without a catalog are those of `catalog`."""
    if spark.catalog.currentCatalog() == catalog:
        return spark
    session = spark.newSession()
    # `setCurrentCatalog` looks for the catalog in the confs of the thread's session, not of this.
    session.sql(f"SET CATALOG {quote(catalog)}")
    return session


def _interrupt(sessions: PrivateSessions, session: SparkSession | None) -> None:
    sessions.interrupt()
    if session is not None:
        interrupt_session(session)


def _open_to(settings: Settings, tables: Iterable[KnownTable]) -> list[TableName]:
    """Return the tables whose mode was left open, and derived from other settings than these."""
    return [
        table.name
        for table in tables
        if table.declared_refresh_mode == LogicalRefreshMode.AUTOMATIC.value
        and (table.derived_from is None or not is_derived_by(table.derived_from, settings))
    ]


def _in_background(action: Callable[[], None]) -> None:
    """Run an action in a thread that the end of the process does not wait for."""
    Thread(target=action, name="materialized-table-aside", daemon=True).start()


def _run_due(scheduler: object) -> Callable[[], float]:
    """Return what submits due runs; schedulers of others have clocks of their own."""
    return scheduler.run_due if isinstance(scheduler, EmbeddedScheduler) else lambda: math.inf


def _term(leadership: Leadership) -> int:
    lease = leadership.lease
    return lease.term if lease else 0
