"""Makes the catalog's desired state true: hosts, schedules, stops, repairs (design section 6).

Nothing calls it, it converges: every few seconds it compares what the registry says with what runs
here. It can be killed at any time.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.service.lineage import upstream_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.leases import Leadership
    from dbt.adapters.spark_mt.service.catalog_view import CatalogView
    from dbt.adapters.spark_mt.service.policy import ManagerPolicy
    from dbt.adapters.spark_mt.service.tally import Tally
    from dbt.adapters.spark_mt.service.workers import Workers

_LOGGER = logging.getLogger(__name__)


class Reconciler:
    """One look at everything after the other.

    Args:
        leadership: Of the catalog.
        view: What the registry says.
        workers: Who does what follows.
        policy: How often.
        tally: What became of refreshes.
    """

    def __init__(
        self,
        leadership: Leadership,
        view: CatalogView,
        workers: Workers,
        policy: ManagerPolicy,
        tally: Tally,
    ) -> None:
        self._leadership = leadership
        self._view = view
        self._workers = workers
        self._policy = policy
        self._tally = tally
        self._leads = False
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
            Exception: The registry could not be read or written; what runs goes on.
        """
        if self._is_closed:
            return
        if not self._holds_lease():
            self.stand_down()
            self._workers.flush()
            self._view.read()
            return
        if not self._leads:
            self._lead()
        if self._view.read():
            self._is_settled = False
        if not self._is_settled:
            self._is_settled = self._converge()
            self.has_converged = True
        self._watch()
        self._workers.flush()
        self._view.sweep(self._policy.sweep)
        self._workers.upkeep.tick(self._view.tables)

    def stand_down(self) -> None:
        """Stop everything, without waiting: another manager does it now, or may."""
        if not self._leads:
            return
        _LOGGER.warning("this manager does not hold the lease any more; it stands by")
        self._stop_all()

    def close(self) -> None:
        """Begin nothing more, and let hosts stop between batches."""
        self._is_closed = True
        self._stop_all()

    def flush(self) -> None:
        """Write what was kept.

        Raises:
            Exception: It could not be written.
        """
        self._workers.flush()

    def _holds_lease(self) -> bool:
        try:
            return self._leadership.tick()
        except Exception:
            if not self._leadership.is_held:
                self.stand_down()
            raise

    def _stop_all(self) -> None:
        self._leads = self.has_converged = self._is_settled = False
        self._workers.workflows.converge((), {})
        for name in self._workers.hosting.hosted():
            self._workers.hosting.forget(name)
        for name in self._applied:
            self._workers.dispatcher.withdraw(name)
        self._workers.handlers.forget()
        self._applied.clear()

    def _lead(self) -> None:
        self._view.read_all_anew()
        self._leads = True
        self._workers.take_over()

    def _converge(self) -> bool:
        """Returns whether everything is as wanted; what is not is tried again in the next tick."""
        tables = self._view.tables
        dispatcher = self._workers.dispatcher
        dispatcher.order_by(upstream_of(tables.values()))
        for name in self._applied.keys() - tables.keys():
            dispatcher.withdraw(name)
        hosts = self._host([t for t in tables.values() if _is_hosted(t)])
        for table in tables.values():
            self._direct_runs(table)
        full = [t for t in tables.values() if t.refresh_mode is RefreshMode.FULL]
        schedules = self._workers.workflows.converge(full, self._view.last_scheduled)
        self._workers.handlers.tell([t for t in tables.values() if _is_active(t)])
        self._applied = dict(tables)
        return hosts and schedules

    def _direct_runs(self, table: KnownTable) -> None:
        before = self._applied.get(table.name)
        if not _is_active(table) or table.refresh_mode is not RefreshMode.FULL:
            self._workers.dispatcher.withdraw_scheduled(table.name)
        elif before is not None and _is_otherwise(before, table):
            self._workers.dispatcher.hasten(table.name)

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
        """Take in what hosts did, and see after those that ended by themselves."""
        hosting = self._workers.hosting
        hosted = hosting.hosted()
        for table in self._view.tables.values():
            if not _is_hosted(table):
                continue
            if table.name in hosted:
                self._tally.note_batches(table.name, hosting.progress(table.name))
            else:
                self._mend(table.name)

    def _mend(self, name: TableName) -> None:
        """A host ended by itself: its table is gone, or is not what its row says."""
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
