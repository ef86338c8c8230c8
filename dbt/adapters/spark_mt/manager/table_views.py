"""Views of tables from what the manager has in memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.hosting.hosted_table import HostPhase
from dbt.adapters.spark_mt.manager.views import ScheduleView, TableView
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.strategies.recompute import FULL

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.hosting.hosted_table import HostProgress
    from dbt.adapters.spark_mt.manager.refresh_statistics import TableStatistics
    from dbt.adapters.spark_mt.manager.views import RefreshPoint


_UNDECIDED = ("", "", "the sources were not looked at yet")
_WAITING = "waiting"
_ACTIVITIES = {
    HostPhase.STARTING: "starting",
    HostPhase.STREAMING: "streaming",
    HostPhase.FOLLOWING: "following",
    HostPhase.SUSPENDED: "suspended",
    HostPhase.FAILING: "failing",
    HostPhase.ENDED: _WAITING,
}


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that is known of a table.

    Args:
        table: Its row in the registry.
        progress: How its host does; None where it is not hosted here.
        statistics: What became of its refreshes.
        points: The newest of them, the oldest first.
        handler: Who refreshes it, for people.
        next_run_ms: When it is scheduled next.
        is_refreshing: Whether a run of it is in progress here.
        problem: Why its runs fail now; empty if they do not.
        failures: How often in a row.
        lag: As it was measured last; None before that.
    """

    table: KnownTable
    progress: HostProgress | None
    statistics: TableStatistics
    points: tuple[RefreshPoint, ...]
    handler: str
    next_run_ms: int | None
    is_refreshing: bool
    problem: str = ""
    failures: int = 0
    lag: Lag | None = None

    @property
    def is_full(self) -> bool:
        """Whether it is refreshed at scheduled times."""
        return self.table.refresh_mode is RefreshMode.FULL

    @property
    def is_active(self) -> bool:
        """Whether its refresh is wanted."""
        return self.table.status is RefreshStatus.ACTIVATED


def table_view(seen: Observed, now_ms: int) -> TableView:
    """Return the row of a list.

    Args:
        seen: What is known of the table.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    table = seen.table
    engine, strategy, reason = _engine(seen)
    problem, failures = _failing(seen)
    view = TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        declared_refresh_mode=table.declared_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine=engine,
        strategy=strategy,
        reason=reason,
        activity=_activity(seen, failures),
        freshness_status=unmeasured(table),
        lag_seconds=None,
        rows=seen.statistics.rows if seen.statistics.rows is not None else table.rows,
        last_refresh_at_ms=complete_at(seen.table, seen.statistics, seen.progress),
        next_run_at_ms=seen.next_run_ms,
        failures=failures,
        problem=problem,
        refresh_handler=seen.handler,
        schedule=_schedule(table) if seen.is_full else None,
        reads=table.reads,
        recent=seen.points,
    )
    return view if seen.lag is None else with_lag(view, seen.lag, now_ms)


def with_lag(view: TableView, lag: Lag, now_ms: int) -> TableView:
    """Return a view with a lag that was measured, as it is now."""
    is_active = view.status == RefreshStatus.ACTIVATED.value
    return replace(
        view,
        freshness_status=lag.status_at(now_ms, is_active=is_active),
        lag_seconds=lag.seconds_at(now_ms),
        own_lag_seconds=lag.own_seconds_at(now_ms),
        allowed_lag_seconds=lag.allowed_seconds,
        lag_measured_at_ms=lag.measured_at_ms,
        lag_stages=lag.stages_at(now_ms),
        problem=view.problem or lag.problem,
    )


def unmeasured(table: KnownTable) -> FreshnessStatus:
    """Return the freshness status of a table whose lag was not measured."""
    is_active = table.status is RefreshStatus.ACTIVATED
    return FreshnessStatus.UNKNOWN if is_active else FreshnessStatus.NONE


def complete_at(
    table: KnownTable, statistics: TableStatistics, progress: HostProgress | None
) -> int | None:
    """Return the instant whose state of the sources the rows are known to reflect.

    Args:
        table: Its row in the registry.
        statistics: What became of its refreshes.
        progress: How its host does; None where it is not hosted here.
    """
    looked_at = progress.looked_at_ms if progress else 0
    times = (statistics.last_started_at_ms, table.last_refresh_at_ms, looked_at or None)
    return max((at for at in times if at is not None), default=None)


def _engine(seen: Observed) -> tuple[str, str, str]:
    """Return how a hosted table is kept, or how the last refresh of a scheduled one was done."""
    hosted = seen.progress.choice if seen.progress else None
    if seen.is_full and seen.statistics.strategy is not None:
        return seen.statistics.strategy
    choice = FULL if seen.is_full else hosted
    return _UNDECIDED if choice is None else (choice.engine, choice.strategy, choice.explanation)


def _failing(seen: Observed) -> tuple[str, int]:
    if seen.progress is not None and seen.progress.failures:
        return seen.progress.problem, seen.progress.failures
    if seen.failures:
        return seen.problem, seen.failures
    return seen.statistics.problem, seen.statistics.failures


def _activity(seen: Observed, failures: int) -> str:
    if not seen.is_active:
        return "suspended"
    if seen.is_refreshing:
        return "refreshing"
    if seen.is_full:
        return "failing" if failures else ("scheduled" if seen.next_run_ms else _WAITING)
    return _ACTIVITIES[seen.progress.phase] if seen.progress else _WAITING


def _schedule(table: KnownTable) -> ScheduleView:
    schedule = Schedule(table.freshness, table.zone)
    return ScheduleView(
        schedule.text,
        table.zone,
        schedule.cron,
        schedule.every_seconds,
        by_partition=bool(table.formatters),
    )
