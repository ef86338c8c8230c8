"""What an on-call engineer asks of a table in trouble: what is wrong, since when, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.service.http.pages_rows import SUSPENDED, State
from dbt.adapters.spark_mt.service.http.pages_text import clock_time, duration, plural
from dbt.adapters.spark_mt.service.views import Promise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.service.http.pages_rows import Row

_ENOUGH = 3
"""Refreshes from which on their usual duration says something."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Why a table stands among those that need attention.

    Args:
        facts: What is wrong and since when, one sentence each.
        causes: Full names of troubled tables that it reads: look there first.
        remedy: What to do, one sentence; empty when the text of the failure says it.
    """

    facts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    remedy: str = ""


def advise(row: Row, rows: Mapping[str, Row]) -> Advice:
    """Work out what to tell about a table.

    Args:
        row: The table.
        rows: Every table by its full name, to find the cause upstream.
    """
    if not row.needs_attention:
        return Advice()
    causes = tuple(name for name in row.view.reads if _is_cause(rows.get(name)))
    return Advice(_facts(row), causes, _remedy(row, causes))


def _is_cause(row: Row | None) -> bool:
    return row is not None and (row.needs_attention or State.SUSPENDED in row.states)


def _facts(row: Row) -> tuple[str, ...]:
    found = []
    since = row.broken_since_ms
    if since is not None:
        late = duration((row.now_ms - since) / 1000)
        at = clock_time(since, row.now_ms)
        found.append(f"Its promise has been broken for {late}, since {at}.")
    elif row.view.promise is Promise.BEHIND:
        found.append("It lies further behind its sources than its freshness allows.")
    if row.view.failures:
        found.append(_failed(row))
    if row.view.status == SUSPENDED:
        found.append("The manager has suspended it.")
    return tuple(found)


def _failed(row: Row) -> str:
    times = f"Its refresh failed {plural(row.view.failures, 'time')} in a row"
    since = row.failing_since_ms
    complete = all(point.status in {"FAILED", "RUNNING"} for point in row.view.recent)
    if since is None or complete:
        return f"{times}."
    return f"{times}, since {clock_time(since, row.now_ms)}."


def _remedy(row: Row, causes: tuple[str, ...]) -> str:
    if row.view.status == SUSPENDED:
        return "Remove the cause, then resume it."
    if row.view.failures:
        return "Remove the cause; the manager tries again by itself, Refresh now tries at once."
    if causes:
        return "It will catch up once what it reads has."
    return _slow(row)


def _slow(row: Row) -> str:
    usual = _usual_seconds(row)
    asked = row.view.freshness_seconds
    if usual is not None and usual * 2 > asked:
        return (
            f"A refresh usually takes {duration(usual)}, too long for a freshness of "
            f"{duration(asked)}: make the query cheaper, or allow for more."
        )
    running = row.running_since_ms
    if running is not None:
        lasted = duration((row.now_ms - running) / 1000)
        return f"A refresh has been running for {lasted}; it will show when that has ended."
    return "No refresh has failed: see on its page who runs its refresh, and what its sources say."


def _usual_seconds(row: Row) -> float | None:
    lasted = [
        point.duration_ms / 1000
        for point in row.view.recent
        if point.status == "FINISHED" and point.duration_ms is not None
    ]
    return median(lasted) if len(lasted) >= _ENOUGH else None
