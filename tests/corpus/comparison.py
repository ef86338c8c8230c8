"""Comparison of two results as bags of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_DIGITS = 9
"""Significant digits of a floating-point number: its last ones depend on the order of a sum."""


@dataclass(frozen=True)
class Difference:
    """Rows by which two bags differ.

    Args:
        missing: Rows that only the expected bag has, each as text with how often.
        unexpected: Rows that only the actual bag has.
    """

    missing: tuple[tuple[str, int], ...] = ()
    unexpected: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        """Whether the bags differ."""
        return bool(self.missing or self.unexpected)

    def __str__(self) -> str:
        """Return some of the rows."""
        return f"missing {dict(self.missing[:3])}, unexpected {dict(self.unexpected[:3])}"


def difference(actual: Iterable[object], expected: Iterable[object]) -> Difference:
    """Compare rows as bags: each as often as it occurs."""
    found, wanted = Counter(map(comparable, actual)), Counter(map(comparable, expected))
    return Difference(tuple((wanted - found).items()), tuple((found - wanted).items()))


def comparable(value: object) -> str:
    """Return a text that is equal for equal values, whatever the order of a map's entries."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        entries = sorted(f"{comparable(k)}={comparable(v)}" for k, v in value.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(comparable, value)) + ")"
    return repr(value) if isinstance(value, (str, bytes, bytearray)) else str(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{value + 0.0:.{_DIGITS}g}"  # -0.0 equals 0.0
