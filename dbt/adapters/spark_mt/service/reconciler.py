"""Makes the catalog's desired state true: hosts, schedules, stops, repairs (design section 6).

Nothing calls it, it converges: every few seconds it compares what the registry says with what runs
here. It can be killed at any time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.service.lineage import upstream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.leases import Leadership
    from dbt.adapters.spark_mt.service.catalog_view import CatalogView
    from dbt.adapters.spark_mt.service.policy import ManagerPolicy
    from dbt.adapters.spark_mt.service.runs import Dispatcher
    from dbt.adapters.spark_mt.service.tally import Tally

_LOGGER = logging.getLogger(__name__)


class Hosting(Protocol):
    """Follows the sources of CONTINUOUS tables, each in a thread of its own."""

    def start(self, name: TableName) -> None:
        """Keep a table fresh from now on; nothing if it is kept fresh already."""
        ...

    def notice(self, name: TableName) -> None:
        """Look at a table at once that was changed."""
        ...

    def forget(self, name: TableName) -> None:
        """Stop a table without waiting for it."""
        ...

    def hosted(self) -> frozenset[TableName]:
        """Return the tables that are kept fresh now."""
        ...

    def progress(self, name: TableName) -> HostProgress:
        """Return how a table does that is kept fresh here, or was."""
        ...


class Workflows(Protocol):
    """The workflows of FULL tables in a scheduler."""

    def converge(
        self, tables: Sequence[KnownTable], last_scheduled: Mapping[TableName, int]
    ) -> None:
        """Make the workflows be those of the tables; those of other tables are deleted.

        Args:
            tables: Every FULL table, suspended ones too.
            last_scheduled: The newest scheduled time of each that was run for; milliseconds since
                the epoch, UTC.
        """
        ...


class Handlers(Protocol):
    """Tells by whom tables are refreshed."""

    def tell(self, tables: Sequence[KnownTable]) -> None:
        """Tell it of tables that are new here, and of those that no longer are, in one commit."""
        ...


class Upkeep(Protocol):
    """What is done for tables when nothing else is to do."""

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Do a little of it."""
        ...


@dataclass(frozen=True, slots=True)
class Workers:
    """What the reconciler directs.

    Args:
        hosting: Of CONTINUOUS tables.
        workflows: Of FULL tables.
        dispatcher: Of their runs.
        handlers: Tells who refreshes what.
        upkeep: Compaction and removal of what is dead.
        flush: Writes what was told and may wait.
        take_over: What a new leader does once, aside: deriving modes again.
    """

    hosting: Hosting
    workflows: Workflows
    dispatcher: Dispatcher
    handlers: Handlers
    upkeep: Upkeep
    flush: Callable[[], None]
    take_over: Callable[[], None]


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
        if not self._leadership.tick():
            self.stand_down()
            self._view.read()
            return
        if not self._leads:
            self._lead()
        changed = self._view.read()
        if changed or not self.has_converged:
            self._converge()
        self._watch()
        self._workers.flush()
        self._view.sweep(self._policy.tick / self._policy.sweep)
        self._workers.upkeep.tick(self._view.tables)

    def stand_down(self) -> None:
        """Stop everything, without waiting: another manager does it now."""
        if not self._leads:
            return
        _LOGGER.warning("another manager took over; this one stands by")
        self.stop_all()

    def stop_all(self) -> None:
        """Begin nothing more, and stop between batches."""
        self._leads = self.has_converged = False
        self._workers.workflows.converge((), {})
        for name in self._workers.hosting.hosted():
            self._workers.hosting.forget(name)
        for name in self._applied:
            self._workers.dispatcher.withdraw(name)
        self._applied.clear()

    def _lead(self) -> None:
        self._view.read_all_anew()
        self._leads = True
        self._workers.take_over()

    def _converge(self) -> None:
        tables = self._view.tables
        self._workers.dispatcher.order_by(upstream_of(tables.values()))
        for name in self._applied.keys() - tables.keys():
            self._workers.dispatcher.withdraw(name)
        self._host([t for t in tables.values() if _is_hosted(t)])
        full = [t for t in tables.values() if t.refresh_mode is RefreshMode.FULL]
        self._workers.workflows.converge(full, self._view.last_scheduled)
        self._workers.handlers.tell([t for t in tables.values() if _is_active(t)])
        self._applied = dict(tables)
        self.has_converged = True

    def _host(self, wanted: Sequence[KnownTable]) -> None:
        """Start in the order of the lineage, so that what is read first is fresh first."""
        hosting = self._workers.hosting
        hosted = hosting.hosted()
        for name in hosted - {table.name for table in wanted}:
            hosting.forget(name)
        for table in wanted:
            before = self._applied.get(table.name)
            if table.name not in hosted and (before is None or before != table):
                hosting.start(table.name)
            elif before is not None and _is_otherwise(before, table):
                hosting.notice(table.name)

    def _watch(self) -> None:
        """Take in what hosts did, and see after those that ended by themselves."""
        hosting = self._workers.hosting
        hosted = hosting.hosted()
        for table in self._view.tables.values():
            if not _is_hosted(table) or table.name not in self._applied:
                continue
            if table.name in hosted:
                self._tally.note_batches(table.name, hosting.progress(table.name))
            else:
                self._mend(table.name)

    def _mend(self, name: TableName) -> None:
        """A host ended by itself: its table is gone, or is not what its row says."""
        try:
            if not self._view.repair(name):
                self._workers.hosting.start(name)
        except Exception as error:  # noqa: BLE001 - the next tick tries it again
            _LOGGER.warning("%s could not be looked at: %s", name, problem_of(error))


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
