"""Schedule of a table in mode FULL: its times, its partitions and its missed runs.

A schedule is an even grid on a clock. The clock is that of the stored zone if a cron expression
exists or whole days are counted, and UTC otherwise. Every instant here is aware and in UTC: Python
compares two times of one zone by the clock, which is wrong in the hour that is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.freshness import TimeUnit
from dbt.adapters.spark_mt.resolution import date_patterns, time_zones

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from dbt.adapters.spark_mt.definition.freshness import Freshness


UTC = timezone.utc
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
"""What a clock shows, of whichever zone, is a datetime of UTC."""
_INSTANT = timedelta(microseconds=1)
_UNITS = tuple(sorted(TimeUnit, key=lambda unit: -unit.value))
_CRON = {
    TimeUnit.MINUTE: "*/{count} * * * *",
    TimeUnit.HOUR: "0 */{count} * * *",
    TimeUnit.DAY: "0 0 * * *",
    TimeUnit.WEEK: "0 0 * * 1",
}
_NEXT = {TimeUnit.SECOND: 60, TimeUnit.MINUTE: 60, TimeUnit.HOUR: 24}
"""How many of a unit make the next one: a cron expression needs a count that divides it."""


_STEPS = {
    date_patterns.Period.SECOND: timedelta(seconds=1),
    date_patterns.Period.MINUTE: timedelta(seconds=30),
    date_patterns.Period.HOUR: timedelta(minutes=30),
    date_patterns.Period.DAY: timedelta(hours=12),
    date_patterns.Period.MONTH: timedelta(days=14),
    date_patterns.Period.YEAR: timedelta(days=180),
}
"""Shorter than the shortest period of the kind, because clocks are put forward and back."""
Partition = tuple[tuple[str, str | None], ...]
MOST_RUNS = 1000
"""How many missed periods of a partitioned table are made up for; older ones are left out."""
_FIRST: dict[date_patterns.Period, dict[str, Any]] = {
    date_patterns.Period.YEAR: {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0},
    date_patterns.Period.MONTH: {"day": 1, "hour": 0, "minute": 0, "second": 0},
    date_patterns.Period.DAY: {"hour": 0, "minute": 0, "second": 0},
    date_patterns.Period.HOUR: {"minute": 0, "second": 0},
    date_patterns.Period.MINUTE: {"second": 0},
    date_patterns.Period.SECOND: {},
}


@dataclass(frozen=True, slots=True)
class Schedule:
    """The scheduled times of a freshness in a time zone.

    Freshnesses of equal length have the same schedule: `60 SECOND` is every minute.

    Args:
        freshness: How far the table may lag.
        zone: The stored time zone, as `spark.sql.session.timeZone` takes it.
    """

    freshness: Freshness
    zone: str

    @property
    def seconds(self) -> int:
        """The time between two scheduled times."""
        return self.freshness.seconds

    @property
    def text(self) -> str:
        """For people: `every hour`, `every 40 minutes`."""
        count, unit = _largest_unit(self.seconds)
        name = unit.name.lower()
        return f"every {name}" if count == 1 else f"every {count} {name}s"

    @property
    def cron(self) -> str | None:
        """As a cron expression of five fields; None where none exists."""
        count, unit = _largest_unit(self.seconds)
        if unit not in _CRON or (count != 1 and _NEXT.get(unit, 1) % count):
            return None
        return _CRON[unit].format(count=count).replace("*/1 ", "* ")

    @property
    def every_seconds(self) -> int | None:
        """The fixed interval, where there is no cron expression of five fields."""
        return None if self.cron else self.seconds

    def next_after(self, instant: datetime) -> datetime:
        """Return the first scheduled time after `instant`.

        A time that the zone's clock shows twice is scheduled twice, and one that it skips is made
        up for when the clock is put forward. A day begins once: when its date is first shown.
        """
        grid = _grid(self.seconds, self.zone)
        return grid.next_after(instant.astimezone(UTC))

    def newest(self, instant: datetime) -> datetime:
        """Return the newest scheduled time that is not after `instant`."""
        instant = instant.astimezone(UTC)
        back = timedelta(seconds=self.seconds)
        while (found := self.next_after(instant - back)) > instant:
            back *= 2
        while (following := self.next_after(found)) <= instant:
            found = following
        return found


def _largest_unit(seconds: int) -> tuple[int, TimeUnit]:
    unit = next(unit for unit in _UNITS if seconds % unit.value == 0)
    return seconds // unit.value, unit


@dataclass(frozen=True, slots=True)
class _Grid:
    """Evenly spaced readings of a zone's clock.

    Args:
        anchor: One of them.
        step: The time between two of them.
    """

    zone: tzinfo
    anchor: datetime
    step: timedelta

    def next_after(self, instant: datetime) -> datetime:
        if self.step >= timedelta(days=1):
            return self._next_day(instant)
        offset = self._offset(instant)
        found = self._following(instant + offset) - offset
        change = self._change(instant, found)
        if change is None:
            return found
        after = self._offset(change)
        if found - change < after - offset:
            return change
        return self._following(change - _INSTANT + after) - after

    def _next_day(self, instant: datetime) -> datetime:
        reading = self._following(instant + self._offset(instant))
        while (found := self._first_shown(reading)) <= instant:
            reading += self.step
        return found

    def _first_shown(self, reading: datetime) -> datetime:
        """Return when the clock first shows a reading, or is put forward past it."""
        found = reading.replace(tzinfo=self.zone).astimezone(UTC)
        if found + self._offset(found) == reading:
            return found
        return self._change(found - timedelta(days=1), found) or found

    def _following(self, reading: datetime) -> datetime:
        return self.anchor + ((reading - self.anchor) // self.step + 1) * self.step

    def _offset(self, instant: datetime) -> timedelta:
        return instant.astimezone(self.zone).utcoffset() or timedelta()

    def _change(self, start: datetime, end: datetime) -> datetime | None:
        """Return the second in (start, end] at which the clock is changed, if it is."""
        before = self._offset(start)
        if self._offset(end) == before:
            return None
        start = start.replace(microsecond=0)
        low, high = 0, -((start - end) // timedelta(seconds=1))
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(start + timedelta(seconds=middle)) == before:
                low = middle
            else:
                high = middle
        return start + timedelta(seconds=high)


@lru_cache(maxsize=4096)
def _grid(seconds: int, zone: str) -> _Grid:
    step = timedelta(seconds=seconds)
    count, unit = _largest_unit(seconds)
    if unit in (TimeUnit.DAY, TimeUnit.WEEK):
        return _Grid(time_zones.parse_zone(zone), _MONDAY, step)
    if unit is not TimeUnit.SECOND and _NEXT[unit] % count == 0:
        return _Grid(time_zones.parse_zone(zone), _EPOCH, step)
    return _Grid(UTC, _EPOCH, step)


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
            (column, quote_text(date_patterns.format_partition(pattern, moment)))
            for column, pattern in formatters.items()
        )
        found[partition] = None
    return tuple(found)


def finest_of(formatters: Mapping[str, str]) -> date_patterns.Period:
    """Return the shortest period that the patterns of the columns distinguish."""
    return min(
        (date_patterns.finest_period(p) for p in formatters.values()),
        key=lambda period: period.value,
    )


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


@dataclass(frozen=True, slots=True)
class MissedRuns:
    """What has to be run, the oldest first.

    Args:
        scheduled: The scheduled times to run for.
        left_out: The newest scheduled time that nothing makes up for, because there were too many;
            None if there is none.
    """

    scheduled: tuple[datetime, ...] = ()
    left_out: datetime | None = None


def missed_runs(
    schedule: Schedule,
    formatters: Mapping[str, str],
    last: datetime,
    now: datetime,
    most: int = MOST_RUNS,
) -> MissedRuns:
    """Return the runs that make up for the scheduled times in (last, now].

    A table without date formatters is computed whole, so that one run at the newest of the times
    is enough. Of a table with them every partition that the times stand for is written, once: times
    that would write the same partitions are one run.

    Args:
        schedule: The table's schedule.
        formatters: The datetime pattern of each partition column that has one.
        last: The scheduled time of the newest run; or from when on the table is scheduled.
        now: The clock.
        most: How many runs at most, and how many periods at most are looked at.
    """
    newest = schedule.newest(now)
    if newest <= last:
        return MissedRuns()
    if not formatters:
        return MissedRuns((newest,))
    cover = _Cover(schedule, formatters, last.astimezone(UTC))
    return cover.made_up(newest, most)


class _Cover:
    """Finds few runs that write every missed partition, from the newest to the oldest."""

    def __init__(self, schedule: Schedule, formatters: Mapping[str, str], last: datetime) -> None:
        self._schedule = schedule
        self._formatters = formatters
        self._last = last
        self._zone = time_zones.parse_zone(schedule.zone)
        self._period = finest_of(formatters)

    def made_up(self, newest: datetime, most: int) -> MissedRuns:
        written: set[Partition] = set()
        chosen: list[datetime] = []
        run: datetime | None = newest
        for _ in range(most):
            if run is None:
                break
            partitions = set(self._partitions(run))
            if not partitions <= written:
                written |= partitions
                chosen.append(run)
            run = self._older(run)
        return MissedRuns(tuple(reversed(chosen)), left_out=run)

    def _older(self, run: datetime) -> datetime | None:
        """Return the newest run that writes the period before those that `run` writes."""
        begin = self._begin_of_period(self._covered_since(run))
        at_begin = self._schedule.newest(begin)
        reaches = at_begin > self._begin_of_period(begin - timedelta(microseconds=1))
        if at_begin > self._last and reaches:
            return at_begin
        across = self._schedule.next_after(max(at_begin, self._last))
        if across < run and self._covered_since(across) < begin:
            return across
        return at_begin if at_begin > self._last else None

    def _covered_since(self, run: datetime) -> datetime:
        return covered_since(run, self._schedule.freshness, self._zone).astimezone(UTC)

    def _begin_of_period(self, instant: datetime) -> datetime:
        local = instant.astimezone(self._zone)
        return local.replace(microsecond=0, **_FIRST[self._period]).astimezone(UTC)

    def _partitions(self, run: datetime) -> tuple[Partition, ...]:
        freshness = self._schedule.freshness
        return scheduled_partitions(self._formatters, run, freshness, self._zone)
