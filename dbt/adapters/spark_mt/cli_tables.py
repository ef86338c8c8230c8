"""The tables of a catalog as `spark-mt` sees them without a manager: listed, ordered, refreshed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.cli_views import measured, view_of
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, about
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.health import lag_of
from dbt.adapters.spark_mt.execution.holds import KEPT_MS, judged
from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
from dbt.adapters.spark_mt.execution.stored import existing_table
from dbt.adapters.spark_mt.planning.summary import explained
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE, parse_zone
from dbt.adapters.spark_mt.service.views import Promise
from dbt.adapters.spark_mt.statements.routing import parse_name, parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.modes import RefreshStatus
    from dbt.adapters.spark_mt.execution.alterations import Alteration
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import ManagedRegistry
    from dbt.adapters.spark_mt.execution.repair import Repaired
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.service.views import TableView
    from dbt.adapters.spark_mt.spark.progress import StageProgress
    from dbt.adapters.spark_mt.statements.nodes import CreateTable

_EXPLAIN = ("step", "change", "effect", "keeps", "loses", "reason")


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned.

    Args:
        columns: Their names; none where the statement returns nothing.
        is_cut: Whether there are more rows than these.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A table that is to be refreshed in its turn.

    Args:
        reads: Full names of its sources.
    """

    name: TableName
    status: RefreshStatus
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """What `LocalTables` needs of a Spark session, or of something that stands for one.

    Args:
        environment: The ports.
        registry: Of the same catalog.
        catalog: The current catalog.
        forget: Makes the ports look at everything anew.
        run: Runs a statement that is not ours; the number bounds the rows.
        progress: Tells how far the stages are that run now; None where nobody can tell.
        repair: Rebuilds the registry of the same catalog.
    """

    environment: Environment
    registry: ManagedRegistry
    catalog: str
    forget: Callable[[], None]
    run: Callable[[str, int], Rows]
    progress: Callable[[], StageProgress | None] = lambda: None
    repair: Callable[[], tuple[Repaired, ...]] = tuple


class LocalTables:
    """Materialized tables through a session of one's own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._environment = session.environment
        self._manager = MaterializedTableManager(session.environment)

    def progress(self) -> StageProgress | None:
        """Tell how far the stages are that run now; None where nobody can tell."""
        return self._session.progress()

    def execute(self, statement: str, limit: int) -> Rows:
        """Run a statement, ours or Spark's.

        Args:
            statement: The statement.
            limit: How many rows to return at most.
        """
        self._session.forget()
        parsed = parse_statement(statement)
        if parsed is None:
            return self._session.run(statement, limit)
        result = self._manager.execute(parsed)
        columns = tuple(column.name for column in result.columns)
        return Rows(columns, result.rows[:limit], len(result.rows) > limit)

    def plan(self, statement: CreateTable | Alteration) -> Rows:
        """Return the rows of EXPLAIN for a statement that would change a definition.

        Raises:
            MaterializedTableError: It would be refused; every violation is named.
        """
        self._session.forget()
        with about(self._environment.store.full_name(statement.name)):
            plan, _ = self._manager.plan(statement)
        return Rows(_EXPLAIN, explained(plan))

    def refresh(
        self, name: str, *, scheduled: datetime | None = None, force: bool = False
    ) -> RefreshOutcome:
        """Refresh a table.

        Args:
            name: Its name, in backticks where it needs them.
            scheduled: The scheduled time of a run that a scheduler starts; without a zone it is in
                the table's own.
            force: Compute the rows even if no source has moved.
        """
        self._session.forget()
        table = parse_name(name)
        with about(name):
            if scheduled is None:
                return self._manager.refreshes.refresh(table, force=force)
            aware = scheduled if scheduled.tzinfo else self._in_zone_of(table, scheduled)
            return self._manager.refreshes.refresh_scheduled(table, aware)

    def repair(self) -> tuple[Repaired, ...]:
        """Rebuild the registry; return the tables whose rows were wrong, and those that failed."""
        self._session.forget()
        return self._session.repair()

    def in_order(self) -> tuple[Listed, ...]:
        """Return every table of the catalog, each behind those that it reads."""
        self._session.forget()
        told = self._session.registry.tables(self._session.catalog)
        listed = {each.name: Listed(each.name, each.status, each.reads) for each in told}
        for name in self._session.registry.known(self._session.catalog):
            if name not in listed and (found := self._looked_at(name)) is not None:
                listed[name] = found
        return ordered(listed.values())

    def views(
        self, wanted: Callable[[str], bool] = lambda _: True, *, measure: bool
    ) -> tuple[TableView, ...]:
        """Return the tables of the catalog, ordered by name.

        Args:
            wanted: Whether a table of this full name is.
            measure: Whether to look at the sources of tables that may be behind.
        """
        self._session.forget()
        catalog, now = self._session.catalog, self._environment.now_ms()
        jobs: dict[TableName, list[Job]] = {}
        for job in self._environment.conduct.log.jobs(catalog, now - KEPT_MS):
            jobs.setdefault(job.table, []).append(judged(job, self._environment))
        known = (e for e in self._session.registry.tables(catalog) if wanted(str(e.name)))
        views = ((each.name, view_of(each, jobs.get(each.name, ()), now)) for each in known)
        return tuple(self._measured(*each) if measure else each[1] for each in views)

    def _measured(self, name: TableName, view: TableView) -> TableView:
        """The view of a table that may be behind, with its lag as it is now."""
        if view.promise is not Promise.UNKNOWN:
            return view
        try:
            return measured(view, lag_of(self._environment, name))
        except MaterializedTableError as error:
            return replace(view, problem=view.problem or str(error))

    def _looked_at(self, name: TableName) -> Listed | None:
        """What the table itself tells, where the registry does not; None if it is none."""
        found = self._environment.store.find(name)
        if not isinstance(found, StoredTable):
            return None
        return Listed(name, found.definition.status, tuple(sorted(found.positions or {})))

    def _in_zone_of(self, name: TableName, scheduled: datetime) -> datetime:
        full = self._environment.store.full_name(name)
        confs = dict(existing_table(self._environment, full).definition.resolved.context.confs)
        return scheduled.replace(tzinfo=parse_zone(confs[SESSION_TIME_ZONE]))


def ordered(tables: Iterable[Listed]) -> tuple[Listed, ...]:
    """Return tables such that each stands behind those that it reads, and else by name."""
    by_name = {str(table.name): table for table in sorted(tables, key=lambda each: str(each.name))}
    return tuple(by_name[name] for name in upstream_first({n: t.reads for n, t in by_name.items()}))


def upstream_first(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return names such that each stands behind those that it reads, and else in their order.

    Args:
        reads: What each reads; names that are no keys do not count. Case does not count.
    """
    keys = {name.lower(): name for name in reads}
    sources = {
        name: [keys[s.lower()] for s in read if s.lower() in keys and keys[s.lower()] != name]
        for name, read in reads.items()
    }
    try:
        return tuple(TopologicalSorter(sources).static_order())
    except CycleError:  # the registry may be behind; no table can really read itself
        return tuple(reads)
