"""Time zones and timestamps, as Spark reads them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidValueError

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


def parse_zone(text: str) -> tzinfo:
    """Read a time zone as `spark.sql.session.timeZone` takes it.

    Raises:
        InvalidValueError: No time zone has this name.
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
        raise conditions.INVALID_TIME_ZONE(zone=zone) from None


def parse_timestamp(text: str, zone: tzinfo) -> datetime:
    """Read a timestamp literal; one without a zone of its own is in `zone`.

    Raises:
        InvalidValueError: The text is no timestamp.
        InvalidValueError: It names an unknown zone.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise conditions.INVALID_TIMESTAMP(value=text)
    *numbers, fraction, own_zone = match.groups()
    parts = [int(n) if n else least for n, least in zip(numbers, (1, 1, 1, 0, 0, 0), strict=True)]
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(*parts, micros, tzinfo=parse_zone(own_zone) if own_zone else zone)  # type: ignore[misc,arg-type]
    except InvalidValueError:  # of the zone
        raise
    except ValueError:
        raise conditions.INVALID_TIMESTAMP(value=text) from None


def epoch_milliseconds(instant: datetime) -> int:
    """Return the milliseconds since 1970-01-01 00:00:00 UTC of an aware instant, rounded down.

    An instant may be in the first or last year on the clock of its own zone only.
    """
    shown = instant.replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows
    return (shown - (instant.utcoffset() or timedelta())) // timedelta(milliseconds=1)
