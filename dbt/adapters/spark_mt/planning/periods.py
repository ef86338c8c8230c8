"""Which partitions a scheduled run writes (semantics 9)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import TimeUnit
from dbt.adapters.spark_mt.definition.identifier import quote_text
from dbt.adapters.spark_mt.resolution.date_formatter import Period, finest_period, format_partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from dbt.adapters.spark_mt.definition.freshness import Freshness

_STEPS = {
    Period.SECOND: timedelta(seconds=1),
    Period.MINUTE: timedelta(seconds=30),
    Period.HOUR: timedelta(minutes=30),
    Period.DAY: timedelta(hours=12),
    Period.MONTH: timedelta(days=14),
    Period.YEAR: timedelta(days=180),
}
"""Shorter than the shortest period of the kind, because clocks are put forward and back."""

Partition = tuple[tuple[str, str | None], ...]


def scheduled_partitions(
    formatters: Mapping[str, str],
    scheduled_at: datetime,
    freshness: Freshness,
    zone: tzinfo,
) -> tuple[Partition, ...]:
    """Return the partitions of every period that overlaps [scheduled_at - freshness, scheduled_at).

    Args:
        formatters: The datetime pattern of each partition column that has one.
        scheduled_at: The scheduled time, aware.
        freshness: How long before the scheduled time the run's periods begin.
        zone: The zone in which periods begin and end: the stored one.

    Returns:
        Each partition as (column, SQL literal) pairs, oldest first; with several formatters the
        tuples of the finest periods.
    """
    found: dict[Partition, None] = {}
    start = covered_since(scheduled_at, freshness, zone)
    finest = finest_of(formatters)
    for moment in _moments(start, scheduled_at, _STEPS[finest], zone):
        partition = tuple(
            (column, quote_text(format_partition(pattern, moment)))
            for column, pattern in formatters.items()
        )
        found[partition] = None
    return tuple(found)


def finest_of(formatters: Mapping[str, str]) -> Period:
    """Return the shortest period that the patterns of the columns tell apart."""
    return min((finest_period(p) for p in formatters.values()), key=lambda period: period.value)


def covered_since(scheduled_at: datetime, freshness: Freshness, zone: tzinfo) -> datetime:
    """Return where the time begins that a run stands for, aware.

    It goes back by the freshness: whole days on the zone's clock, anything else in elapsed time.

    A day with 23 hours is one day for a schedule that runs at midnight.
    """
    days, rest = divmod(freshness.seconds, TimeUnit.DAY.value)
    if rest == 0:
        return scheduled_at.astimezone(zone) - timedelta(days=days)
    return scheduled_at.astimezone(timezone.utc) - timedelta(seconds=freshness.seconds)


def _moments(start: datetime, end: datetime, step: timedelta, zone: tzinfo) -> Iterator[datetime]:
    """Yield instants, in `zone`, of which at least one lies in each period of [start, end).

    They advance in UTC, because local time repeats or skips an hour twice a year.
    """
    moment = start.astimezone(timezone.utc)
    last = end.astimezone(timezone.utc) - timedelta(microseconds=1)
    while moment < last:
        yield moment.astimezone(zone)
        moment += step
    yield last.astimezone(zone)
