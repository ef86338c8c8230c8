"""Durations, as Spark and Flink write them."""

from __future__ import annotations

import re
from datetime import timedelta

from dbt.adapters.spark_mt.definition import conditions

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
        InvalidValueError: The text is none of these.
        InvalidValueError: It is longer than `longest`.
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
        raise conditions.INVALID_DURATION(value=text.strip())
    if found > (longest or _LONGEST_KNOWN):
        most = describe_duration(longest or _LONGEST_KNOWN)
        raise conditions.DURATION_TOO_LONG(value=text.strip(), longest=most)
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
