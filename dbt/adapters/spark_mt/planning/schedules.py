"""When a table in mode FULL is refreshed (semantics 4): its scheduled times, and those missed.

A schedule is an even grid on a clock: that of the stored zone where a cron expression exists or
whole days are counted, and that of UTC otherwise. Every instant here is aware, and in UTC: two
times of one zone compare by what its clock shows, which is wrong where that is put back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import TimeUnit
from dbt.adapters.spark_mt.resolution.zones import parse_zone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from dbt.adapters.spark_mt.definition.freshness import Freshness

UTC = timezone.utc
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
"""What a clock shows, of whichever zone, stands in a datetime of UTC."""
_INSTANT = timedelta(microseconds=1)
_UNITS = tuple(sorted(TimeUnit, key=lambda unit: -unit.value))
_CRON = {
    TimeUnit.MINUTE: "*/{count} * * * *",
    TimeUnit.HOUR: "0 */{count} * * *",
    TimeUnit.DAY: "0 0 * * *",
    TimeUnit.WEEK: "0 0 * * 1",
}
_QUARTZ = {
    TimeUnit.SECOND: "0/{count} * * * * ? *",
    TimeUnit.MINUTE: "0 0/{count} * * * ? *",
    TimeUnit.HOUR: "0 0 0/{count} * * ? *",
    TimeUnit.DAY: "0 0 0 * * ? *",
    TimeUnit.WEEK: "0 0 0 ? * MON *",
}
"""The first four as Flink writes them."""
_NEXT = {TimeUnit.SECOND: 60, TimeUnit.MINUTE: 60, TimeUnit.HOUR: 24}
"""How many of a unit make the next one: a cron expression needs a count that divides it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The scheduled times of a freshness in a time zone.

    Freshnesses of equal length have the same schedule: `60 SECOND` is every minute.

    Args:
        freshness: How far the table may lag behind.
        zone: The stored time zone, as `spark.sql.session.timeZone` takes it.
    """

    freshness: Freshness
    zone: str

    @property
    def text(self) -> str:
        """For people: `every hour`, `every 40 minutes`."""
        count, unit = _largest_unit(self.freshness.seconds)
        name = unit.name.lower()
        return f"every {name}" if count == 1 else f"every {count} {name}s"

    @property
    def cron(self) -> str | None:
        """As a cron expression of five fields; None where none exists."""
        return self._expression(_CRON)

    @property
    def quartz(self) -> str | None:
        """As a Quartz expression, which Flink's schedulers take; None where none exists."""
        return self._expression(_QUARTZ)

    @property
    def every_seconds(self) -> int | None:
        """The fixed interval, where there is no cron expression of five fields."""
        return None if self.cron else self.freshness.seconds

    def next_after(self, instant: datetime) -> datetime:
        """Return the first scheduled time after `instant`.

        A time that the zone's clock shows twice is scheduled twice, and one that it skips is made
        up for when the clock is put forward. A day begins once: when its date is first shown.
        """
        grid = _grid(self.freshness.seconds, self.zone)
        return grid.next_after(instant.astimezone(UTC))

    def newest(self, instant: datetime) -> datetime:
        """Return the newest scheduled time that is not after `instant`."""
        instant = instant.astimezone(UTC)
        back = timedelta(seconds=self.freshness.seconds)
        while (found := self.next_after(instant - back)) > instant:
            back *= 2
        while (following := self.next_after(found)) <= instant:
            found = following
        return found

    def due(self, last: datetime, now: datetime) -> Iterator[datetime]:
        """Yield the scheduled times in (last, now], the oldest first."""
        scheduled = self.next_after(last)
        while scheduled <= now:
            yield scheduled
            scheduled = self.next_after(scheduled)

    def _expression(self, templates: dict[TimeUnit, str]) -> str | None:
        count, unit = _largest_unit(self.freshness.seconds)
        if unit not in templates or (count != 1 and _NEXT.get(unit, 1) % count):
            return None
        expression = templates[unit].format(count=count)
        return expression.replace("*/1 ", "* ")


def _largest_unit(seconds: int) -> tuple[int, TimeUnit]:
    unit = next(unit for unit in _UNITS if seconds % unit.value == 0)
    return seconds // unit.value, unit


@dataclass(frozen=True, slots=True)
class _Grid:
    """Evenly spaced readings of a zone's clock.

    Args:
        anchor: One of them.
        step: How far they are apart.
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
        return _Grid(parse_zone(zone), _MONDAY, step)
    if unit is not TimeUnit.SECOND and _NEXT[unit] % count == 0:
        return _Grid(parse_zone(zone), _EPOCH, step)
    return _Grid(UTC, _EPOCH, step)
