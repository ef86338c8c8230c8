"""Tables over a source whose shape changes at random, compared with their queries."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import BaselineBrokenError, RefreshNotIncrementalError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import outcome, rows
from tests.support.random_shapes import QUERIES, RandomShape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.api import MaterializedTables


class ShapeCase:
    """A source under random changes of its shape, and tables of some queries over it.

    After each change every table equals its query, or its refresh was refused by name: `strict`
    does not compute all rows, and a table that counts from a baseline is suspended.

    Args:
        tables: Its session's current schema gets the tables.
        seed: Chooses queries, options and changes.
        queries: How many queries are tried.
    """

    def __init__(self, tables: MaterializedTables, seed: int, queries: int) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        self.queries = dict(self.random.sample(sorted(QUERIES.items()), queries))
        self.tables = tables
        self.shape = RandomShape(self.random, mapped=self.random.random() < 0.5)
        self.history: list[str] = []
        self.run(self.shape.create())
        for name, query in self.queries.items():
            option = self.random.choice(["auto", "auto", "strict"])
            outcome(
                tables,
                f"CREATE MATERIALIZED TABLE {name} WITH ('incremental' = '{option}') FRESHNESS = "
                f"INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}",
            )
        outcome(
            tables,
            "CREATE MATERIALIZED TABLE started FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = "
            f"CONTINUOUS START_MODE = FROM_NOW AS {QUERIES['added']}",
        )
        self.is_started = True

    def run(self, statements: Iterable[str]) -> None:
        """Run statements of the source, which a failure shows."""
        for statement in statements:
            self.history.append(statement)
            self.tables.sql(statement)

    def step(self) -> None:
        """Change the source, refresh every table and compare."""
        for _ in range(self.random.choice([1, 1, 2])):
            self.run(self.shape.change()[1])
        for name, query in self.queries.items():
            self.refresh(name, query)
        self.follow()

    def refresh(self, name: str, query: str) -> None:
        """Refresh a table, and compare it with its query."""
        shown = (name, self.history)
        try:
            done = self.tables.refresh(name)
        except RefreshNotIncrementalError:
            done = self.tables.refresh(name, force=True)
        expected = rows(self.tables, query)
        assert rows(self.tables, f"SELECT * FROM {name}") == expected, (done, shown)
        assert self.tables.refresh(name).status is RefreshResult.UP_TO_DATE, shown

    def follow(self) -> None:
        """Refresh the table that counts from its start: it follows, or it is suspended."""
        if not self.is_started:
            return
        before = rows(self.tables, "SELECT * FROM started")
        try:
            self.tables.refresh("started")
        except BaselineBrokenError:
            self.is_started = False
            assert rows(self.tables, "SELECT * FROM started") == before
            return
        query = f"{QUERIES['added']} WHERE id >= 40"
        assert rows(self.tables, "SELECT * FROM started") == rows(self.tables, query), self.history
