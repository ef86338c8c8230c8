"""Durations, time zones, instants, starts and datetime patterns, as Spark and Flink have them."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from enum import Enum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.spark_mt.definition import modes
from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError


class InvalidDurationError(InvalidValueError):
    """A text is no duration."""

    condition = "MATERIALIZED_TABLE_INVALID_DURATION"
    text = "'{value}' is not a duration."
    remedy = (
        "Write it as `30 min`, `1 hour`, `30m`, `PT30M` or `INTERVAL '30' MINUTE`; the units are "
        "milliseconds, seconds, minutes, hours, days and weeks."
    )


class DurationTooLongError(InvalidDurationError):
    """A duration is longer than its place allows."""

    condition = "MATERIALIZED_TABLE_DURATION_TOO_LONG"
    text = "'{value}' is longer than the longest duration, {longest}."
    remedy = "Write a shorter duration; 2147483647 seconds are 68 years."


LONGEST = timedelta(seconds=2**31 - 1)
"""The longest duration that something waits or reaches back for: clocks and timers take it."""
_LONGEST_KNOWN = timedelta(days=999_999_999)
_UNITS = {
    timedelta(milliseconds=1): ("ms", "milli", "millis", "millisecond", "milliseconds"),
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(weeks=1): ("w", "week", "weeks"),
}
_LENGTHS = {name: length for length, names in _UNITS.items() for name in names}
_PART = re.compile(r"(\d+)\s*([a-z]+)\s*")
_PARTS = re.compile(r"(?:\d+\s*[a-z]+\s*)+")
_INTERVAL = re.compile(r"interval\s+(?:'([^']*)'|(\d+))\s*(.*)")
_ISO = re.compile(
    r"p(?:(\d+)w)?(?:(\d+)d)?(?:t(?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d{1,6})?)s)?)?"
)
_ISO_UNITS = ("weeks", "days", "hours", "minutes", "seconds")


def parse_duration(text: str, *, longest: timedelta | None = LONGEST) -> timedelta:
    """Read `30 min`, `1 hour 30 min`, `30m`, `PT30M` or `INTERVAL '30' MINUTE`.

    A number without a unit is refused: Spark and Flink read it in different units.

    Args:
        text: The duration.
        longest: How long it may be; None for as long as a timedelta can be.

    Raises:
        InvalidDurationError: The text is none of these.
        DurationTooLongError: It is longer than `longest`.
    """
    plain = " ".join(text.lower().split())
    try:
        found = _iso(plain)
        if found is None:
            match = _INTERVAL.fullmatch(plain)
            written = f"{match[1] or match[2] or ''} {match[3]}".strip() if match else plain
            found = _sum_of_parts(written)
    except (OverflowError, ValueError):  # Python refuses to read more than 4,300 digits
        found = timedelta.max
    if found is None:
        raise InvalidDurationError(value=text.strip())
    if found > (longest or _LONGEST_KNOWN):
        most = describe_duration(longest or _LONGEST_KNOWN)
        raise DurationTooLongError(value=text.strip(), longest=most)
    return found


def _sum_of_parts(plain: str) -> timedelta | None:
    if not _PARTS.fullmatch(plain):
        return None
    parts = _PART.findall(plain)
    if any(unit not in _LENGTHS for _, unit in parts):
        return None
    return sum((int(count) * _LENGTHS[unit] for count, unit in parts), timedelta())


def _iso(plain: str) -> timedelta | None:
    match = _ISO.fullmatch(plain)
    if match is None or not any(match.groups()):
        return None
    given = {unit: float(n) for unit, n in zip(_ISO_UNITS, match.groups(), strict=True) if n}
    return timedelta(**given)


def describe_duration(duration: timedelta) -> str:
    """Return a text for people: `30 minutes`, `1500 milliseconds`."""
    micros = duration // timedelta(microseconds=1)
    for length, names in reversed(_UNITS.items()):
        count, rest = divmod(micros, length // timedelta(microseconds=1))
        if rest == 0 and count:
            return f"{count} {names[-2] if count == 1 else names[-1]}"
    return f"{duration.total_seconds():g} seconds"


SESSION_TIME_ZONE = "spark.sql.session.timeZone"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_UTC = frozenset({"Z", "UTC", "GMT", "UT"})
# Java's ZoneId.SHORT_IDS, which Spark takes as well.
_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_TIMESTAMP = re.compile(
    r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:(?:\s+|T)(\d{1,2})"
    r"(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?\s*([A-Za-z+-][\w/+:-]*)?)?)?)?",
    re.ASCII,
)


class InvalidTimeZoneError(InvalidValueError):
    """No time zone has this name."""

    condition = "MATERIALIZED_TABLE_INVALID_TIME_ZONE"
    text = "'{zone}' is not a time zone."
    remedy = "Use a region such as Europe/Berlin, an offset such as +02:00, or UTC."


class InvalidTimestampError(InvalidValueError):
    """A text is no timestamp literal."""

    condition = "MATERIALIZED_TABLE_INVALID_TIMESTAMP"
    text = "'{value}' is not a timestamp."
    remedy = "Write it as TIMESTAMP '2025-10-28 12:00:00', with a time zone after it if needed."


def parse_zone(text: str) -> tzinfo:
    """Read a time zone as `spark.sql.session.timeZone` takes it.

    Raises:
        InvalidTimeZoneError: No time zone has this name.
    """
    zone = _SHORT_IDS.get(text.strip(), text.strip())
    if zone.upper() in _UTC:
        return timezone.utc
    if match := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if offset <= timedelta(hours=18):
            return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidTimeZoneError(zone=zone) from None


def parse_timestamp(text: str, zone: tzinfo) -> datetime:
    """Read a timestamp literal; one without a zone of its own is in `zone`.

    Raises:
        InvalidTimestampError: The text is no timestamp.
        InvalidTimeZoneError: It names an unknown zone.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise InvalidTimestampError(value=text)
    *numbers, fraction, own_zone = match.groups()
    parts = [int(n) if n else least for n, least in zip(numbers, (1, 1, 1, 0, 0, 0), strict=True)]
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(*parts, micros, tzinfo=parse_zone(own_zone) if own_zone else zone)  # type: ignore[misc,arg-type]
    except ValueError as error:
        if isinstance(error, InvalidTimeZoneError):
            raise
        raise InvalidTimestampError(value=text) from None


def epoch_milliseconds(instant: datetime) -> int:
    """Return the milliseconds since 1970-01-01 00:00:00 UTC of an aware instant, rounded down.

    An instant may be in the first or last year on the clock of its own zone only.
    """
    shown = instant.replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows
    return (shown - (instant.utcoffset() or timedelta())) // timedelta(milliseconds=1)


class InvalidPatternError(InvalidValueError):
    """A date formatter is no pattern that can name a partition."""

    condition = "MATERIALIZED_TABLE_INVALID_DATE_FORMATTER"
    text = "The pattern '{pattern}' {problem}."
    remedy = (
        "The supported letters are y (y, yy, yyyy), M, d, H, m and s (once or twice); any other "
        "text is in single quotes, and '' is one quote. For example yyyy-MM-dd."
    )


class Period(Enum):
    """Period in which a pattern prints the same text; values are ordered, the finest first."""

    SECOND = 1
    MINUTE = 2
    HOUR = 3
    DAY = 4
    MONTH = 5
    YEAR = 6


@dataclass(frozen=True, slots=True)
class _Field:
    """A run of one letter."""

    letter: str
    width: int


_PERIODS = {
    "y": Period.YEAR,
    "M": Period.MONTH,
    "d": Period.DAY,
    "H": Period.HOUR,
    "m": Period.MINUTE,
    "s": Period.SECOND,
}
_YEAR_WIDTHS = frozenset({1, 2, 4})
_RESERVED = frozenset("[]{}#")


def check_pattern(pattern: str) -> None:
    """Make sure that `format_partition` understands `pattern`.

    Raises:
        InvalidPatternError: It is malformed, uses other letters, or prints the same text always.
    """
    if not any(isinstance(part, _Field) for part in _parts(pattern)):
        raise InvalidPatternError(pattern=pattern, problem="has no letter of a date or time")


def format_partition(pattern: str, moment: datetime) -> str:
    """Format the local time that `moment` shows, as Spark's `date_format` does.

    Raises:
        InvalidPatternError: The pattern is not understood.
    """
    return "".join(
        part if isinstance(part, str) else _print(part, moment) for part in _parts(pattern)
    )


def finest_period(pattern: str) -> Period:
    """Return the period in which `pattern` prints the same text.

    Raises:
        InvalidPatternError: The pattern is not understood.
    """
    check_pattern(pattern)
    periods = (_PERIODS[p.letter] for p in _parts(pattern) if isinstance(p, _Field))
    return min(periods, key=lambda period: period.value)


def _print(field: _Field, moment: datetime) -> str:
    value: int = getattr(moment, _PERIODS[field.letter].name.lower())
    if field.letter == "y" and field.width == 2:
        value %= 100
    return str(value).zfill(field.width)


def _parts(pattern: str) -> list[_Field | str]:
    parts: list[_Field | str] = []
    at = 0
    while at < len(pattern):
        part, at = _part(pattern, at)
        parts.append(part)
    return parts


def _part(pattern: str, at: int) -> tuple[_Field | str, int]:
    letter = pattern[at]
    if letter == "'":
        return _literal(pattern, at)
    if letter in _RESERVED:
        raise InvalidPatternError(pattern=pattern, problem=f"has a bare {letter}")
    if not (letter.isascii() and letter.isalpha()):
        return letter, at + 1
    width = len(pattern) - at - len(pattern[at:].lstrip(letter))
    if letter not in _PERIODS:
        raise InvalidPatternError(pattern=pattern, problem=f"has the unsupported letter {letter}")
    if width not in (_YEAR_WIDTHS if letter == "y" else {1, 2}):
        raise InvalidPatternError(pattern=pattern, problem=f"has {letter} {width} times")
    return _Field(letter, width), at + width


def _literal(pattern: str, at: int) -> tuple[str, int]:
    """Read quoted text; two quotes stand for one, inside of quoted text and outside."""
    if pattern.startswith("''", at):
        return "'", at + 2
    text = ""
    end = at + 1
    while end < len(pattern):
        if pattern.startswith("''", end):
            text, end = text + "'", end + 2
        elif pattern[end] == "'":
            return text, end + 1
        else:
            text, end = text + pattern[end], end + 1
    raise InvalidPatternError(pattern=pattern, problem="has a quote that is not closed")


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
        FutureStartError: The instant is after `now`.
        StartBeforeTimeError: The interval is longer than time.
        InvalidTimestampError: The literal is no timestamp.
    """
    if stored is not None and stored.mode == mode:
        return stored
    base = mode.type.fallback
    if base is modes.StartModeType.FROM_BEGINNING:
        return modes.ResolvedStartMode(mode)
    instant = now
    try:
        if mode.timestamp is not None:
            instant = parse_timestamp(mode.timestamp, zone)
        elif mode.interval is not None:
            instant = subtract(now, mode.interval, zone)
    except OverflowError:
        raise StartBeforeTimeError(startMode=mode.sql, table=table) from None
    if instant > now:
        raise FutureStartError(
            startMode=mode.sql, table=table, now=f"{now.astimezone(zone):%Y-%m-%d %H:%M:%S}"
        )
    return modes.ResolvedStartMode(mode, epoch_milliseconds(instant))
