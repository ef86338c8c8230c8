"""What the registry and the log of refreshes tell of a table, as a manager would show it. Pure."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.service.views import Promise, RefreshPoint, TableView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.health import Lag
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable

RECENT = 30
"""How many refreshes a view has at most."""
_GOOD = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})


def view_of(table: KnownTable, jobs: Sequence[Job], now_ms: int) -> TableView:
    """Return what is known of a table without looking at it.

    A table whose newest refresh is younger than its freshness keeps its promise, whatever its
    sources did since. Of any other nobody knows before somebody looks.

    Args:
        table: Its row in the registry.
        jobs: Its refreshes, the newest first.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    ended = [job for job in jobs if job.ended_at_ms is not None]
    failed = list(takewhile(lambda job: job.status is JobStatus.FAILED, ended))
    good = [job.started_at_ms for job in ended if job.status in _GOOD]
    refreshed = max([*good, *filter(None, [table.last_refresh_at_ms])], default=None)
    lag = None if refreshed is None else max(0, now_ms - refreshed) / 1000
    is_suspended = table.status is RefreshStatus.SUSPENDED
    return TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        asked_refresh_mode=table.asked_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine="",
        strategy="",
        reason="",
        activity=_activity(jobs, is_suspended=is_suspended, is_failing=bool(failed)),
        promise=_promise(lag, table.freshness.seconds, is_suspended=is_suspended),
        lag_seconds=lag,
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
    """Return a view with the lag that somebody has measured."""
    if lag.seconds is None:
        return view
    kept = lag.seconds <= lag.freshness_seconds
    promise = Promise.KEPT if kept else Promise.BEHIND
    return replace(view, lag_seconds=float(lag.seconds), promise=promise)


def _promise(lag: float | None, freshness: int, *, is_suspended: bool) -> Promise:
    if is_suspended:
        return Promise.NONE
    return Promise.KEPT if lag is not None and lag <= freshness else Promise.UNKNOWN


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
