"""What a manager shows of a table, from what it has in memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.host_progress import HostPhase
from dbt.adapters.spark_mt.planning.schedules import Schedule
from dbt.adapters.spark_mt.service.views import Promise, ScheduleView, TableView

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.service.tally import TableTally
    from dbt.adapters.spark_mt.service.views import RefreshPoint

_FULL = ("batch", "recompute", "mode FULL: every refresh computes the whole query")
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
        tally: What became of its refreshes.
        points: The newest of them, the oldest first.
        handler: Who refreshes it, for people.
        next_run_ms: When it is scheduled next.
        is_refreshing: Whether a run of it is under way here.
        problem: Why its runs fail now; empty if they do not.
        failures: How often in a row.
    """

    table: KnownTable
    progress: HostProgress | None
    tally: TableTally
    points: tuple[RefreshPoint, ...]
    handler: str
    next_run_ms: int | None
    is_refreshing: bool
    problem: str = ""
    failures: int = 0

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
    complete_ms = _complete_at(seen)
    lag = None if complete_ms is None else max(0, now_ms - complete_ms) / 1000
    engine, strategy, reason = _engine(seen)
    problem, failures = _failing(seen)
    return TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        asked_refresh_mode=table.asked_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine=engine,
        strategy=strategy,
        reason=reason,
        activity=_activity(seen, failures),
        promise=_promise(seen, lag),
        lag_seconds=lag,
        rows=seen.tally.rows if seen.tally.rows is not None else table.rows,
        last_refresh_at_ms=complete_ms,
        next_run_at_ms=seen.next_run_ms,
        failures=failures,
        problem=problem,
        refresh_handler=seen.handler,
        schedule=_schedule(table) if seen.is_full else None,
        reads=table.reads,
        recent=seen.points,
    )


def _complete_at(seen: Observed) -> int | None:
    """Return the instant whose state of the sources the rows are known to reflect."""
    found = _newest(seen.tally.last_started_at_ms, seen.table.last_refresh_at_ms)
    looked_at = seen.progress.looked_at_ms if seen.progress else 0
    return _newest(found, looked_at or None)


def _newest(*times_ms: int | None) -> int | None:
    return max((at for at in times_ms if at is not None), default=None)


def _promise(seen: Observed, lag: float | None) -> Promise:
    if not seen.is_active:
        return Promise.NONE
    if lag is None:
        return Promise.UNKNOWN
    if lag <= _allowed(seen):
        return Promise.KEPT
    is_watched = seen.is_full or seen.progress is not None
    return Promise.BEHIND if is_watched else Promise.UNKNOWN


def _allowed(seen: Observed) -> float:
    """What may be missing at most; of a scheduled table also while its run is under way.

    Rows of a run that begins on time are those of its scheduled time, and stay until the next run
    has ended.
    """
    freshness = seen.table.freshness.seconds
    durations = [p.duration_ms for p in seen.points if p.duration_ms is not None]
    return freshness + (max(durations, default=0) / 1000 + 1 if seen.is_full else 0)


def _engine(seen: Observed) -> tuple[str, str, str]:
    if seen.is_full:
        return _FULL
    engine = seen.progress.engine if seen.progress else None
    if engine is None:
        return _UNDECIDED
    reasons = "; ".join(str(reason) for reason in engine.reasons)
    return engine.engine, engine.strategy, reasons


def _failing(seen: Observed) -> tuple[str, int]:
    if seen.progress is not None and seen.progress.failures:
        return seen.progress.problem, seen.progress.failures
    if seen.failures:
        return seen.problem, seen.failures
    return seen.tally.problem, seen.tally.failures


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
