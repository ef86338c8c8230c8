"""Instants from which a table counts the changes of its sources."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta, tzinfo

from dbt.adapters.spark_mt.definition import conditions, modes
from dbt.adapters.spark_mt.resolution import time_zones

START_ERRORS = (
    conditions.START_IN_THE_FUTURE,
    conditions.START_BEFORE_TIME,
    conditions.INVALID_TIMESTAMP,
    conditions.INVALID_TIME_ZONE,
)
"""Errors for a start mode without an instant."""


def subtract(now: datetime, interval: modes.StartInterval, zone: tzinfo) -> datetime:
    """Return the instant `interval` before `now`, as Spark subtracts intervals.

    Days and longer units are counted on the calendar of `zone`, shorter ones in elapsed time. A day
    may have 23 hours, and a month ends on its last day.

    Raises:
        OverflowError: The result is before the first year.
    """
    unit, count = interval.length
    if unit == "seconds":
        return now - timedelta(seconds=count)
    local = now.astimezone(zone)
    if unit == "days":
        return _at_offset_of(local, local - timedelta(days=count))
    year, month = divmod(local.year * 12 + local.month - 1 - count, 12)
    if year < 1:
        raise OverflowError
    day = min(local.day, calendar.monthrange(year, month + 1)[1])
    return _at_offset_of(local, local.replace(year=year, month=month + 1, day=day))


def _at_offset_of(local: datetime, result: datetime) -> datetime:
    """Return, of an hour that a clock shows twice, the one at the offset of `local`, as in Java."""
    first, second = result.replace(fold=0), result.replace(fold=1)
    offsets = first.utcoffset(), second.utcoffset()
    shown_twice = offsets[0] is not None and offsets[1] is not None and offsets[0] > offsets[1]
    return second if shown_twice and offsets[1] == local.utcoffset() else first


def resolve_start_mode(
    mode: modes.StartMode,
    stored: modes.ResolvedStartMode | None,
    now: datetime,
    zone: tzinfo,
    table: str,
) -> modes.ResolvedStartMode:
    """Resolve `mode` to its instant.

    Args:
        mode: What applies, after defaults.
        stored: The start mode so far; the same mode keeps the instant that it meant.
        now: The clock, aware.
        zone: The session's, in which a literal without a zone is read.
        table: The name, for errors.

    Raises:
        MaterializedTableError: The instant is after `now`.
        MaterializedTableError: The interval is longer than time.
        InvalidValueError: The literal is no timestamp.
    """
    if stored is not None and stored.mode == mode:
        return stored
    base = mode.type.fallback
    if base is modes.StartModeType.FROM_BEGINNING:
        return modes.ResolvedStartMode(mode)
    instant = now
    try:
        if mode.timestamp is not None:
            instant = time_zones.parse_timestamp(mode.timestamp, zone)
        elif mode.interval is not None:
            instant = subtract(now, mode.interval, zone)
    except OverflowError:
        raise conditions.START_BEFORE_TIME(startMode=mode.sql, table=table) from None
    if instant > now:
        raise conditions.START_IN_THE_FUTURE(
            startMode=mode.sql, table=table, now=f"{now.astimezone(zone):%Y-%m-%d %H:%M:%S}"
        )
    return modes.ResolvedStartMode(mode, time_zones.epoch_milliseconds(instant))
