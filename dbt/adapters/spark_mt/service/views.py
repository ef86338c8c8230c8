"""What the manager tells about itself and its tables, as values that every surface shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job


class Promise(Enum):
    """Whether a table is as fresh as it was asked to be."""

    KEPT = "KEPT"
    BEHIND = "BEHIND"
    """It lies further behind its sources than its freshness allows."""
    UNKNOWN = "UNKNOWN"
    """Nobody has looked yet, or its state cannot be told."""
    NONE = "NONE"
    """It is suspended: nothing is promised."""


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
class TableView:
    """A table as a row of a list; from memory, so that a list of a thousand costs nothing.

    Args:
        name: The full name, `catalog.schema.table`.
        freshness: As it stands in a statement, `INTERVAL '3' MINUTE`.
        freshness_seconds: The same in seconds.
        refresh_mode: CONTINUOUS or FULL.
        asked_refresh_mode: AUTOMATIC, CONTINUOUS or FULL.
        status: INITIALIZING, ACTIVATED or SUSPENDED.
        status_reason: Why it is suspended, empty if the user did it.
        engine: `stream` or `incremental`; `batch` for FULL.
        strategy: `append`, `stateful`, `recompute` …
        reason: Why that engine, one sentence.
        activity: What the manager does for it now, in a few words: `streaming`, `following`,
            `scheduled`, `refreshing`, `failing`, `suspended`, `waiting`.
        lag_seconds: For how long at most something has been missing: since the instant whose state
            of the sources the rows are known to reflect. None when nobody knows.
        rows: Rows that the newest refresh wrote.
        last_refresh_at_ms: When the newest one that succeeded, or had nothing to do, looked at the
            sources.
        next_run_at_ms: When a FULL table is scheduled next; None otherwise.
        failures: How often in a row it failed.
        problem: The text of the newest failure; empty when the newest refresh succeeded.
        refresh_handler: Who runs its refresh, for people.
        schedule: Of a FULL table.
        reads: Full names of its sources, materialized or not.
        recent: Its newest refreshes, the oldest first, at most 30.
    """

    name: str
    freshness: str
    freshness_seconds: int
    refresh_mode: str
    asked_refresh_mode: str
    status: str
    status_reason: str
    engine: str
    strategy: str
    reason: str
    activity: str
    promise: Promise
    lag_seconds: float | None
    rows: int | None
    last_refresh_at_ms: int | None
    next_run_at_ms: int | None
    failures: int
    problem: str
    refresh_handler: str
    schedule: ScheduleView | None = None
    reads: tuple[str, ...] = ()
    recent: tuple[RefreshPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """How far a table has read a source, beside where the source stands.

    Args:
        source: The full name.
        reflected: Where the table's rows stand, for people; empty when unknown.
        newest: Where the source stands, for people; empty when unknown.
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
    """A refresh as the REST interface of seed 435 asks for it.

    Args:
        table: The table's name, in backticks where it needs them.
        is_periodic: Whether a schedule asks; then the partitions of the period are written, of a
            table with date formatters. False refreshes the whole table.
        schedule_time: The scheduled time as text in the table's stored zone.
        schedule_time_format: The Spark datetime pattern of that text.
        run_options: Options of this refresh only (semantics 8).
    """

    table: str
    is_periodic: bool = False
    schedule_time: str | None = None
    schedule_time_format: str = "yyyy-MM-dd HH:mm:ss"
    run_options: tuple[tuple[str, str], ...] = ()


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
        tick_seconds: How long the newest look at everything took.
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
        is_ready: It has looked at everything once, or stands by.
        problems: Why not, one sentence each.
    """

    is_alive: bool
    is_ready: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshTotals:
    """Counters of one table since the manager started, for metrics.

    Args:
        table: The full name.
        by_status: How many refreshes ended FINISHED, SKIPPED, FAILED, CANCELED.
        duration_seconds: The sum of their durations.
        rows: The sum of the rows that they wrote.
        last_success_at_ms: The end of the newest one that did not fail; None for none.
    """

    table: str
    by_status: tuple[tuple[str, int], ...]
    duration_seconds: float
    rows: int
    last_success_at_ms: int | None
