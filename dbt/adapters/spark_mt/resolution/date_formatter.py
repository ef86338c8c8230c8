"""Datetime patterns of partition columns: which are understood, and what they print."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import InvalidValueError

if TYPE_CHECKING:
    from datetime import datetime


class InvalidPatternError(InvalidValueError):
    """A date formatter is no pattern that can name a partition."""

    condition = "MATERIALIZED_TABLE_INVALID_DATE_FORMATTER"
    text = "The pattern '{pattern}' {problem}."
    remedy = (
        "The supported letters are y (y, yy, yyyy), M, d, H, m and s (once or twice); any other "
        "text stands in single quotes, and '' is one quote. For example yyyy-MM-dd."
    )


class Period(Enum):
    """How long a pattern prints the same text; the value orders them, the finest first."""

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
_ATTRIBUTES = {
    "y": "year",
    "M": "month",
    "d": "day",
    "H": "hour",
    "m": "minute",
    "s": "second",
}
_YEAR_WIDTHS = frozenset({1, 2, 4})
_RESERVED = frozenset("[]{}#")


def check_pattern(pattern: str) -> None:
    """Make sure that `format_partition` understands `pattern`.

    Raises:
        InvalidPatternError: It is malformed, uses other letters, or prints the same text always.
    """
    fields = [part for part in _parts(pattern) if isinstance(part, _Field)]
    if not fields:
        raise InvalidPatternError(pattern=pattern, problem="has no letter of a date or time")


def format_partition(pattern: str, moment: datetime) -> str:
    """Print `moment` as Spark's `date_format` does; it is taken as the local time that it shows.

    Raises:
        InvalidPatternError: The pattern is not understood.
    """
    return "".join(
        part if isinstance(part, str) else _print(part, moment) for part in _parts(pattern)
    )


def finest_period(pattern: str) -> Period:
    """Return how long `pattern` prints the same text.

    Raises:
        InvalidPatternError: The pattern is not understood.
    """
    check_pattern(pattern)
    periods = (_PERIODS[p.letter] for p in _parts(pattern) if isinstance(p, _Field))
    return min(periods, key=lambda period: period.value)


def _print(field: _Field, moment: datetime) -> str:
    value: int = getattr(moment, _ATTRIBUTES[field.letter])
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
    end = at
    while end < len(pattern) and pattern[end] == letter:
        end += 1
    return _field(pattern, letter, end - at), end


def _field(pattern: str, letter: str, width: int) -> _Field:
    if letter not in _PERIODS:
        raise InvalidPatternError(pattern=pattern, problem=f"has the unsupported letter {letter}")
    if width not in (_YEAR_WIDTHS if letter == "y" else {1, 2}):
        raise InvalidPatternError(pattern=pattern, problem=f"has {letter} {width} times")
    return _Field(letter, width)


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
