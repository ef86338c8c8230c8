"""A catalog of nine tables, one for each state that a table can be in, as a manager shows it."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus, LagStage
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.manager.views import (
    ManagerView,
    RefreshPoint,
    Role,
    ScheduleView,
    SourcePosition,
    TableDetails,
    TableView,
)

NOW_MS = 1_795_272_600_000
"""2026-11-21 14:50:00 UTC."""
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
CATALOG = "spark_catalog"
OWNER = Owner("node-1", 4711, "1795262000", "ana")
KAFKA = "kafka: departures"
MANAGER = ManagerView(
    role=Role.ACTIVE,
    version="0.1.0",
    spark_version="4.2.0",
    master="local[2]",
    catalog=CATALOG,
    host="node-1",
    pid=4711,
    started_at_ms=NOW_MS - 3 * HOUR,
    leader="ana, process 4711 on node-1",
    term=7,
    tick_seconds=0.18,
    last_tick_at_ms=NOW_MS - 2 * SECOND,
    queries_running=2,
    refreshes_running=1,
    connect_url="sc://127.0.0.1:15002",
)

_PLAIN = TableView(
    name="",
    freshness="INTERVAL '3' MINUTE",
    freshness_seconds=180,
    refresh_mode="CONTINUOUS",
    declared_refresh_mode="AUTOMATIC",
    status="ACTIVATED",
    status_reason="",
    engine="stream",
    strategy="append",
    reason="Every source row makes its own rows, and all sources can be streamed.",
    activity="streaming",
    freshness_status=FreshnessStatus.MET,
    lag_seconds=2.5,
    rows=1_204,
    last_refresh_at_ms=NOW_MS - 20 * SECOND,
    next_run_at_ms=None,
    failures=0,
    problem="",
    refresh_handler="process 4711 on node-1: streaming query 6f0c, run 11d2",
)


def full_name(table: str) -> str:
    """The full name of a table of the sample's schema."""
    return f"{CATALOG}.flights.{table}"


def jobs(table: str, *, count: int, every_ms: int, lasts_ms: int, rows: int) -> tuple[Job, ...]:
    """Refreshes that succeeded, the newest first."""
    return tuple(_job(table, n, every_ms, lasts_ms, rows) for n in range(count))


def _job(table: str, n: int, every_ms: int, lasts_ms: int, rows: int) -> Job:
    started = NOW_MS - 20 * SECOND - n * every_ms
    lasted = lasts_ms + (n * 7919) % max(1, lasts_ms // 2)
    skipped = n % 9 == 8
    return Job(
        job_id=f"{table}-{started:x}",
        table=TableName.of(CATALOG, "flights", table),
        kind=JobKind.CONTINUOUS,
        status=JobStatus.SKIPPED if skipped else JobStatus.FINISHED,
        started_at_ms=started,
        last_heartbeat_ms=started + lasted,
        owner=OWNER,
        trigger="REFRESH",
        refresh_mode="CONTINUOUS",
        freshness="INTERVAL '3' MINUTE",
        ended_at_ms=started + lasted,
        rows=None if skipped else rows + (n * 104_729) % (rows // 3 + 1),
    )


def ended_badly(job: Job, error: str) -> Job:
    """The same refresh, had it failed."""
    return replace(job, status=JobStatus.FAILED, rows=None, error=error)


def still_running(job: Job) -> Job:
    """The same refresh before its end."""
    return replace(
        job, status=JobStatus.RUNNING, rows=None, ended_at_ms=None, last_heartbeat_ms=NOW_MS
    )


def points(history: tuple[Job, ...]) -> tuple[RefreshPoint, ...]:
    """What a small chart shows of a history, the oldest first."""
    return tuple(
        RefreshPoint(
            job.started_at_ms,
            None if job.ended_at_ms is None else job.ended_at_ms - job.started_at_ms,
            job.status.value,
            job.rows,
            job.error,
        )
        for job in reversed(history[:30])
    )


def details(
    view: TableView, history: tuple[Job, ...] = (), query: str = "SELECT 1 AS one"
) -> TableDetails:
    """Everything about a table of which the list shows `view`."""
    name = view.name.removeprefix(f"{CATALOG}.")
    clauses = f"FRESHNESS = {view.freshness}\nREFRESH_MODE = {view.declared_refresh_mode}"
    return TableDetails(
        view=_measured(replace(view, recent=points(history))),
        statement=f"CREATE MATERIALIZED TABLE {name}\n{clauses}\nAS {query}",
        expanded_query=query,
        description=(
            ("Status", view.status),
            ("Refresh mode", f"{view.refresh_mode} (by {view.declared_refresh_mode})"),
            ("Engine", f"{view.engine}, {view.strategy}: {view.reason}"),
            ("Refresh handler", view.refresh_handler),
        ),
        columns=(
            ("carrier", "string", "The airline's two-letter code."),
            ("flights", "bigint", ""),
        ),
        positions=tuple(SourcePosition(s, "version 41", "version 42") for s in view.reads),
        history=history,
    )


def _measured(view: TableView) -> TableView:
    """The view with a measured lag; a FULL table's last refresh took five seconds."""
    if view.lag_seconds is None:
        return view
    more = 5.0 if view.refresh_mode == "FULL" else 0.0
    upstream = 20.0 if view.name == full_name("hourly_departures") else 0.0
    own = view.lag_seconds - upstream
    stages = (LagStage(full_name("flights_wide"), upstream), LagStage(view.name, own))
    return replace(
        view,
        own_lag_seconds=own,
        allowed_lag_seconds=view.freshness_seconds + more,
        lag_measured_at_ms=NOW_MS - 2 * SECOND,
        estimated_refresh_seconds=None if view.engine == "stream" else more or 4.0,
        lag_stages=stages if upstream else stages[1:],
    )


def sample_tables() -> tuple[TableDetails, ...]:
    """Nine tables: four layers of lineage, every status, mode, engine and activity."""
    return (*_streams(), *_followed(), *_scheduled(), *_suspended(), _created())


def many_tables(count: int) -> tuple[TableDetails, ...]:
    """The sample, and plain scheduled tables until there are `count`; each reads the one before."""
    found = list(sample_tables())
    base = found[4].view
    for n in range(count - len(found)):
        view = replace(
            base,
            name=full_name(f"report_{n:04}"),
            freshness_status=FreshnessStatus.LATE if n % 50 == 49 else FreshnessStatus.MET,
            reads=(found[-1].view.name,) if n % 5 else (full_name("flights_wide"),),
        )
        history = jobs(f"report_{n:04}", count=5, every_ms=HOUR, lasts_ms=3_000, rows=100)
        found.append(details(view, history))
    return tuple(found[:count])


def _streams() -> tuple[TableDetails, ...]:
    wide = replace(
        _PLAIN,
        name=full_name("flights_wide"),
        reads=tuple(full_name(s) for s in ("airlines", "flights", "planes", "weather")),
    )
    live = replace(
        _PLAIN,
        name=full_name("live_departures"),
        freshness="INTERVAL '10' SECOND",
        freshness_seconds=10,
        declared_refresh_mode="CONTINUOUS",
        strategy="stateful",
        reason="It groups by a window of event time with a watermark.",
        lag_seconds=4.2,
        reads=(KAFKA,),
    )
    lasts = {"every_ms": 90 * SECOND, "lasts_ms": 1_900}
    return (
        details(
            wide,
            jobs("flights_wide", count=60, rows=1_200, **lasts),
            "SELECT f.*, a.name AS airline\nFROM flights f JOIN airlines a USING (carrier)",
        ),
        details(live, jobs("live_departures", count=80, rows=90, **lasts)),
    )


def _followed() -> tuple[TableDetails, ...]:
    behind = replace(
        _PLAIN,
        name=full_name("hourly_departures"),
        engine="incremental",
        strategy="recompute",
        reason="It has a count of distinct values, which no stream can keep.",
        activity="refreshing",
        freshness_status=FreshnessStatus.LATE,
        lag_seconds=431.0,
        last_refresh_at_ms=NOW_MS - 7 * MINUTE,
        refresh_handler="process 4711 on node-1: looks for new versions every 90 seconds",
        reads=(full_name("flights_wide"),),
    )
    history = jobs("hourly_departures", count=40, every_ms=4 * MINUTE, lasts_ms=190_000, rows=5_000)
    busy = (still_running(history[0]), *history[1:])
    steady = replace(
        behind,
        name=full_name("carrier_delays"),
        strategy="affected keys",
        reason="Only the groups of the changed rows are computed.",
        activity="following",
        freshness_status=FreshnessStatus.MET,
        lag_seconds=61.0,
        last_refresh_at_ms=NOW_MS - MINUTE,
    )
    calm = jobs("carrier_delays", count=12, every_ms=5 * MINUTE, lasts_ms=4_000, rows=16)
    return details(behind, busy), details(steady, calm)


def _scheduled() -> tuple[TableDetails, ...]:
    daily = replace(
        _PLAIN,
        name=full_name("daily_report"),
        freshness="INTERVAL '1' DAY",
        freshness_seconds=86_400,
        refresh_mode="FULL",
        engine="batch",
        strategy="recompute",
        reason="Its freshness is not below 30 minutes, so it is refreshed by a schedule.",
        activity="scheduled",
        lag_seconds=14 * 3_600.0,
        rows=3,
        last_refresh_at_ms=NOW_MS - 14 * HOUR,
        next_run_at_ms=NOW_MS + 8 * HOUR,
        refresh_handler="schedule 0 0 * * * in Europe/Berlin, workflow daily_report",
        schedule=ScheduleView("every day at midnight", "Europe/Berlin", cron="0 0 * * *"),
        reads=(full_name("hourly_departures"),),
    )
    error = (
        "[MATERIALIZED_TABLE_REFRESH_FAILED] Materialized table "
        f"{full_name('busiest_hours')}: the refresh failed: [CAST_INVALID_INPUT] The value "
        '\'<script>alert(1)</script>\' of the type "STRING" cannot be cast to "INT". '
    )
    error += "Correct the value as per the syntax, or use `try_cast`. " * 8
    failing = replace(
        daily,
        name=full_name("busiest_hours"),
        freshness="INTERVAL '40' MINUTE",
        freshness_seconds=2_400,
        declared_refresh_mode="FULL",
        reason="REFRESH_MODE = FULL was asked for.",
        activity="failing",
        freshness_status=FreshnessStatus.LATE,
        lag_seconds=9_870.0,
        last_refresh_at_ms=NOW_MS - 10_000 * SECOND,
        next_run_at_ms=NOW_MS + 3 * MINUTE,
        failures=4,
        problem=error,
        schedule=ScheduleView("every 40 minutes", "Europe/Berlin", every_seconds=2_400),
        reads=(full_name("hourly_departures"), full_name("live_departures")),
    )
    history = jobs("busiest_hours", count=20, every_ms=40 * MINUTE, lasts_ms=9_000, rows=24)
    failed = (*(ended_badly(job, error) for job in history[:4]), *history[4:])
    midnights = jobs("daily_report", count=14, every_ms=DAY, lasts_ms=21_000, rows=3)
    return details(daily, midnights), details(failing, failed)


def _suspended() -> tuple[TableDetails, ...]:
    by_user = replace(
        _PLAIN,
        name=full_name("carrier_scores"),
        status="SUSPENDED",
        activity="suspended",
        freshness_status=FreshnessStatus.NONE,
        lag_seconds=200_000.0,
        last_refresh_at_ms=NOW_MS - 2 * DAY,
        refresh_handler="",
        reads=(full_name("carrier_delays"),),
    )
    by_us = replace(
        by_user,
        name=full_name("delays_by_plane"),
        status_reason="Rows of flights.flights were deleted, and a table that began FROM_NOW "
        "cannot be computed again without bringing back older rows.",
        reads=(full_name("flights"), full_name("planes")),
    )
    history = jobs("carrier_scores", count=6, every_ms=DAY, lasts_ms=2_000, rows=16)
    return details(by_user, history), details(by_us)


def _created() -> TableDetails:
    view = replace(
        _PLAIN,
        name=full_name("weather_hourly"),
        status="INITIALIZING",
        activity="waiting",
        freshness_status=FreshnessStatus.UNKNOWN,
        lag_seconds=None,
        rows=None,
        last_refresh_at_ms=None,
        refresh_handler="",
        reads=(full_name("weather"),),
    )
    (job,) = jobs("weather_hourly", count=1, every_ms=1, lasts_ms=1, rows=1)
    first = replace(still_running(job), trigger="CREATE", creates=True)
    return details(view, (first,))
