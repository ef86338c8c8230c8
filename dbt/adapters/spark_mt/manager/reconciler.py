"""Reconciler: hosts, schedules, stops and repairs tables as the registry says.

Every few seconds it compares the registry with what runs in this process, and converges. It can be
killed at any time.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import SILENCE_MS
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.hosting.policy import COMPACT_AFTER, HostPolicy
from dbt.adapters.spark_mt.planning.lineage import upstream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.leases import Leadership
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.hosting.host import Host
    from dbt.adapters.spark_mt.manager.background import TableLags, TableMaintenance
    from dbt.adapters.spark_mt.manager.registry_view import CatalogView
    from dbt.adapters.spark_mt.manager.runs import Dispatcher, Submissions
    from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
    from dbt.adapters.spark_mt.manager.workflows import RefreshHandlers, TableWorkflows


_LOOK_MS = 30_000
"""How often a host checks its table's log; the registry shows most changes long before."""


_LOGGER = logging.getLogger(__name__)
_CHECK_S = 1.0
_MISSED = 6
"""After how many ticks that did not come the loop counts as dead, and at least a minute."""
_FIRST_TICK_MS = 600_000
"""The same for the first tick: after a kill it reads what was left, waits for the lease of the
process before, and compiles; a probe that ends the process meanwhile would end it each time."""


@dataclass(frozen=True, slots=True)
class ManagerPolicy:
    """All times in milliseconds.

    Args:
        tick: From one read of the registry to the next.
        sweep: In which time every definition is compared with its row in the registry.
        takeover: After how long without a word another manager may take over.
        patience: How long a run waits at most for upstream tables that are due at the same time.
        suspend_after: After how many failures of the same cause a table is suspended; 0 for never.
        compact_after: After how many commits a hosted table's small files are merged; 0 for never.
    """

    tick: int = 5_000
    sweep: int = 3_600_000
    takeover: int = SILENCE_MS
    patience: int = 300_000
    suspend_after: int = 20
    compact_after: int = COMPACT_AFTER

    @property
    def hosts(self) -> HostPolicy:
        """How hosted tables are treated."""
        return HostPolicy(
            look=_LOOK_MS,
            spread=0.3,
            suspend_after=self.suspend_after,
            compact_after=self.compact_after,
        )

    @property
    def scheduled(self) -> HostPolicy:
        """How failed runs are tried again: the first after five seconds."""
        return HostPolicy(
            first_pause=5_000,
            longest_pause=300_000,
            spread=0.3,
            suspend_after=self.suspend_after,
        )


@dataclass(frozen=True, slots=True)
class Workers:
    """Parts of the manager that the reconciler starts and stops tables with."""

    hosting: Host
    workflows: TableWorkflows
    dispatcher: Dispatcher
    submissions: Submissions
    handlers: RefreshHandlers
    maintenance: TableMaintenance
    lags: TableLags
    flush: Callable[[], None]
    """Writes the rows that may wait."""
    take_over: Callable[[], None]
    """What a new leader does once, in the background: deriving modes again."""


class Reconciler:
    """Reconciliation of tables, hosts and schedules with the registry, tick by tick."""

    def __init__(
        self,
        leadership: Leadership,
        view: CatalogView,
        workers: Workers,
        policy: ManagerPolicy,
        statistics: RefreshStatistics,
    ) -> None:
        self._leadership = leadership
        self._view = view
        self._workers = workers
        self._policy = policy
        self._statistics = statistics
        self._leads = False
        self._is_new = False
        self._may_wait = False
        """Whether the log may have refreshes that wait and are not queued here."""
        self._is_closed = False
        self._is_settled = False
        self._applied: dict[TableName, KnownTable] = {}
        self.has_converged = False

    @property
    def leads(self) -> bool:
        """Whether this manager keeps the tables fresh."""
        return self._leads

    def tick(self) -> None:
        """Look at everything once.

        Raises:
            Exception: The registry could not be read or written; what runs continues.
        """
        if self._is_closed:
            return
        if not self._view.is_read:
            self._view.read()  # before the lease, whose commit takes seconds: answers need no lease
        if not self._holds_lease():
            self.become_standby()
            self._workers.flush()
            self._view.read()
            self._workers.lags.tick(self._view.tables)
            return
        self._lead()
        if not self._is_settled:
            is_settled = self._converge()
            self.has_converged = True
            # Its commit takes a second, and nothing that the manager answers waits for it.
            active = [t for t in self._view.tables.values() if _is_active(t)]
            self._workers.handlers.record(active)
            self._is_settled = is_settled
        self._watch()
        self._workers.flush()
        self._view.sweep(self._policy.sweep)
        self._workers.maintenance.tick(self._view.tables)
        self._workers.lags.tick(self._view.tables)

    def _lead(self) -> None:
        """Read what has changed, and what a new leader has to know."""
        if not self._leads:
            self._view.prepare_to_lead()
            self._workers.handlers.take_over()
            self._leads = self._is_new = self._may_wait = True
        if self._view.read():
            self._is_settled = False
            self._may_wait = True
        if self._may_wait:
            self._workers.submissions.take_up()
            self._may_wait = False
        if self._is_new:
            self._workers.take_over()  # it derives modes of the tables that were read just now
            self._is_new = False

    def become_standby(self) -> None:
        """Stop everything, without waiting: another manager does it now, or may."""
        if not self._leads:
            return
        _LOGGER.warning("this manager does not hold the lease any more; it is a standby now")
        self._stop_all()

    def close(self) -> None:
        """Begin nothing more, and let hosts stop between batches."""
        self._is_closed = True
        self._stop_all()

    def _holds_lease(self) -> bool:
        try:
            return self._leadership.tick()
        except Exception:
            if not self._leadership.is_held:
                self.become_standby()
            raise

    def _stop_all(self) -> None:
        self._leads = self.has_converged = self._is_settled = False
        self._workers.workflows.converge((), {})
        for name in self._workers.hosting.hosted():
            self._workers.hosting.forget(name)
        self._workers.submissions.leave()
        self._applied.clear()

    def _converge(self) -> bool:
        """Returns whether everything is as wanted; what is not is tried again in the next tick."""
        tables = self._view.tables
        dispatcher = self._workers.dispatcher
        dispatcher.order_by(_upstream(tables))
        for name in self._applied.keys() - tables.keys():
            dispatcher.withdraw(name)
        hosts = self._host([t for t in tables.values() if _is_hosted(t)])
        for table in tables.values():
            before = self._applied.get(table.name)
            if not _is_active(table) or table.refresh_mode is not RefreshMode.FULL:
                dispatcher.withdraw_scheduled(table.name)
            elif before is not None and _is_otherwise(before, table):
                dispatcher.retry_now(table.name)
        full = [t for t in tables.values() if t.refresh_mode is RefreshMode.FULL]
        schedules = self._workers.workflows.converge(full, self._view.last_scheduled)
        self._applied = dict(tables)
        return hosts and schedules

    def _host(self, wanted: Sequence[KnownTable]) -> bool:
        """Start in the order of the lineage, so that what is read first is fresh first."""
        hosting = self._workers.hosting
        hosted = hosting.hosted()
        for name in hosted - {table.name for table in wanted}:
            hosting.forget(name)
        all_started = True
        for table in wanted:
            before = self._applied.get(table.name)
            if table.name not in hosted and before != table:
                all_started = self._started(table.name) and all_started
            elif before is not None and _is_otherwise(before, table):
                hosting.notice(table.name)
        return all_started

    def _started(self, name: TableName) -> bool:
        if self._is_closed:
            return False
        try:
            self._workers.hosting.start(name)
        except Exception as error:  # noqa: BLE001 - one table holds up no other
            _LOGGER.warning("%s could not be hosted: %s", name, problem_of(error))
            return False
        return True

    def _watch(self) -> None:
        """Read the progress of hosts, and check those that ended without being stopped."""
        hosting = self._workers.hosting
        hosted = hosting.hosted()
        for table in self._view.tables.values():
            if not _is_hosted(table):
                continue
            if table.name in hosted:
                self._statistics.note_batches(table.name, hosting.progress(table.name))
            else:
                self._repair_ended(table.name)

    def _repair_ended(self, name: TableName) -> None:
        """Correct the row of a table whose host ended: the table is gone, or was changed."""
        try:
            repaired = self._view.repair(name)
        except Exception as error:  # noqa: BLE001 - the next tick tries it again
            _LOGGER.warning("%s could not be looked at: %s", name, problem_of(error))
            return
        if not repaired:
            self._started(name)


def _is_active(table: KnownTable) -> bool:
    return table.status is RefreshStatus.ACTIVATED


def _is_hosted(table: KnownTable) -> bool:
    return _is_active(table) and table.refresh_mode is RefreshMode.CONTINUOUS


def _is_otherwise(before: KnownTable, table: KnownTable) -> bool:
    return (before.table_id, before.generation, before.status) != (
        table.table_id,
        table.generation,
        table.status,
    )


@dataclass(frozen=True, slots=True)
class TickState:
    """How the loop does.

    Args:
        ticks: How many ended well.
        seconds: How long the newest took.
        ended_at_ms: When that ended; 0 before the first.
        problem: Why the newest failed; empty if it did not.
        failing_since_ms: When the first of those failed that failed in a row; 0 if the newest did
            not.
    """

    ticks: int = 0
    seconds: float = 0.0
    ended_at_ms: int = 0
    problem: str = ""
    failing_since_ms: int = 0


class Loop:
    """Ticks again and again; a tick that fails is followed by the next.

    Args:
        reconciler: What ticks.
        run_due: Submits the scheduled runs that are due; returns for how many seconds none is.
        every_ms: From the end of one tick to the start of the next.
        now_ms: Milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        reconciler: Reconciler,
        run_due: Callable[[], float],
        every_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._reconciler = reconciler
        self._run_due = run_due
        self._every_ms = every_ms
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._woken = Event()
        self._stopped = Event()
        self._ticked = Event()
        self._thread = Thread(target=self._run, name="materialized-table-manager", daemon=True)
        self.state = TickState()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Tick now instead of in a few seconds."""
        self._woken.set()

    def stop(self, within_s: float) -> bool:
        """End after the tick in progress.

        Returns:
            Whether it has ended within the time, in seconds.
        """
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(within_s)
        return not self._thread.is_alive()

    def await_first_tick(self) -> None:
        """Wait until the loop has ticked, well or badly; at once where no loop runs."""
        while self._thread.is_alive() and not self._ticked.wait(_CHECK_S):
            continue

    @property
    def is_alive(self) -> bool:
        """Whether a tick has ended lately, well or badly."""
        since_ms = self.state.ended_at_ms or self._started_ms
        least_ms = 60_000 if self.state.ended_at_ms else _FIRST_TICK_MS
        bound_ms = max(least_ms, _MISSED * self._every_ms)
        return self._thread.is_alive() and self._now_ms() - since_ms <= bound_ms

    def tick(self) -> None:
        """Tick once; errors are logged, not raised."""
        began_ms, problem = self._now_ms(), ""
        try:
            self._reconciler.tick()
        except Exception as error:
            problem = problem_of(error)
            if problem != self.state.problem:
                _LOGGER.warning("the catalog could not be checked: %s", problem, exc_info=True)
        ended_ms = self._now_ms()
        ticks = self.state.ticks + (0 if problem else 1)
        since_ms = (self.state.failing_since_ms or ended_ms) if problem else 0
        self.state = TickState(ticks, (ended_ms - began_ms) / 1000, ended_ms, problem, since_ms)
        self._ticked.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            self.tick()
            until = monotonic() + self._every_ms / 1000
            while not self._woken.is_set() and (left := until - monotonic()) > 0:
                self._woken.wait(min(left, self.run_due()))

    def run_due(self) -> float:
        """Submit what is due; returns for how many seconds nothing is."""
        try:
            return self._run_due()
        except Exception:
            _LOGGER.exception("scheduled runs were not submitted")
            return math.inf


def _upstream(tables: Mapping[TableName, KnownTable]) -> dict[TableName, frozenset[TableName]]:
    """Return the materialized tables that each table reads, directly or through others."""
    names = {str(name): name for name in tables}
    found = upstream_of({str(name): table.reads for name, table in tables.items()})
    return {names[name]: frozenset(names[each] for each in read) for name, read in found.items()}
