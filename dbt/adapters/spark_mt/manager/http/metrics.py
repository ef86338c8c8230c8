"""Prometheus metrics, read from the manager at each scrape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.manager.views import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from dbt.adapters.spark_mt.manager.views import (
        ManagerService,
        ManagerView,
        RefreshTotals,
        TableView,
    )


PREFIX = "spark_mt_"
_TABLE = ("table",)
_Values = dict[str, float | None]


class ManagerCollector(Collector):
    """Reads tables, counters and the manager itself from memory, at each scrape.

    Unknown values are left out: a table that was never measured has no lag.
    """

    def __init__(self, service: ManagerService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Return every family."""
        yield from _of_tables(self._service.tables())
        yield from _of_refreshes(self._service.totals())
        yield from _of_manager(self._service.about())
        health = self._service.health()
        yield _one("alive", "Whether the manager's loop ticks.", health.is_alive)
        yield _one("ready", "Whether it has read the registry.", health.is_ready)


def registry(service: ManagerService) -> CollectorRegistry:
    """Return a registry of its own, with figures of the manager's process and of its tables."""
    found = CollectorRegistry()
    found.register(ManagerCollector(service))
    ProcessCollector(registry=found)
    return found


def exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return the metrics in the format that a scraper asks for, and its media type."""
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


def _of_tables(views: tuple[TableView, ...]) -> Iterator[Metric]:
    info = InfoMetricFamily(PREFIX + "table", "What a table is and does.", labels=_TABLE)
    for view in views:
        labels = {
            "refresh_mode": view.refresh_mode,
            "engine": view.engine,
            "strategy": view.strategy,
            "status": view.status,
            "activity": view.activity,
        }
        info.add_metric([view.name], labels)
    yield info
    for name, about, value in _GAUGES:
        yield _gauge("table_" + name, about, {view.name: value(view) for view in views})


def _of_refreshes(totals: tuple[RefreshTotals, ...]) -> Iterator[Metric]:
    refreshes = CounterMetricFamily(
        PREFIX + "refreshes", "Refreshes that ended, by result.", labels=("table", "result")
    )
    durations = SummaryMetricFamily(
        PREFIX + "refresh_duration_seconds", "How long refreshes took.", labels=_TABLE
    )
    rows = CounterMetricFamily(PREFIX + "rows_written", "Rows that they wrote.", labels=_TABLE)
    verifications = CounterMetricFamily(
        PREFIX + "verifications",
        "Verifications of refreshes, by result.",
        labels=("table", "result"),
    )
    for each in totals:
        for status, count in each.by_status:
            refreshes.add_metric([each.table, status.lower()], count)
        count = sum(count for _, count in each.by_status)
        durations.add_metric([each.table], count, each.duration_seconds)
        rows.add_metric([each.table], each.rows)
        for result, count in each.by_verification:
            verifications.add_metric([each.table, result], count)
    yield from (refreshes, durations, rows, verifications)
    yield _gauge(
        "last_success_timestamp_seconds",
        "The end of the newest refresh that did not fail.",
        {each.table: _seconds(each.last_success_at_ms) for each in totals},
    )


def _of_manager(about: ManagerView) -> Iterator[Metric]:
    info = InfoMetricFamily(PREFIX + "manager", "Versions and catalog.")
    info.add_metric(
        (),
        {
            "version": about.version,
            "spark_version": about.spark_version,
            "master": about.master,
            "catalog": about.catalog,
        },
    )
    yield info
    role = GaugeMetricFamily(PREFIX + "role", "1 for the manager's role.", labels=("role",))
    for each in Role:
        role.add_metric([each.value.lower()], each is about.role)
    yield role
    yield _one("term", "The lease's number; grows with every takeover.", about.term)
    yield _one("queries_running", "Streaming queries that run.", about.queries_running)
    yield _one("refreshes_running", "Refreshes that run.", about.refreshes_running)
    yield _one("tick_duration_seconds", "How long the newest tick took.", about.tick_seconds)
    ticked = about.last_tick_at_ms or None
    yield _one("last_tick_timestamp_seconds", "When the newest tick ended.", _seconds(ticked))
    yield _one("start_time_seconds", "When the manager started.", about.started_at_ms / 1000)


def _gauge(name: str, about: str, values: _Values) -> GaugeMetricFamily:
    family = GaugeMetricFamily(PREFIX + name, about, labels=_TABLE)
    for table, value in values.items():
        if value is not None:
            family.add_metric([table], value)
    return family


def _one(name: str, about: str, value: float | None) -> GaugeMetricFamily:
    family = GaugeMetricFamily(PREFIX + name, about)
    if value is not None:
        family.add_metric((), float(value))
    return family


def _met(view: TableView) -> float | None:
    known = {FreshnessStatus.MET: 1.0, FreshnessStatus.LATE: 0.0}
    return known.get(view.freshness_status)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


_GAUGES: tuple[tuple[str, str, Callable[[TableView], float | None]], ...] = (
    (
        "lag_seconds",
        "Age of the oldest base table change that the rows lack, through all levels.",
        lambda v: v.lag_seconds,
    ),
    (
        "own_lag_seconds",
        "Age of the oldest change of a direct source that the rows lack.",
        lambda v: v.own_lag_seconds,
    ),
    ("freshness_seconds", "The freshness of the definition.", lambda v: v.freshness_seconds),
    (
        "allowed_lag_seconds",
        "Largest lag that meets it; in mode FULL with the last refresh's duration.",
        lambda v: v.allowed_lag_seconds,
    ),
    (
        "lag_measured_timestamp_seconds",
        "When the lag was measured.",
        lambda v: _seconds(v.lag_measured_at_ms),
    ),
    (
        "estimated_refresh_seconds",
        "How long the last refresh by the strategy in use took.",
        lambda v: v.estimated_refresh_seconds,
    ),
    ("freshness_met", "1 if the lag is allowed, 0 if it is late; none if unknown.", _met),
    ("consecutive_failures", "How often in a row it failed.", lambda v: v.failures),
    (
        "next_run_timestamp_seconds",
        "When a FULL table is scheduled next.",
        lambda v: _seconds(v.next_run_at_ms),
    ),
)
"""Of each table: name, meaning, value."""
