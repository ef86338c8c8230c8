"""The small chart of a row: how long its newest refreshes took, and how they ended.

A chart is a handful of SVG paths, one per kind of ending, so that a list of many tables stays
small. Kinds differ in shape as well as in colour: failures stand as full-height hatches, skipped
refreshes as dots on the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.service.http.pages_text import duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.service.views import RefreshPoint

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
        # A cross: told from the others without its colour.
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
