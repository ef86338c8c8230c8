"""Start modes in settings, and their instants."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta, tzinfo

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import (
    IntervalUnit,
    InvalidStartModeError,
    ResolvedStartMode,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.resolution.durations import (
    InvalidTimestampError,
    InvalidTimeZoneError,
    epoch_milliseconds,
    parse_timestamp,
)
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements.lexer import Cursor
from dbt.adapters.spark_mt.statements.values import read_start_mode


class FutureStartError(MaterializedTableError):
    """A start is later than the execution of the statement."""

    condition = "MATERIALIZED_TABLE_START_IN_THE_FUTURE"
    text = "{startMode} of materialized table {table} lies in the future; it is {now} now."
    remedy = "Choose an instant in the past, or FROM_NOW; nothing was changed."


class StartBeforeTimeError(MaterializedTableError):
    """An interval reaches back beyond the first year that a timestamp can hold."""

    condition = "MATERIALIZED_TABLE_START_BEFORE_TIME"
    text = "{startMode} of materialized table {table} reaches back before the year 1."
    remedy = "Choose a shorter interval, or FROM_BEGINNING; nothing was changed."


START_ERRORS = (FutureStartError, StartBeforeTimeError, InvalidTimestampError, InvalidTimeZoneError)
"""Errors for a start mode without an instant."""


def parse_start_mode(text: str) -> StartMode:
    """Read one of the six forms as the clause START_MODE takes it.

    Raises:
        InvalidStartModeError: The text is none of them.
    """
    try:
        cursor = Cursor(text)
        mode = read_start_mode(cursor)
        complete = cursor.at_end()
    except StatementSyntaxError:
        complete = False
    if not complete:
        raise InvalidStartModeError(startMode=text.strip(), problem="is none of the six forms")
    return mode


_CALENDAR_DAYS = {IntervalUnit.DAY: 1, IntervalUnit.WEEK: 7}
_CALENDAR_MONTHS = {IntervalUnit.MONTH: 1, IntervalUnit.YEAR: 12}
_SECONDS = {IntervalUnit.SECOND: 1, IntervalUnit.MINUTE: 60, IntervalUnit.HOUR: 3600}


def subtract(now: datetime, interval: StartInterval, zone: tzinfo) -> datetime:
    """Return the instant `interval` before `now`, as Spark subtracts intervals.

    Days and longer units are counted on the calendar of `zone`, shorter ones in elapsed time. A day
    may have 23 hours, and a month ends on its last day.

    Raises:
        OverflowError: The result is before the first year.
    """
    if interval.unit in _SECONDS:
        return now - timedelta(seconds=interval.count * _SECONDS[interval.unit])
    local = now.astimezone(zone)
    if interval.unit in _CALENDAR_DAYS:
        days = timedelta(days=interval.count * _CALENDAR_DAYS[interval.unit])
        return _at_offset_of(local, local - days)
    months = local.year * 12 + local.month - 1 - interval.count * _CALENDAR_MONTHS[interval.unit]
    year, month = divmod(months, 12)
    if year < 1:
        raise OverflowError
    last_day = calendar.monthrange(year, month + 1)[1]
    day = min(local.day, last_day)
    return _at_offset_of(local, local.replace(year=year, month=month + 1, day=day))


def _at_offset_of(local: datetime, result: datetime) -> datetime:
    """Return, of an hour that a clock shows twice, the one at the offset of `local`, as in Java."""
    first, second = result.replace(fold=0), result.replace(fold=1)
    offsets = first.utcoffset(), second.utcoffset()
    shown_twice = offsets[0] is not None and offsets[1] is not None and offsets[0] > offsets[1]
    return second if shown_twice and offsets[1] == local.utcoffset() else first


def resolve_start_mode(
    mode: StartMode, stored: ResolvedStartMode | None, now: datetime, zone: tzinfo, table: str
) -> ResolvedStartMode:
    """Resolve `mode` to its instant.

    Args:
        mode: What applies, after defaults.
        stored: The table's start mode so far; the same mode keeps the instant that it meant.
        now: The clock, aware.
        zone: The session's time zone, in which a literal without a zone is read.
        table: The table's name, for errors.

    Raises:
        FutureStartError: The instant is after `now`.
        StartBeforeTimeError: The interval is longer than time.
        InvalidTimestampError: The literal is no timestamp.
    """
    if stored is not None and stored.mode == mode:
        return stored
    base = mode.type.fallback
    if base is StartModeType.FROM_BEGINNING:
        return ResolvedStartMode(mode)
    try:
        instant = _instant(mode, now, zone)
    except OverflowError:
        raise StartBeforeTimeError(startMode=mode.sql, table=table) from None
    if instant > now:
        raise FutureStartError(
            startMode=mode.sql, table=table, now=f"{now.astimezone(zone):%Y-%m-%d %H:%M:%S}"
        )
    return ResolvedStartMode(mode, epoch_milliseconds(instant))


def _instant(mode: StartMode, now: datetime, zone: tzinfo) -> datetime:
    if mode.timestamp is not None:
        return parse_timestamp(mode.timestamp, zone)
    return now if mode.interval is None else subtract(now, mode.interval, zone)
