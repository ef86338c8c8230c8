"""How long a changed query takes to its first new batch, while the table is followed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.report import Measurement, progress
from benchmarks.streams_sides import HandWritten, NoProgressError, Ours, append_once, batches
from benchmarks.streams_sources import DeltaFeed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_QUERY = "SELECT id, k, v * {factor} AS times, upper(note) AS note, ts FROM {{source}} WHERE v > 9"
_FEW = 1_000
_POLL_S = 0.02
_PATIENCE_S = 300.0


def measure(spark: SparkSession, folder: Path, samples: int, rows: int) -> list[Measurement]:
    """Change the query of a running table, and stop, fill and start a job, in turn.

    Each ends with a batch of rows that came after the change.

    Args:
        spark: The session.
        folder: Where checkpoints go.
        samples: How often.
        rows: How many rows the sources have, which both compute again.
    """
    progress(f"changing a query over {rows:,} rows …")
    ours = Ours(spark, "change_ours", DeltaFeed(spark, "change_events_ours"), _query(0))
    theirs = HandWritten(
        spark,
        "change_theirs",
        DeltaFeed(spark, "change_events_theirs"),
        _query(0),
        append_once,
        folder,
    )
    try:
        for side in (ours, theirs):
            batches(side, rows)
        pairs = [(_ours(ours, turn), _theirs(theirs, turn)) for turn in range(1, samples + 2)]
    finally:
        ours.stop()
        theirs.stop()
    changed, begun = zip(*pairs[1:], strict=True)
    return [Measurement("from a changed query to its first batch", changed, begun, most_ratio=1.5)]


def _query(turn: int) -> str:
    return _QUERY.format(factor=turn + 1)


def _ours(side: Ours, turn: int) -> float:
    start = time.perf_counter()
    old = side.query()
    side.define(_query(turn))
    side.feed.append(_FEW)
    return _first_batch(side, old, start)


def _theirs(side: HandWritten, turn: int) -> float:
    start = time.perf_counter()
    old = side.query()
    side.stop()
    version = side.fill_again(_query(turn))
    side.run(turn, startingVersion=str(version + 1))
    side.feed.append(_FEW)
    return _first_batch(side, old, start)


def _first_batch(side: Ours | HandWritten, old: object, start: float) -> float:
    while time.perf_counter() - start < _PATIENCE_S:
        query = side.query()
        if query is not None and query is not old:
            ended = [p for p in query.recentProgress if p["numInputRows"]]
            if ended:
                return time.perf_counter() - start
            if (failure := query.exception()) is not None:
                raise NoProgressError(side.name) from failure
        time.sleep(_POLL_S)
    raise NoProgressError(side.name)
