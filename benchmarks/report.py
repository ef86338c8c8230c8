"""Figures of a benchmark and the table that shows them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HEADER = ("measured", "baseline", "ours", "ratio", "target", "", "samples")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one thing costs, and what it may cost.

    Args:
        name: What was measured.
        ours: Seconds, one per sample.
        baseline: Seconds of what it is compared with, one per sample of `ours`, or nothing.
        most_ratio: The largest ratio of the medians that is promised.
        most_seconds: The largest median in seconds that is promised.
    """

    name: str
    ours: tuple[float, ...]
    baseline: tuple[float, ...] = ()
    most_ratio: float | None = None
    most_seconds: float | None = None

    @property
    def ratio(self) -> float | None:
        """Median of ours by the median of the baseline."""
        return median(self.ours) / median(self.baseline) if self.baseline else None

    @property
    def kept(self) -> bool:
        """Whether every promise holds."""
        in_ratio = self.most_ratio is None or (self.ratio or 0) <= self.most_ratio
        in_time = self.most_seconds is None or median(self.ours) <= self.most_seconds
        return in_ratio and in_time

    @property
    def target(self) -> str:
        """The promises, for people."""
        ratio = f"<= {self.most_ratio:.2f} x" if self.most_ratio is not None else ""
        time = f"<= {self.most_seconds:.2f} s" if self.most_seconds is not None else ""
        return ", ".join(filter(None, (ratio, time)))

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        return (
            self.name,
            f"{median(self.baseline):.2f} s" if self.baseline else "",
            f"{median(self.ours):.2f} s",
            f"{self.ratio:.2f} x" if self.ratio is not None else "",
            self.target,
            "ok" if self.kept else "MISSED",
            " ".join(f"{seconds:.2f}" for seconds in self.ours)
            + (f"  |  {' '.join(f'{s:.2f}' for s in self.baseline)}" if self.baseline else ""),
        )


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
    """The table of all measurements, each a median; samples of ours stand before the bar."""
    return table([HEADER, *(measurement.row() for measurement in measurements)])
