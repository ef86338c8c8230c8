"""Refreshes next to those of other ways, over one source in one Spark.

The source grows and changes: half of the changed rows are inserted, half are updated. Four tables
of each query are then refreshed in turn:

* `ours`: a materialized table;
* `overwrite`: INSERT OVERWRITE of the query, as dbt's `table` writes all rows again;
* `by hand`: the MERGE of a dbt `incremental` model, which reads the rows whose column of change
  time is later than the newest one in the table. It sees no deleted rows, and no change of a table
  that the source is joined with;
* `pipeline`: a materialized view of Spark Declarative Pipelines, by a client in a process of its
  own (`benchmarks.pipelines`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import incremental
from benchmarks.report import Measurement, progress, seconds_of
from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.launch.connect_server import start_serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

PART = "peers"
ROWS = 6_000_000
SHARES = (0.0001, 0.005)
"""Parts of the rows of the source that change."""
SCHEMA = "peers"
_ROOT = Path(__file__).parents[1]
_VECTORS = "'delta.enableDeletionVectors' = 'true'"
_SALES = """id, pmod(hash(id), 1000000) AS customer, pmod(hash(id, 1), 1000) AS product,
CAST(pmod(hash(id, 2), 100000) / 100 AS DECIMAL(10, 2)) AS amount, pmod(hash(id, 3), 90) AS day,
TIMESTAMP '2026-01-01' + make_dt_interval(0, {}) AS changed_at"""
_WARM_UP = 2
_NEWEST = 100
"""Changes that are near lie in the newest of so many parts of the source."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A query, and how a dbt `incremental` model writes it.

    Args:
        query: The query.
        changed: The rows that the model writes, with a column `changed_at`; `{newer}` is the
            condition on the source.
        key: The column by which it merges.
    """

    query: str
    changed: str
    key: str


_JOINED = "FROM sales s JOIN customers c ON c.customer = s.customer"
_GROUPS = "SELECT customer, count(*) AS n, sum(amount) AS amount{} FROM sales"
SHAPES = {
    "filter + project": Shape(
        "SELECT id, customer, amount * 2 AS twice FROM sales WHERE day < 60",
        "SELECT id, customer, amount * 2 AS twice, changed_at FROM sales "
        "WHERE day < 60 AND {newer}",
        "id",
    ),
    "1,000,000 groups": Shape(
        f"{_GROUPS.format('')} GROUP BY customer",
        f"{_GROUPS.format(', max(changed_at) AS changed_at')} WHERE customer IN "
        "(SELECT customer FROM sales WHERE {newer}) GROUP BY customer",
        "customer",
    ),
    "join": Shape(
        f"SELECT s.id, s.amount, c.country {_JOINED}",
        f"SELECT s.id, s.amount, c.country, s.changed_at {_JOINED} WHERE s.{{newer}}",
        "id",
    ),
}
_TARGETS = {
    (6_000_000, 0.0001): (0.6, 0.8),
    (20_000_000, 0.0001): (0.3, 0.45),
    (20_000_000, 0.005): (0.6, 0.8),
    (60_000_000, 0.0001): (0.15, 0.3),
    (60_000_000, 0.01): (0.3, 0.6),
}
"""The largest ratio to INSERT OVERWRITE by rows and share: of near changes, and of spread ones."""
_BY_HAND = 1.0
OURS, OVERWRITE, HAND, PIPELINE = "ours", "overwrite", "by hand", "pipeline"
WAYS = (OVERWRITE, HAND, PIPELINE)
"""The ways that ours is compared with."""


def measure(
    confs: Mapping[str, str],
    folder: Path,
    rows: int,
    samples: int,
    shares: Sequence[float],
    shapes: Sequence[str],
    ways: Sequence[str] = WAYS,
) -> list[Measurement]:
    """Change the source and refresh every table, near and spread, for each share.

    Args:
        confs: Of the Spark that is started; it ends with this.
        folder: Where its files go.
        rows: Rows of the source.
        samples: How often each is measured, after two rounds that are not counted.
        shares: Parts of the rows that change.
        shapes: Keys of `SHAPES`.
        ways: Of `WAYS`.
    """
    server = start_serving(confs, folder, folder / "peers.log")
    measurements: list[Measurement] = []
    try:
        source = Source(server.spark, rows)
        chosen = {name: SHAPES[name] for name in shapes}
        with _Pipeline(f"{server.url}/;token={server.token}", folder, chosen) as pipeline:
            sides = _Sides(server.spark, chosen, pipeline, ways)
            for share in shares:
                for is_near in (True, False):
                    rounds = []
                    for _ in range(samples + _WARM_UP):
                        source.change(share, is_near=is_near)
                        rounds.append(sides.round())
                    measurements += _compared(rounds[_WARM_UP:], rows, share, is_near=is_near)
    finally:
        server.spark.stop()
    return measurements


def _compared(
    rounds: Sequence[Mapping[str, Mapping[str, float]]], rows: int, share: float, *, is_near: bool
) -> Iterator[Measurement]:
    of_overwrite = _TARGETS.get((rows, share))
    targets = {
        OVERWRITE: None if of_overwrite is None else of_overwrite[0 if is_near else 1],
        HAND: _BY_HAND,
        PIPELINE: None,
    }
    for shape in rounds[0]:
        taken = {side: tuple(each[shape][side] for each in rounds) for side in rounds[0][shape]}
        for side in [side for side in WAYS if side in taken]:
            name = f"{shape}, {share:.2%} {'near' if is_near else 'spread'}, to {side}"
            yield Measurement(name, taken[OURS], taken[side], most_ratio=targets[side])


class Source:
    """The table `sales`, with a column of change time, and one to join it with."""

    def __init__(self, spark: SparkSession, rows: int) -> None:
        self._spark, self._rows, self._turn = spark, rows, 0
        self._next = rows
        progress("making the source …")
        spark.sql(f"CREATE SCHEMA {SCHEMA}")
        spark.sql(f"USE {SCHEMA}")
        for name, query in (
            ("sales", f"SELECT {_SALES.format(0)} FROM range(0, {rows}, 1, 16)"),
            ("customers", "SELECT id AS customer, id % 200 AS country FROM range(1000000)"),
        ):
            spark.sql(
                f"CREATE TABLE {name} USING delta TBLPROPERTIES ({incremental.SOURCE}) AS {query}"
            )

    def change(self, share: float, *, is_near: bool) -> None:
        """Insert and update rows, half of the share each."""
        self._turn += 1
        half = max(1, round(self._rows * share / 2))
        rows = f"range({self._next}, {self._next + half}, 1, 1)"
        self._spark.sql(f"INSERT INTO sales SELECT {_SALES.format(self._turn)} FROM {rows}")
        first = self._rows - self._rows // _NEWEST if is_near else 0
        every = max(1, (self._rows - first) // half)
        updated = (
            f"id >= {first} AND id < {self._rows} AND pmod(id, {every}) = {self._turn % every}"
        )
        self._spark.sql(
            "UPDATE sales SET amount = amount + 1, "
            f"changed_at = TIMESTAMP '2026-01-01' + make_dt_interval(0, {self._turn}) "
            f"WHERE {updated}"
        )
        self._next += half


class _Sides:
    """The tables of each query, one for each way."""

    def __init__(
        self,
        spark: SparkSession,
        shapes: Mapping[str, Shape],
        pipeline: _Pipeline,
        ways: Sequence[str],
    ) -> None:
        self._spark, self._shapes, self._pipeline = spark, shapes, pipeline
        self._ways = ways
        self._tables = MaterializedTables(spark)
        self._turn = 0
        for place, (name, shape) in enumerate(shapes.items()):
            progress(f"{name}: first build …")
            self._tables.execute(
                f"CREATE MATERIALIZED TABLE ours{place} FRESHNESS = INTERVAL '1' MINUTE "
                f"REFRESH_MODE = CONTINUOUS AS {shape.query}"
            )
            if OVERWRITE in ways:
                spark.sql(f"CREATE TABLE overwritten{place} USING delta AS {shape.query}")
            if HAND in ways:
                rows = shape.changed.format(newer="changed_at IS NOT NULL")
                made = f"CREATE TABLE merged{place} USING delta TBLPROPERTIES ({_VECTORS})"
                spark.sql(f"{made} AS {rows}")
            if PIPELINE in ways:
                pipeline.refresh(place)

    def round(self) -> dict[str, dict[str, float]]:
        """Refresh every table once; return the seconds by shape and side."""
        self._turn += 1
        found: dict[str, dict[str, float]] = {}
        for place, (name, shape) in enumerate(self._shapes.items()):
            works = list(self._works(place, shape).items())
            first = self._turn % len(works)
            taken = {side: seconds_of(work) for side, work in works[first:] + works[:first]}
            found[name] = taken
            shown = ", ".join(f"{side} {seconds:.2f} s" for side, seconds in taken.items())
            progress(f"{name}: {shown}")
        return found

    def _works(self, place: int, shape: Shape) -> dict[str, Callable[[], object]]:
        def merge() -> None:
            (newest,) = self._spark.sql(f"SELECT max(changed_at) FROM merged{place}").collect()[0]
            rows = shape.changed.format(newer=f"changed_at > TIMESTAMP '{newest}'")
            self._spark.sql(
                f"MERGE INTO merged{place} AS t USING ({rows}) AS s ON t.{shape.key} = "
                f"s.{shape.key} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )

        works = {
            OURS: lambda: self._tables.refresh(f"ours{place}"),
            OVERWRITE: lambda: self._spark.sql(
                f"INSERT OVERWRITE overwritten{place} {shape.query}"
            ),
            HAND: merge,
            PIPELINE: lambda: self._pipeline.refresh(place),
        }
        return {side: works[side] for side in works if side in (OURS, *self._ways)}


class _Pipeline:
    """The client of the pipelines, a process of its own.

    Args:
        url: Spark Connect of the Spark that has the source.
        folder: Where its files go.
        shapes: The queries, in the order of their numbers.
    """

    def __init__(self, url: str, folder: Path, shapes: Mapping[str, Shape]) -> None:
        queries = [shape.query for shape in shapes.values()]
        self._process = subprocess.Popen(
            (sys.executable, "-m", "benchmarks.pipelines"),
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        storage = (folder / "pipelines").as_uri()
        self._ask({"url": url, "storage": storage, "schema": SCHEMA, "queries": queries})

    def __enter__(self) -> _Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        self._process.stdin.close()
        self._process.wait()

    def refresh(self, place: int) -> None:
        """Update the materialized view of a query."""
        self._ask(place)

    def _ask(self, document: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if answer.strip() != "done":
            raise RuntimeError(answer or "the client of the pipelines has ended")
