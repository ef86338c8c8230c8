"""FRESHNESS: how far a table may lag its sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.definition import conditions

LARGEST_COUNT = 2**31 - 1
"""The largest number of units: Flink reads the number of an interval as a Java `int`."""
LONGEST_SECONDS = 2**31 - 1
"""The length of the longest freshness: a schedule must find its next time in a calendar."""
LONGEST = f"{LONGEST_SECONDS} seconds"
_SQL_INTERVAL = re.compile(r"interval\s+(-?)\s*'([^']*)'\s+(\w+(?:\s+to\s+\w+)?)", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"[0-9]+")
_SHORT = {
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
_PLAIN = re.compile(r"(\S+?)\s*([A-Za-z]+)")
_ISO = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII
)


class FreshnessStatus(Enum):
    """Whether a table is as fresh as its definition asks."""

    MET = "MET"
    LATE = "LATE"
    """The lag to the base tables is larger than allowed."""
    UNKNOWN = "UNKNOWN"
    """The lag has not been measured, or cannot be."""
    NONE = "NONE"
    """The table is suspended: it is not refreshed, so there is nothing to meet."""


@dataclass(frozen=True, slots=True)
class LagStage:
    """A part of the lag.

    Args:
        table: The full name of the table for which the missing change has waited, or waits.
        seconds: For how long.
    """

    table: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SourceActivity:
    """How often a source changes, and in how many files its rows are.

    Args:
        table: Its full name.
        change_seconds: The mean time between its newest commits; None where there is only one.
        files: The number of its data files; None where its log does not have it.
        file_bytes: Their mean size; None where its log does not have it.
        compaction: The statement that merges its files, if they are many and small. Each refresh
            that reads the source opens them all, which takes milliseconds for each.
    """

    table: str
    change_seconds: float | None = None
    files: int | None = None
    file_bytes: int | None = None
    compaction: str = ""


class TimeUnit(Enum):
    """The units of FRESHNESS; the value is a unit's length in seconds."""

    SECOND = 1
    MINUTE = 60
    HOUR = 3600
    DAY = 86400
    WEEK = 604800

    @classmethod
    def parse(cls, text: str) -> TimeUnit:
        """Read a unit in any case, singular or plural.

        Raises:
            InvalidFreshnessError: The unit is another one.
        """
        singular = text.strip().upper().removesuffix("S")
        if singular not in cls.__members__:
            raise conditions.INVALID_FRESHNESS_UNIT(unit=text.strip())
        return cls[singular]


_ISO_UNITS = (TimeUnit.WEEK, TimeUnit.DAY, TimeUnit.HOUR, TimeUnit.MINUTE, TimeUnit.SECOND)


@dataclass(frozen=True, slots=True)
class Freshness:
    """A positive whole number of units, spelt as the user spelt it."""

    count: int
    unit: TimeUnit

    def __post_init__(self) -> None:
        if self.count <= 0:
            raise conditions.INVALID_FRESHNESS(value=self.count)

    @classmethod
    def of(cls, count: str, unit: str) -> Freshness:
        """Read the two parts of `INTERVAL 'count' unit`.

        Raises:
            InvalidFreshnessError: The count is no positive whole number or too large, the unit is
                unknown, or the freshness is too long.
        """
        return cls(_count(count), TimeUnit.parse(unit)).checked()

    @classmethod
    def parse(cls, text: str) -> Freshness:
        """Read `3 minutes`, `30m`, `30 min`, `PT30M` or `INTERVAL '3' MINUTE`.

        Raises:
            InvalidFreshnessError: The text is none of these, or the freshness is too long.
        """
        stripped = text.strip()
        if match := _SQL_INTERVAL.fullmatch(stripped):
            return cls.of(match[1] + match[2], match[3])
        if iso := _parse_iso(stripped):
            return iso.checked()
        if match := _PLAIN.fullmatch(stripped):
            return cls.of(match[1], _SHORT.get(match[2].lower(), match[2]))
        raise conditions.INVALID_FRESHNESS(value=stripped)

    def checked(self) -> Freshness:
        """Return it, provided that it is not too long.

        Raises:
            FreshnessTooLongError: It is.
        """
        if self.seconds > LONGEST_SECONDS:
            raise conditions.FRESHNESS_TOO_LONG(value=self, longest=LONGEST)
        return self

    @property
    def seconds(self) -> int:
        """The whole length in seconds; two freshnesses mean the same when these are equal."""
        return self.count * self.unit.value

    @property
    def sql(self) -> str:
        """The interval as a statement has it."""
        return f"INTERVAL '{self.count}' {self.unit.name}"

    def __str__(self) -> str:
        """For people: `3 minutes`."""
        return f"{self.count} {self.unit.name.lower()}{'' if self.count == 1 else 's'}"


def _parse_iso(text: str) -> Freshness | None:
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    given = [(_count(n), unit) for n, unit in zip(match.groups(), _ISO_UNITS, strict=True) if n]
    if len(given) == 1:
        return Freshness(*given[0])
    return Freshness(sum(n * unit.value for n, unit in given), TimeUnit.SECOND)


def _count(text: str) -> int:
    """Read the number of an interval.

    Raises:
        InvalidFreshnessError: It is no whole number, or larger than Flink takes.
    """
    digits = text.strip()
    significant = digits.lstrip("0") or "0"
    # Python refuses to read more than 4,300 digits.
    is_short = len(significant) <= len(str(LARGEST_COUNT))
    if not (_WHOLE_NUMBER.fullmatch(digits) and is_short and int(significant) <= LARGEST_COUNT):
        raise conditions.INVALID_FRESHNESS(value=digits)
    return int(significant)
