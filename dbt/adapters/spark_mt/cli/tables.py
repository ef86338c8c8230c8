"""Tables of a catalog without a manager: listed, ordered, planned and refreshed."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.cli.output import shown
from dbt.adapters.spark_mt.cli.status_table import span
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.checks import lag_of
from dbt.adapters.spark_mt.execution.errors import TableNotFoundError, problem_of
from dbt.adapters.spark_mt.execution.jobs import KEPT_MS, with_effective_status
from dbt.adapters.spark_mt.manager.table_views import unmeasured, with_lag
from dbt.adapters.spark_mt.manager.views import RefreshPoint, TableView
from dbt.adapters.spark_mt.resolution.durations import parse_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.cli.options import RefreshChoice
    from dbt.adapters.spark_mt.client.rest import Json, ManagerClient
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome, StatementResult
    from dbt.adapters.spark_mt.spark.session import StageProgress


RECENT = 30
"""How many refreshes a view has at most."""
_GOOD = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})


def view_of(table: KnownTable, jobs: Sequence[Job]) -> TableView:
    """Return what is known of a table without looking at it.

    Its freshness needs the state of its sources: see `measured`.

    Args:
        table: Its row in the registry.
        jobs: Its refreshes, the newest first.
    """
    ended = [job for job in jobs if job.ended_at_ms is not None]
    failed = list(takewhile(lambda job: job.status is JobStatus.FAILED, ended))
    good = [job.started_at_ms for job in ended if job.status in _GOOD]
    refreshed = max([*good, *filter(None, [table.last_refresh_at_ms])], default=None)
    is_suspended = table.status is RefreshStatus.SUSPENDED
    return TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        declared_refresh_mode=table.declared_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine="",
        strategy="",
        reason="",
        activity=_activity(jobs, is_suspended=is_suspended, is_failing=bool(failed)),
        freshness_status=unmeasured(table),
        lag_seconds=None,
        rows=_rows(table, ended),
        last_refresh_at_ms=refreshed,
        next_run_at_ms=None,
        failures=len(failed),
        problem=failed[0].error if failed else "",
        refresh_handler="",
        reads=table.reads,
        recent=tuple(map(_point, reversed(jobs[:RECENT]))),
    )


def measured(view: TableView, lag: Lag) -> TableView:
    """Return a view with the lag that was measured just now."""
    return with_lag(view, lag, lag.measured_at_ms)


def _activity(jobs: Sequence[Job], *, is_suspended: bool, is_failing: bool) -> str:
    if any(job.status is JobStatus.RUNNING for job in jobs):
        return "refreshing"
    if is_suspended:
        return "suspended"
    return "failing" if is_failing else "no manager"


def _rows(table: KnownTable, ended: Sequence[Job]) -> int | None:
    written = (job.rows for job in ended if job.status is JobStatus.FINISHED)
    return table.rows if table.rows is not None else next(written, None)


def _point(job: Job) -> RefreshPoint:
    lasted = None if job.ended_at_ms is None else job.ended_at_ms - job.started_at_ms
    return RefreshPoint(job.started_at_ms, lasted, job.status.value, job.rows, job.error)


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


def rows_of(result: StatementResult, limit: int | None = None) -> Rows:
    """Return the rows of a statement about materialized tables, up to a limit."""
    rows = result.rows[:limit]
    return Rows(tuple(column.name for column in result.columns), rows, len(rows) < len(result.rows))


@dataclass(frozen=True, slots=True)
class Session:
    """The Spark session of a command.

    Args:
        tables: Its materialized tables.
        run: Runs a statement that is not about them; the number bounds the rows.
        progress: Returns how far the running stages are; None where that is unknown.
    """

    tables: MaterializedTables
    run: Callable[[str, int], Rows]
    progress: Callable[[], StageProgress | None] = lambda: None

    @property
    def catalog(self) -> str:
        """The current catalog."""
        return self.tables.environment.store.full_name(TableName("_")).catalog or ""

    def execute(self, statement: str, limit: int) -> Rows:
        """Run a statement, ours or Spark's.

        Args:
            statement: The statement.
            limit: How many rows to return at most.
        """
        result = self.tables.execute(statement)
        if result is None:
            return self.run(statement, limit)
        return rows_of(result, limit)

    def active(self) -> tuple[TableName, ...]:
        """Return the ACTIVATED tables of the catalog, each after those that it reads."""
        environment = self.tables.environment
        environment.store.forget()
        known = environment.registry.tables(self.catalog)
        found = {each.name: (each.status, each.reads) for each in known}
        for name in environment.registry.known(self.catalog):
            table = None if name in found else environment.store.find(name)
            if isinstance(table, StoredTable):
                found[name] = (table.definition.status, tuple(sorted(table.positions or {})))
        names = {str(name): name for name in sorted(found, key=str)}
        order = upstream_first({text: found[name][1] for text, name in names.items()})
        active = RefreshStatus.ACTIVATED
        return tuple(names[text] for text in order if found[names[text]][0] is active)

    def views(
        self, wanted: Callable[[str], bool] = lambda _: True, *, measure: bool
    ) -> tuple[TableView, ...]:
        """Return the tables of the catalog, ordered by name.

        Args:
            wanted: Whether a table of this full name is.
            measure: Whether to look at the logs of the tables and of their sources for lags.
        """
        environment = self.tables.environment
        environment.store.forget()
        jobs: dict[TableName, list[Job]] = {}
        for job in environment.execution_context.log.jobs(
            self.catalog, environment.now_ms() - KEPT_MS
        ):
            jobs.setdefault(job.table, []).append(with_effective_status(job, environment))
        known = (e for e in environment.registry.tables(self.catalog) if wanted(str(e.name)))
        views = ((each.name, view_of(each, jobs.get(each.name, ()))) for each in known)
        return tuple(self._measured(*each) if measure else each[1] for each in views)

    def _measured(self, name: TableName, view: TableView) -> TableView:
        """The view of a table with its lag as it is now."""
        try:
            return measured(view, lag_of(self.tables.environment, name))
        except MaterializedTableError as error:
            return replace(view, problem=view.problem or str(error))


def upstream_first(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return names such that each comes after those that it reads, and else in their order.

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
    except CycleError:  # the registry may be out of date; no table can read itself
        return tuple(reads)


FAILED = "FAILED"
SUBMITTED = "SUBMITTED"
"""The manager was asked, and the command did not wait."""
GONE = "GONE"
"""The registry knows a table that is there no more."""
_PATTERN = "yyyy-MM-dd HH:mm:ss"
_PRECISE_BELOW_S = 60.0
_FIRST_POLL_S, _LONGEST_PAUSE_S = 0.2, 2.0


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How the refresh of one table ended.

    Args:
        status: REFRESHED, UP_TO_DATE, FAILED, CANCELED, SUBMITTED or GONE.
        job_id: As in SHOW JOBS; empty where none was begun.
        rows: Rows written, where they were counted.
        error: Why it failed; empty otherwise.
    """

    table: str
    status: str
    job_id: str = ""
    rows: int | None = None
    duration_ms: int | None = None
    strategy: str = ""
    partitions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the table is not as fresh as it was asked to be."""
        return bool(self.error)

    @property
    def line(self) -> str:
        """The refresh in one line."""
        rows = "" if self.rows is None else f" {self.rows} rows"
        parts = f" in {', '.join(self.partitions)}" if self.partitions else ""
        took = "" if self.duration_ms is None else f" ({_took(self.duration_ms)})"
        return f"{self.table}: {self.status}{rows}{parts}{took}"

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows."""
        return asdict(self)


def _took(duration_ms: int) -> str:
    seconds = duration_ms / 1000
    return span(seconds) if seconds >= _PRECISE_BELOW_S else f"{seconds:.1f} s"


def in_session(session: Session, choice: RefreshChoice) -> Iterator[Refreshed]:
    """Refresh tables in this process."""
    names = tuple(name.sql for name in session.active()) if choice.every else choice.names
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with shown(f"{number}/{len(names)} {title}", session.progress):
            done = _in_session(session.tables, name, title, choice)
        yield done


def _in_session(
    tables: MaterializedTables, name: str, title: str, choice: RefreshChoice
) -> Refreshed:
    """Refresh one table; its failure is an outcome."""
    try:
        outcome = tables.refresh(name, scheduled_at=choice.scheduled, force=choice.force)
    except TableNotFoundError as error:
        if choice.every:
            return Refreshed(title, GONE)
        return Refreshed(title, FAILED, error=str(error))
    except Exception as error:  # noqa: BLE001 - reported, and the next table is refreshed
        return Refreshed(title, FAILED, error=problem_of(error))
    return _refreshed(outcome)


def _refreshed(outcome: RefreshOutcome) -> Refreshed:
    return Refreshed(
        table=outcome.table,
        status=outcome.status.value,
        job_id=outcome.refresh_id,
        rows=outcome.rows,
        duration_ms=outcome.duration_ms,
        strategy=outcome.strategy,
        partitions=outcome.partitions,
        warnings=(*outcome.warnings, *([outcome.note] if outcome.note else [])),
    )


def through_manager(client: ManagerClient, choice: RefreshChoice) -> Iterator[Refreshed]:
    """Ask a manager for the refreshes, and wait for each."""
    names = _active(client.tables()) if choice.every else choice.names
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with shown(f"{number}/{len(names)} {title}", lambda: None):
            try:
                done = _through_manager(client, name, title, choice)
            except MaterializedTableError as error:
                done = Refreshed(title, FAILED, error=str(error))
        yield done


def _active(tables: list[Json]) -> tuple[str, ...]:
    """The names of tables that are ACTIVATED, in backticks, upstream first."""
    order = upstream_first({table["name"]: table["reads"] for table in tables})
    status = {table["name"]: table["status"] for table in tables}
    active = [name for name in order if status[name] == RefreshStatus.ACTIVATED.value]
    return tuple(TableName.of(*name.split(".")).sql for name in active)


def _through_manager(
    client: ManagerClient, name: str, title: str, choice: RefreshChoice
) -> Refreshed:
    job_id = client.refresh(name, schedule_time=_time_text(client, name, choice), pattern=_PATTERN)
    if not choice.wait:
        return Refreshed(title, SUBMITTED, job_id)
    pause = _FIRST_POLL_S
    while (job := client.job(job_id))["status"] == JobStatus.RUNNING.value:
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
    return _of_job(job)


def _time_text(client: ManagerClient, name: str, choice: RefreshChoice) -> str | None:
    """The scheduled time in the table's own zone, which only the manager knows."""
    at = choice.scheduled
    if at is None:
        return None
    if at.tzinfo is not None:
        schedule = client.table(name)["view"]["schedule"] or {}
        at = at.astimezone(parse_zone(schedule.get("zone", "UTC")))
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _of_job(job: Json) -> Refreshed:
    status: str = job["status"]
    words = {"FINISHED": "REFRESHED", "SKIPPED": "UP_TO_DATE"}
    ended = job["ended_at_ms"]
    return Refreshed(
        table=job["table"],
        status=words.get(status, status),
        job_id=job["job_id"],
        rows=job["rows"],
        duration_ms=None if ended is None else ended - job["started_at_ms"],
        error="" if status in words else job["error"] or f"it was {status.lower()}",
    )
