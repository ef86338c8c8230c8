"""Figures of a benchmark and the table that shows them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HEADER = ("measured", "baseline", "ours", "ratio", "target", "", "samples")
_SHOWN = 10
"""Of more samples than these only the ends are shown."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one thing costs, and what it may cost.

    Args:
        name: What was measured.
        ours: In seconds, or in another unit; one per sample.
        baseline: That of what it is compared with, or nothing.
        most_ratio: The largest ratio that meets the target.
        most_seconds: The most that meets the target, in the unit.
        least_ratio: The smallest ratio that meets the target, where more is better.
        quantile: Which part of the samples are at most the figure: 0.5 for their median.
        unit: What is counted.
    """

    name: str
    ours: tuple[float, ...]
    baseline: tuple[float, ...] = ()
    most_ratio: float | None = None
    most_seconds: float | None = None
    least_ratio: float | None = None
    quantile: float = 0.5
    unit: str = "s"

    @property
    def figure(self) -> float:
        """Ours."""
        return quantile(self.ours, self.quantile)

    @property
    def compared(self) -> float | None:
        """The baseline's."""
        return quantile(self.baseline, self.quantile) if self.baseline else None

    @property
    def ratio(self) -> float | None:
        """Ours by the baseline's."""
        return self.figure / self.compared if self.compared else None

    @property
    def kept(self) -> bool:
        """Whether every target is met."""
        ratio = self.ratio or 0
        in_ratio = self.most_ratio is None or ratio <= self.most_ratio
        enough = self.least_ratio is None or ratio >= self.least_ratio
        in_time = self.most_seconds is None or self.figure <= self.most_seconds
        return in_ratio and enough and in_time

    @property
    def target(self) -> str:
        """The targets, for people."""
        most = f"<= {self.most_ratio:.2f} x" if self.most_ratio is not None else ""
        least = f">= {self.least_ratio:.2f} x" if self.least_ratio is not None else ""
        bound = f"<= {self._shown(self.most_seconds)}" if self.most_seconds is not None else ""
        return ", ".join(filter(None, (most, least, bound)))

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        return (
            self.name,
            self._shown(self.compared) if self.compared is not None else "",
            self._shown(self.figure),
            f"{self.ratio:.2f} x" if self.ratio is not None else "",
            self.target,
            ("ok" if self.kept else "MISSED") if self.target else "",
            _samples(self.ours) + (f"  |  {_samples(self.baseline)}" if self.baseline else ""),
        )

    def _shown(self, figure: float) -> str:
        return f"{_number(figure)} {self.unit}"


def quantile(samples: Sequence[float], part: float) -> float:
    """Return the figure that a part of the samples does not exceed."""
    ordered = sorted(samples)
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _samples(figures: Sequence[float]) -> str:
    if len(figures) <= _SHOWN:
        return " ".join(map(_number, figures))
    return f"{_number(min(figures))} … {_number(max(figures))} ({len(figures)})"


def _number(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.2f}"


def progress(text: str) -> None:
    """Say on standard error how far a benchmark has come."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is a command


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in aligned columns; the first row is the header."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def report(measurements: Iterable[Measurement]) -> str:
    """The table of all measurements; samples of ours are before the bar."""
    return table([HEADER, *(measurement.row() for measurement in measurements)])


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
