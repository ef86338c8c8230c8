"""Whether the strategy that is chosen is the faster one, over a grid of sources and changes.

Each cell has a size of the source, a query, and a part of its rows that changes, near or spread.
Three tables have the query of a cell: one with the option `auto`, one whose refreshes are all made
by changes, and one that is computed as a whole each time. All are refreshed after each change. The
cells of a size come in a random order, and as many are measured as fit its time. One more comes
before them and is not counted: the first refreshes of a JVM take several times as long.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from benchmarks import incremental
from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.api import MaterializedTables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

PART = "choice"
SIZES = (1_000_000, 6_000_000)
SHARES = (0.00001, 0.0001, 0.001, 0.01, 0.1)
MINUTES = 30
"""For how long cells are measured, all sizes together."""
_OPTIONS = {"chosen": "auto", "by changes": "strict", "recompute": "off"}
_ROUNDS, _COUNTED = 5, 3
"""Refreshes of each table; and how many of them, the last ones, are compared by their medians. One
of 20 refreshes measures the other strategy again: it is not the rule."""
_MOST, _MOST_FIRST = 1.25, 1.5
"""How many times as long as the better one the chosen strategy may take; and the first refresh."""
_NEWEST = 100
"""Changes that are near lie in the newest of so many parts of the source."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A query, and the changes of its source.

    Args:
        shape: A key of `incremental.SHAPES`.
        share: The part of the rows that changes.
        is_near: Whether these are the newest rows.
    """

    shape: str
    share: float
    is_near: bool

    def __str__(self) -> str:
        return f"{self.shape}, {self.share:.3%} {'near' if self.is_near else 'spread'}"


def measure(
    spark: SparkSession,
    sizes: Sequence[int],
    minutes: float,
    shares: Sequence[float],
    shapes: Sequence[str],
    seed: int = 0,
) -> list[Measurement]:
    """Measure cells of each size.

    Args:
        spark: The session.
        sizes: Rows of the source.
        minutes: For how long, all sizes together.
        shares: Parts of the rows that change.
        shapes: Keys of `incremental.SHAPES`.
        seed: Of the order of the cells.
    """
    measurements: list[Measurement] = []
    for rows in sizes:
        end = time.monotonic() + minutes * 60 / len(sizes)
        progress(f"making a source of {rows} rows …")
        spark.sql(f"DROP SCHEMA IF EXISTS {incremental.SCHEMA} CASCADE")
        incremental.load(spark, rows)
        cells = [Cell(*each) for each in product(shapes, shares, (True, False))]
        random.Random(seed).shuffle(cells)  # noqa: S311 - an order, no secret
        if not measurements:
            tuple(_measured(spark, rows, cells[-1], len(cells)))
        for turn, cell in enumerate(cells):
            if time.monotonic() > end:
                break
            measurements += _measured(spark, rows, cell, turn)
    followed = [each for each in measurements if each.most_ratio == _MOST]
    kept = sum(each.kept for each in followed)
    progress(
        f"{kept} of {len(followed)} cells take at most {_MOST} times as long as the better strategy"
    )
    return measurements


def _measured(spark: SparkSession, rows: int, cell: Cell, turn: int) -> Iterator[Measurement]:
    tables = MaterializedTables(spark)
    for name, option in _OPTIONS.items():
        tables.execute(
            f"CREATE MATERIALIZED TABLE {_table(name)} WITH ('incremental' = '{option}') "
            "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS "
            f"{incremental.SHAPES[cell.shape]}"
        )
    taken: dict[str, list[float]] = {name: [] for name in _OPTIONS}
    names, strategies = list(_OPTIONS), []
    for number in range(_ROUNDS):
        _change(spark, rows, cell, turn * _ROUNDS + number)
        first = (turn + number) % len(names)
        for name in names[first:] + names[:first]:
            start = time.perf_counter()
            outcome = tables.refresh(_table(name))
            taken[name].append(time.perf_counter() - start)
            if name == "chosen":
                strategies.append(outcome.strategy)
    for name in names:
        tables.execute(f"DROP MATERIALIZED TABLE {_table(name)}")
    listed = "; ".join(
        f"{name} {', '.join(f'{each:.1f}' for each in seconds)}" for name, seconds in taken.items()
    )
    progress(f"{rows} rows, {cell}: {listed} ({', '.join(strategies)})")
    counted = {name: tuple(seconds[-_COUNTED:]) for name, seconds in taken.items()}
    better = min((counted["by changes"], counted["recompute"]), key=sum)
    yield Measurement(f"{rows} rows, {cell}", counted["chosen"], better, most_ratio=_MOST)
    firsts = ((taken["chosen"][0],), (taken["recompute"][0],))
    yield Measurement(f"{rows} rows, {cell}, first refresh", *firsts, most_ratio=_MOST_FIRST)


def _table(name: str) -> str:
    return name.replace(" ", "_")


def _change(spark: SparkSession, rows: int, cell: Cell, turn: int) -> None:
    """Insert, update and delete a third of the share each."""
    third = max(1, round(rows * cell.share / 3))
    new = rows * 2 + turn * rows
    spark.sql(f"INSERT INTO sales SELECT {incremental.SALES} FROM range({new}, {new + third})")
    first = rows - rows // _NEWEST if cell.is_near else 0
    every = max(2, (rows - first) // third)
    place = (turn * 2) % every
    within = f"id >= {first} AND id < {rows}"
    spark.sql(f"DELETE FROM sales WHERE {within} AND pmod(id, {every}) = {place}")
    updated = f"{within} AND pmod(id, {every}) = {(place + 1) % every}"
    spark.sql(f"UPDATE sales SET amount = amount + 1 WHERE {updated}")
