"""Formats of the status page: durations, instants, counts, names and small charts.

A chart is a handful of SVG paths, one per kind of ending, so that a list of many tables stays
small. Kinds differ in shape and in colour: failures are full-height hatches, skipped refreshes are
dots.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.manager.views import RefreshPoint


UNKNOWN = "unknown"
_UNITS = (("w", 604_800), ("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_FINE = 10
"""Seconds below which a tenth matters."""


SHOWN = 20
STEP = 5
WIDTH = SHOWN * STEP
HEIGHT = 24
_BAR = 3
_LEAST = 2.0
_ENDINGS = (
    ("FINISHED", "finished"),
    ("SKIPPED", "had nothing to do"),
    ("FAILED", "failed"),
    ("CANCELED", "canceled"),
    ("RUNNING", "running"),
)


def duration(seconds: float | None) -> str:
    """Write a length of time in its two largest units: `4.2 s`, `3 min`, `2 h 44 min`.

    Args:
        seconds: None when unknown.
    """
    if seconds is None:
        return UNKNOWN
    seconds = max(0.0, seconds)
    if seconds < _FINE and round(seconds, 1) != round(seconds):
        return f"{seconds:.1f} s"
    return _whole(round(seconds))


def _whole(seconds: int) -> str:
    for position, (unit, length) in enumerate(_UNITS[:-1]):
        if seconds >= length:
            smaller, part = _UNITS[position + 1]
            rest = seconds % length // part
            return f"{seconds // length} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds} s"


def instant(at_ms: int | None) -> str:
    """Write an instant: `2026-11-21 14:50:00 UTC`; empty for none."""
    return "" if at_ms is None else f"{_utc(at_ms):%Y-%m-%d %H:%M:%S} UTC"


def machine_instant(at_ms: int | None) -> str:
    """Write an instant for `<time datetime>`."""
    return "" if at_ms is None else f"{_utc(at_ms):%Y-%m-%dT%H:%M:%SZ}"


def clock_time(at_ms: int, now_ms: int) -> str:
    """Write an instant in its shortest form: `14:50`, on another day `11-20 14:50`."""
    at, now = _utc(at_ms), _utc(now_ms)
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%m-%d %H:%M} UTC"


def distance(at_ms: int | None, now_ms: int) -> str:
    """Write how far an instant lies from now: `3 min ago`, `in 8 h`; `never` for none."""
    if at_ms is None:
        return "never"
    ahead = (at_ms - now_ms) / 1000
    if abs(ahead) < 1:
        return "now"
    return f"in {duration(round(ahead))}" if ahead > 0 else f"{duration(round(-ahead))} ago"


def count(number: int | None) -> str:
    """Write a number with separated thousands; a dash for none."""
    return "\u2013" if number is None else f"{number:,}"


def size_text(size: int) -> str:
    """Write a number of bytes, in whole units of a thousand: `4 kB`."""
    for unit, length in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= length:
            return f"{round(size / length):,} {unit}"
    return plural(size, "byte")


def short_name(name: str, catalog: str) -> str:
    """Leave the catalog out of a name where it is the manager's own."""
    return name.removeprefix(f"{catalog}.")


def gist(problem: str, name: str) -> str:
    """Shorten the text of a failure by what the page shows next to it: condition and table."""
    text = re.sub(r"^\[[A-Z0-9_.]+\] ", "", problem)
    return text.removeprefix(f"Materialized table {name}: ").strip()


def plural(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 table`, `3 tables`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small chart.

    Args:
        paths: (kind of ending, SVG path data).
        label: The same in words.
    """

    paths: tuple[tuple[str, str], ...]
    label: str


def sparkline(points: Sequence[RefreshPoint]) -> Sparkline:
    """Draw the newest refreshes, the newest at the right end.

    Args:
        points: The oldest first.
    """
    shown = points[-SHOWN:]
    if not shown:
        return Sparkline((), "No refresh yet")
    longest = max((p.duration_ms or 0 for p in shown), default=0) or 1
    drawn: dict[str, list[str]] = {}
    left = WIDTH - len(shown) * STEP
    for position, point in enumerate(shown):
        height = _LEAST + (point.duration_ms or 0) / longest * (HEIGHT - _LEAST)
        drawn.setdefault(point.status, []).append(
            _mark(point.status, left + position * STEP, height)
        )
    paths = tuple((status.lower(), "".join(marks)) for status, marks in drawn.items())
    return Sparkline(paths, _label(shown))


def _mark(status: str, x: int, height: float) -> str:
    if status == "SKIPPED":
        return f"M{x} {HEIGHT}v-2h{_BAR}v2z"
    if status == "FAILED":
        # A cross: its shape differs too, not its colour alone.
        top = HEIGHT - 9
        return f"M{x - 0.5} {top}l4 4m0-4l-4 4M{x + 1.5} {HEIGHT}v-3"
    if status == "RUNNING":
        return f"M{x + 0.5} {HEIGHT - 0.5}v-{HEIGHT - 1}h{_BAR - 1}v{HEIGHT - 1}z"
    return f"M{x} {HEIGHT}v-{height:.1f}h{_BAR}v{height:.1f}z"


def _label(points: Sequence[RefreshPoint]) -> str:
    counted = [(text, sum(p.status == status for p in points)) for status, text in _ENDINGS]
    parts = ", ".join(f"{number} {text}" for text, number in counted if number)
    longest = max((p.duration_ms for p in points if p.duration_ms is not None), default=None)
    text = f"Last {plural(len(points), 'refresh', 'refreshes')}: {parts}"
    return text if longest is None else f"{text}; the longest took {duration(longest / 1000)}"
