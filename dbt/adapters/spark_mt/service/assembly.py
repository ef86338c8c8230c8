"""Puts a manager together on a Spark session."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.execution.alterations import Alterations
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.host import Host
from dbt.adapters.spark_mt.execution.hosting import HostedTable
from dbt.adapters.spark_mt.execution.hosting_errors import NotHostedError
from dbt.adapters.spark_mt.execution.leases import BEAT_MS, Claim, Leadership
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.workflows import SchedulerContext
from dbt.adapters.spark_mt.resolution.derivation import is_derived_by
from dbt.adapters.spark_mt.resolution.settings import PREFIX
from dbt.adapters.spark_mt.scheduler.loading import load_scheduler
from dbt.adapters.spark_mt.service.buffered_log import BufferedJobLog
from dbt.adapters.spark_mt.service.catalog_view import CatalogView
from dbt.adapters.spark_mt.service.handlers import RefreshHandlers
from dbt.adapters.spark_mt.service.loop import Loop
from dbt.adapters.spark_mt.service.manager import Manager
from dbt.adapters.spark_mt.service.parts import Parts, Place
from dbt.adapters.spark_mt.service.reconciler import Reconciler
from dbt.adapters.spark_mt.service.refreshing import Refreshing
from dbt.adapters.spark_mt.service.running import RunningManager
from dbt.adapters.spark_mt.service.runs import Dispatcher
from dbt.adapters.spark_mt.service.submission import Submissions
from dbt.adapters.spark_mt.service.tally import Tally
from dbt.adapters.spark_mt.service.upkeep import TableUpkeep
from dbt.adapters.spark_mt.service.workers import Workers
from dbt.adapters.spark_mt.service.workflows import Firings, TableWorkflows
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.schedule_time import read_schedule_time
from dbt.adapters.spark_mt.spark.upkeep import SparkUpkeep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.workflows import WorkflowScheduler
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.service.policy import ManagerPolicy
    from dbt.adapters.spark_mt.service.requests import StatementRequest

_LOGGER = logging.getLogger(__name__)
_BEATS_PER_SILENCE = 3


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
        InvalidSettingsError: The session's settings cannot be used.
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
        self._spark = spark
        self._policy = policy
        self._identity = identity
        self._own = SparkEnvironment(spark, clock=clock)
        self._clock = clock
        self._now_ms = self._own.value.now_ms
        self._tally = Tally(self._now_ms())
        self._log = BufferedJobLog(self._own.log, self._tally)
        self._catalog = identity.catalog or spark.catalog.currentCatalog()
        self._owner = self._own.value.conduct.processes.owner()

    def build(self) -> RunningManager:
        """Make every part."""
        policy, own = self._policy, self._own
        logged, words = self._logged(own.value), lambda: own.leases.words
        view = CatalogView(self._catalog, logged, own.log, self._log, self._tally, own_words=words)
        pool = ThreadPoolExecutor(policy.runs, thread_name_prefix="materialized-table-run")
        refreshing = Refreshing(self._environment, policy.scheduled, view.doubt, self._now_ms)
        dispatcher = Dispatcher(
            refreshing.perform, pool.submit, policy.runs, self._now_ms, refreshing.cancel
        )
        scheduler = self._scheduler(dispatcher, view)
        leadership, workflows = self._leadership(), TableWorkflows(scheduler)
        handlers = RefreshHandlers(
            self._catalog, own.log, self._owner, partial(_term, leadership), workflows
        )
        hosting = Host(self._hosted)
        workers = self._workers(hosting, workflows, dispatcher, handlers)
        reconciler = Reconciler(leadership, view, workers, policy, self._tally)
        parts = Parts(
            catalog=self._catalog,
            place=self._place(),
            environment=self._environment,
            environment_for=self._environment_for,
            log=self._log,
            leadership=leadership,
            view=view,
            tally=self._tally,
            hosting=hosting,
            workflows=workflows,
            handlers=handlers,
            dispatcher=dispatcher,
            refreshing=refreshing,
            submissions=Submissions(self._environment, dispatcher, refreshing, self._read_time),
            reconciler=reconciler,
            loop=Loop(reconciler, policy.tick, self._now_ms),
        )
        return RunningManager(Manager(parts, self._now_ms), scheduler, pool, parts)

    def _scheduler(self, dispatcher: Dispatcher, view: CatalogView) -> WorkflowScheduler:
        patience = self._policy.patience
        firings = Firings(dispatcher.submit, lambda: view.tables, self._now_ms, patience)
        context = SchedulerContext(firings, self._clock, self._policy.runs)
        return load_scheduler(self._own.value.settings().scheduler, context)

    def _workers(
        self,
        hosting: Host,
        workflows: TableWorkflows,
        dispatcher: Dispatcher,
        handlers: RefreshHandlers,
    ) -> Workers:
        own, parts = self._own, self._own.parts
        storage = SparkUpkeep(own.sessions, parts.checkpoints if parts else None, self._now_ms)
        after = self._policy.compact_after
        upkeep = TableUpkeep(storage, partial(_progress, hosting), after, self._now_ms, _aside)
        flush, derive = self._log.flush, self._derive_again
        return Workers(hosting, workflows, dispatcher, handlers, upkeep, flush, derive)

    def _environment(self) -> Environment:
        """Return ports of their own for one operation: threads share nothing."""
        return self._logged(SparkEnvironment(self._spark, clock=self._clock).value)

    def _environment_for(self, request: StatementRequest) -> Environment:
        session = self._spark.newSession()
        session.sql(f"USE {quote(request.catalog)}.{quote(request.schema)}")
        made = SparkEnvironment(session, owner=lambda: request.owner, clock=self._clock)
        return self._logged(made.value)

    def _logged(self, environment: Environment) -> Environment:
        return replace(environment, conduct=replace(environment.conduct, log=self._log))

    def _hosted(self, name: TableName) -> HostedTable:
        environment = self._environment()
        return HostedTable(name, environment, Refreshes(environment), self._policy.hosts)

    def _read_time(self, text: str, pattern: str, zone: str) -> datetime:
        return read_schedule_time(self._own.sessions, text, pattern, zone)

    def _leadership(self) -> Leadership:
        claim = Claim(
            self._catalog,
            self._owner,
            self._identity.address,
            tuple(sorted(self._own.set_confs(PREFIX))),
            self._policy.takeover,
            min(BEAT_MS, self._policy.takeover // _BEATS_PER_SILENCE),
        )
        return Leadership(self._own.leases, self._own.value.conduct.processes, claim, self._now_ms)

    def _place(self) -> Place:
        context = self._spark.sparkContext
        return Place(
            self._owner,
            self._identity.version,
            self._spark.version,
            str(context.master),
            str(context.applicationId),
            self._identity.connect_url,
        )

    def _derive_again(self) -> None:
        """Derive freshness and mode again under this manager's settings, aside (semantics 3)."""
        Thread(target=self._derive, name="materialized-table-settings", daemon=True).start()

    def _derive(self) -> None:
        try:
            environment = self._environment()
            open_ones = _open_to(environment.settings(), self._own.log.tables(self._catalog))
            derived = Alterations(environment).derive_again(self._catalog, open_ones)
        except Exception as error:  # noqa: BLE001 - tables keep what was derived before
            _LOGGER.warning("modes were not derived again: %s", problem_of(error))
            return
        for each in derived:
            if each.error is not None:
                _LOGGER.warning("%s: not derived again: %s", each.table, problem_of(each.error))
            elif each.outcome is not None:
                _LOGGER.info("%s: %s", each.table, "; ".join(each.outcome.changes))


def _open_to(settings: Settings, tables: Iterable[KnownTable]) -> list[TableName]:
    """Return the tables whose mode was left open, and derived from other settings than these."""
    return [
        table.name
        for table in tables
        if table.asked_refresh_mode == LogicalRefreshMode.AUTOMATIC.value
        and (table.derived_from is None or not is_derived_by(table.derived_from, settings))
    ]


def _aside(action: Callable[[], None]) -> None:
    """Run an action in a thread that the end of the process does not wait for."""
    Thread(target=action, name="materialized-table-upkeep", daemon=True).start()


def _term(leadership: Leadership) -> int:
    lease = leadership.lease
    return lease.term if lease else 0


def _progress(hosting: Host, name: TableName) -> HostProgress | None:
    try:
        return hosting.progress(name)
    except NotHostedError:
        return None
