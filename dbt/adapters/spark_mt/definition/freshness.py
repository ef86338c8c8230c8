"""How far a table may lag behind its sources (seed 435 FRESHNESS, seed 551 3.2, semantics 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.definition.errors import InvalidValueError


class InvalidFreshnessError(InvalidValueError):
    """The freshness is not a positive whole number (message of seed 435)."""

    condition = "MATERIALIZED_TABLE_INVALID_FRESHNESS"
    text = (
        "The freshness interval currently only supports positive integer type values. "
        "But was: {value}"
    )
    remedy = "Write it as INTERVAL '3' MINUTE in a statement, or as `3 minutes` in a config."


class InvalidFreshnessUnitError(InvalidFreshnessError):
    """The freshness has a unit that no schedule knows (message of seed 435)."""

    condition = "MATERIALIZED_TABLE_INVALID_FRESHNESS_UNIT"
    text = (
        "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY, WEEK as the time "
        "unit. But was: {unit}"
    )


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
            InvalidFreshnessUnitError: The unit is another one.
        """
        singular = text.strip().upper().removesuffix("S")
        if singular not in cls.__members__:
            raise InvalidFreshnessUnitError(unit=text.strip())
        return cls[singular]


_SQL_INTERVAL = re.compile(r"interval\s+'([^']*)'\s+(\w+)", re.IGNORECASE)
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
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE)
_ISO_UNITS = (TimeUnit.WEEK, TimeUnit.DAY, TimeUnit.HOUR, TimeUnit.MINUTE, TimeUnit.SECOND)


@dataclass(frozen=True, slots=True)
class Freshness:
    """A positive whole number of units, spelt as the user spelt it."""

    count: int
    unit: TimeUnit

    def __post_init__(self) -> None:
        if self.count <= 0:
            raise InvalidFreshnessError(value=self.count)

    @classmethod
    def of(cls, count: str, unit: str) -> Freshness:
        """Read the two parts of `INTERVAL 'count' unit`.

        Raises:
            InvalidFreshnessError: The count is no positive whole number, or the unit is unknown.
        """
        if not re.fullmatch(r"[0-9]+", count.strip()):
            raise InvalidFreshnessError(value=count)
        return cls(int(count), TimeUnit.parse(unit))

    @classmethod
    def parse(cls, text: str) -> Freshness:
        """Read `3 minutes`, `30m`, `30 min`, `PT30M` or `INTERVAL '3' MINUTE`.

        Raises:
            InvalidFreshnessError: The text is none of these.
        """
        stripped = text.strip()
        if match := _SQL_INTERVAL.fullmatch(stripped):
            return cls.of(match[1], match[2])
        if iso := _parse_iso(stripped):
            return iso
        if match := _PLAIN.fullmatch(stripped):
            return cls.of(match[1], _SHORT.get(match[2].lower(), match[2]))
        raise InvalidFreshnessError(value=stripped)

    @property
    def seconds(self) -> int:
        """The whole length in seconds; two freshnesses mean the same when these are equal."""
        return self.count * self.unit.value

    @property
    def sql(self) -> str:
        """The interval as it stands in a statement."""
        return f"INTERVAL '{self.count}' {self.unit.name}"

    def __str__(self) -> str:
        """For people: `3 minutes`."""
        return f"{self.count} {self.unit.name.lower()}{'' if self.count == 1 else 's'}"


def _parse_iso(text: str) -> Freshness | None:
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    given = [(int(n), unit) for n, unit in zip(match.groups(), _ISO_UNITS, strict=True) if n]
    if len(given) == 1:
        return Freshness(*given[0])
    return Freshness(sum(n * unit.value for n, unit in given), TimeUnit.SECOND)
