"""Which runs make up for the scheduled times that passed while nobody looked (semantics 9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.planning.periods import covered_since, finest_of, scheduled_partitions
from dbt.adapters.spark_mt.resolution.date_formatter import Period
from dbt.adapters.spark_mt.resolution.zones import parse_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.planning.periods import Partition
    from dbt.adapters.spark_mt.planning.schedules import Schedule

MOST_RUNS = 1000
"""How many missed periods of a partitioned table are made up for; older ones are left out."""

UTC = timezone.utc
_FIRST: dict[Period, dict[str, Any]] = {
    Period.YEAR: {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0},
    Period.MONTH: {"day": 1, "hour": 0, "minute": 0, "second": 0},
    Period.DAY: {"hour": 0, "minute": 0, "second": 0},
    Period.HOUR: {"minute": 0, "second": 0},
    Period.MINUTE: {"second": 0},
    Period.SECOND: {},
}


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
        self._zone = parse_zone(schedule.zone)
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
