"""Views of a manager: the interface that REST, page, metrics and command line use.

Every method may be called from any thread. Methods that read `views` from memory are marked; the
others read the catalog, and may take a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.freshness import (
    FreshnessStatus,  # noqa: TC001 - pydantic reads them
    LagStage,  # noqa: TC001 - pydantic reads them
    SourceActivity,  # noqa: TC001 - pydantic reads them
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Column, Pairs
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.results import RelayedStatement, StatementResult


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement that the manager is to carry out in its driver.

    Args:
        statement: CREATE, ALTER of any kind, or REFRESH of a materialized table.
        request_id: Names the request for `interrupt`.
        catalog: Where names without a catalog belong; empty for the manager's catalog.
        schema: Where names without a schema belong; empty for the default one of the catalog.
        session: The id of a session of Spark Connect, in which it is carried out; its current
            catalog and schema count then. Empty for a new session.
        owner: Who declares the table, as the definition keeps it.
    """

    statement: RelayedStatement
    request_id: str
    catalog: str = ""
    schema: str = ""
    session: str = ""
    owner: tuple[tuple[str, str], ...] = ()


class Role(Enum):
    """What a manager does for its catalog."""

    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    """It holds the lease and keeps the tables fresh."""
    STANDBY = "STANDBY"
    """Another manager holds the lease; this one takes over when that is gone."""
    STOPPING = "STOPPING"


@dataclass(frozen=True, slots=True)
class RefreshPoint:
    """One refresh in a small chart, the oldest first.

    Args:
        started_at_ms: Milliseconds since the epoch, UTC.
        duration_ms: None while it runs.
        status: As in SHOW JOBS: RUNNING, FINISHED, SKIPPED, FAILED, CANCELED.
        rows: Rows written, where they were counted.
        error: Why it failed, empty otherwise.
    """

    started_at_ms: int
    duration_ms: int | None
    status: str
    rows: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """When a FULL table is refreshed.

    Args:
        text: For people: `every hour`, `every 40 minutes` …
        zone: The stored time zone in which it holds.
        cron: As a cron expression of five fields, where one exists.
        every_seconds: The fixed interval, where none exists or it is shorter than a minute.
        by_partition: Whether each run writes partitions of its own (date formatters), so that no
            scheduled time may be left out.
    """

    text: str
    zone: str
    cron: str | None = None
    every_seconds: int | None = None
    by_partition: bool = False


@dataclass(frozen=True, slots=True)
class VerificationView:
    """The newest verification that compared rows of a table, since its definition changed.

    Args:
        result: `equal` or `different`.
        at_ms: When it began, milliseconds since the epoch, UTC.
        job_id: Its row in the log of refreshes.
        problem: What differs and what was done, with example rows; empty for equal rows.
    """

    result: str
    at_ms: int
    job_id: str
    problem: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it found rows that differ."""
        return bool(self.problem)


@dataclass(frozen=True, slots=True)
class TableView:
    """A table as a row of a list; from memory, so that a list of a thousand costs nothing.

    Args:
        name: The full name, `catalog.schema.table`.
        freshness: As in a statement, `INTERVAL '3' MINUTE`.
        freshness_seconds: The same in seconds.
        refresh_mode: CONTINUOUS or FULL.
        declared_refresh_mode: AUTOMATIC, CONTINUOUS or FULL.
        status: INITIALIZING, ACTIVATED or SUSPENDED.
        status_reason: Why it is suspended, empty if the user did it.
        engine: `stream` or `incremental`; `batch` for FULL.
        strategy: `append`, `stateful`, `recompute` …
        reason: Why that engine, one sentence.
        activity: What the manager does for it now, in a few words: `streaming`, `following`,
            `scheduled`, `refreshing`, `failing`, `suspended`, `waiting`.
        freshness_status: Whether it meets its freshness: MET, LATE (the lag is larger than
            allowed), UNKNOWN (not measured), NONE (suspended).
        lag_seconds: The age of the oldest change of the base tables that its rows do not reflect,
            through all materialized tables on the way; 0 if none is missing, None when unknown.
        own_lag_seconds: The same for the tables that it reads directly.
        allowed_lag_seconds: The largest lag at which it is MET: its freshness, and in mode FULL the
            duration of its last refresh as well, as such a table lags by that much by design.
        lag_stages: For which tables the oldest missing change has waited, or waits, and for how
            long; they add up to `lag_seconds`.
        source_activities: Of a late table: how often its direct sources change, and in how many
            files their rows are.
        lag_measured_at_ms: When missing changes were looked for; one that is missing since then
            is not in the lag yet.
        rows: Rows that the newest refresh wrote.
        estimated_refresh_seconds: How long the next refresh is expected to take: as long as the
            last one by the same strategy. None where there was none.
        last_refresh_at_ms: When the newest one that succeeded, or had nothing to do, looked at the
            sources.
        next_run_at_ms: When a FULL table is scheduled next; None otherwise.
        failures: How often in a row it failed.
        problem: The text of the newest failure; empty when the newest refresh succeeded.
        refresh_handler: Who runs its refresh, for people.
        schedule: Of a FULL table.
        reads: Full names of its sources, materialized or not.
        recent: Its newest refreshes, the oldest first, at most 30.
        verification: Its newest verification that compared rows; None without one.
    """

    name: str
    freshness: str
    freshness_seconds: int
    refresh_mode: str
    declared_refresh_mode: str
    status: str
    status_reason: str
    engine: str
    strategy: str
    reason: str
    activity: str
    freshness_status: FreshnessStatus
    lag_seconds: float | None
    rows: int | None
    last_refresh_at_ms: int | None
    next_run_at_ms: int | None
    failures: int
    problem: str
    refresh_handler: str
    schedule: ScheduleView | None = None
    reads: tuple[str, ...] = ()
    own_lag_seconds: float | None = None
    allowed_lag_seconds: float | None = None
    lag_measured_at_ms: int | None = None
    estimated_refresh_seconds: float | None = None
    lag_stages: tuple[LagStage, ...] = ()
    source_activities: tuple[SourceActivity, ...] = ()
    recent: tuple[RefreshPoint, ...] = ()
    verification: VerificationView | None = None


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """How far a table has read a source, and the newest position of the source.

    Args:
        source: The full name.
        reflected: The position that the table's rows reflect, for people; empty when unknown.
        newest: The newest position of the source, for people; empty when unknown.
    """

    source: str
    reflected: str
    newest: str


@dataclass(frozen=True, slots=True)
class TableDetails:
    """Everything about one table; asking for it reads the catalog.

    Args:
        view: What the list shows.
        statement: The statement that makes it, as SHOW CREATE prints it.
        expanded_query: What refreshes run.
        description: The lines of DESC EXTENDED, as (label, text).
        columns: Name, type and comment of each column.
        positions: Its sources.
        history: Its newest refreshes, the newest first.
    """

    view: TableView
    statement: str
    expanded_query: str
    description: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str, str], ...]
    positions: tuple[SourcePosition, ...]
    history: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class ChangeView:
    """What a statement did, or would do.

    Args:
        table: The full name.
        action: As in the statement's row: ALTERED, UNCHANGED, SUSPENDED … or REFUSED in a plan.
        changes: One sentence each.
        violations: Why a planned statement would be refused.
        message: A sentence for people; may be empty.
        warnings: What the user should read.
    """

    table: str
    action: str
    changes: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    message: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """A request of FLIP-435's REST interface for a refresh.

    Args:
        table: The table's name, in backticks where it needs them.
        is_periodic: Whether a schedule asks; then the partitions of the period are written, of a
            table with date formatters. False refreshes the whole table.
        schedule_time: The scheduled time as text in the table's stored zone.
        schedule_time_format: The Spark datetime pattern of that text.
        run_options: Options of this refresh only.
        partition: The value of each partition column to refresh, as text that is cast to the
            column's type; empty for the whole table. A refresh that a schedule asks for has none.
    """

    table: str
    is_periodic: bool = False
    schedule_time: str | None = None
    schedule_time_format: str = "yyyy-MM-dd HH:mm:ss"
    run_options: tuple[tuple[str, str], ...] = ()
    partition: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshSubmitted:
    """A refresh that was accepted and runs in the manager.

    Args:
        job_id: Works in DESC JOB and in the log of refreshes.
        cluster: Where it runs, by label: `master`, `application_id`, `host` …
    """

    job_id: str
    cluster: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ManagerView:
    """The manager itself.

    Args:
        version: Of this package.
        spark_version: Of the Spark that it runs.
        master: Of that Spark.
        catalog: Whose tables it keeps fresh.
        started_at_ms: Milliseconds since the epoch, UTC.
        leader: Who holds the lease, for people: process, host.
        term: The lease's number; grows with every takeover.
        tick_seconds: How long the newest tick took.
        last_tick_at_ms: When it ended; 0 before the first.
        queries_running: Streams that run now.
        refreshes_running: Refreshes that run now.
        connect_url: Where Spark Connect answers, without a token; empty without it.
    """

    role: Role
    version: str
    spark_version: str
    master: str
    catalog: str
    host: str
    pid: int
    started_at_ms: int
    leader: str
    term: int
    tick_seconds: float
    last_tick_at_ms: int
    queries_running: int
    refreshes_running: int
    connect_url: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the manager lives and does its work.

    Args:
        is_alive: Its loop has ticked lately.
        is_ready: It has read the registry, so that it can answer.
        problems: Why not, one sentence each.
        findings: Tables of which a verification found wrong rows, one sentence each.
    """

    is_alive: bool
    is_ready: bool
    problems: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshTotals:
    """Counters of one table since the manager started, for metrics.

    Args:
        table: The full name.
        by_status: How many refreshes ended FINISHED, SKIPPED, FAILED, CANCELED.
        duration_seconds: The sum of their durations.
        rows: The sum of the rows that they wrote.
        last_success_at_ms: The end of the newest one that did not fail; None for none.
        by_verification: How many verifications ended `equal`, `different`, `skipped`.
    """

    table: str
    by_status: tuple[tuple[str, int], ...]
    duration_seconds: float
    rows: int
    last_success_at_ms: int | None
    by_verification: tuple[tuple[str, int], ...] = ()


class ManagerService(Protocol):
    """A running manager."""

    def about(self) -> ManagerView:
        """Describe the manager itself, from memory."""
        ...

    def health(self) -> Health:
        """Return whether it works, from memory."""
        ...

    def tables(self) -> tuple[TableView, ...]:
        """Return every table, ordered by name, from memory."""
        ...

    def totals(self) -> tuple[RefreshTotals, ...]:
        """Return the counters of every table, from memory."""
        ...

    def names(self, schema: str, catalog: str) -> tuple[str, ...]:
        """Return the names of a schema's tables as the registry has them now, in order.

        From memory where nothing came since it was read. Without a catalog the schema is one of
        the manager's catalog.
        """
        ...

    def table(self, name: str) -> TableDetails:
        """Describe one table.

        Raises:
            MaterializedTableError: There is no such table, or its definition cannot be read.
        """
        ...

    def history(self, name: str, limit: int = 100) -> tuple[Job, ...]:
        """Return the newest refreshes of a table, the newest first.

        Raises:
            MaterializedTableError: There is no such table.
        """
        ...

    def job(self, job_id: str) -> Job | None:
        """Return one refresh, or None if the log knows of no such one."""
        ...

    def plan(self, statement: str) -> ChangeView:
        """Plan a CREATE or ALTER statement, and change nothing.

        A statement that would be refused is an answer, too: its violations are named.

        Raises:
            MaterializedTableError: The text is no such statement.
        """
        ...

    def execute(self, request: StatementRequest) -> StatementResult:
        """Carry out a statement that makes, changes or refreshes a table; returns at its end.

        A session of Spark Connect cannot run streams, and each of its questions is a call over the
        network; whoever works in one asks for the statement here.

        Raises:
            MaterializedTableError: The text is no such statement, or it failed.
        """
        ...

    def columns(self, query: str, session: str) -> tuple[Column, ...]:
        """Return the columns that a query has in a session of Spark Connect; nothing is computed.

        Raises:
            MaterializedTableError: There is no such session, or Spark refuses the query.
        """
        ...

    def interrupt(self, request_id: str) -> None:
        """Interrupt what the statement of a request runs at this moment, if it is not over."""
        ...

    def refresh(self, request: RefreshRequest) -> RefreshSubmitted:
        """Check a refresh, and begin it; answers before it has ended.

        Raises:
            MaterializedTableError: It cannot be begun; nothing was done.
        """
        ...

    def suspend(self, name: str) -> ChangeView:
        """Suspend a table.

        Raises:
            MaterializedTableError: It cannot be; nothing was done.
        """
        ...

    def resume(self, name: str, run_options: Pairs = ()) -> ChangeView:
        """Resume a suspended table; returns when it has caught up.

        Raises:
            MaterializedTableError: It cannot; it stays suspended.
        """
        ...

    def wake(self) -> None:
        """Check every table now instead of in a few seconds."""
        ...
