"""Datetime patterns of partition columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from datetime import datetime


_YEAR_WIDTHS = frozenset({1, 2, 4})
_RESERVED = frozenset("[]{}#")


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


def check_pattern(pattern: str) -> None:
    """Make sure that `format_partition` understands `pattern`.

    Raises:
        InvalidValueError: It is malformed, uses other letters, or prints the same text always.
    """
    if not any(isinstance(part, _Field) for part in _parts(pattern)):
        raise conditions.INVALID_DATE_FORMATTER(
            pattern=pattern, problem="has no letter of a date or time"
        )


def format_partition(pattern: str, moment: datetime) -> str:
    """Format the local time that `moment` shows, as Spark's `date_format` does.

    Raises:
        InvalidValueError: The pattern is not understood.
    """
    return "".join(
        part if isinstance(part, str) else _print(part, moment) for part in _parts(pattern)
    )


def finest_period(pattern: str) -> Period:
    """Return the period in which `pattern` prints the same text.

    Raises:
        InvalidValueError: The pattern is not understood.
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
        raise conditions.INVALID_DATE_FORMATTER(pattern=pattern, problem=f"has a bare {letter}")
    if not (letter.isascii() and letter.isalpha()):
        return letter, at + 1
    width = len(pattern) - at - len(pattern[at:].lstrip(letter))
    if letter not in _PERIODS:
        raise conditions.INVALID_DATE_FORMATTER(
            pattern=pattern, problem=f"has the unsupported letter {letter}"
        )
    if width not in (_YEAR_WIDTHS if letter == "y" else {1, 2}):
        raise conditions.INVALID_DATE_FORMATTER(
            pattern=pattern, problem=f"has {letter} {width} times"
        )
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
    raise conditions.INVALID_DATE_FORMATTER(
        pattern=pattern, problem="has a quote that is not closed"
    )
