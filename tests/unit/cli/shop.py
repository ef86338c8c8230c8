"""A small shop in memory, as a command sees it that has opened a session."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from dbt.adapters.spark_mt import cli_spark
from dbt.adapters.spark_mt.cli_tables import LocalTables, Rows, Session
from dbt.adapters.spark_mt.execution.memory.repair import MemoryCorrections, MemoryScan
from dbt.adapters.spark_mt.execution.recent import Recent
from dbt.adapters.spark_mt.execution.repair import Repairs
from dbt.adapters.spark_mt.spark.progress import StageProgress
from tests.behaviour.memory import MemoryTables

ORDERS = "SELECT product, amount FROM orders"
DAILY = "SELECT product FROM daily"
OTHER = "SELECT amount FROM orders"


class Shop:
    """`orders`, and over it `daily` and `other`; over `daily` stands `best`.

    Attributes:
        asked: The statements that went to Spark.
        opened: The places where sessions were opened.
        broken: Raised by the queries of these tables' names.
    """

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
        self.tables = MemoryTables(clock=lambda: self.now)
        self.asked: list[str] = []
        self.opened: list[object] = []
        self.broken: dict[str, Exception] = {}
        tables = self.tables
        tables.source("orders", "product STRING; amount INT", [("pen", 1), ("ink", 2)])
        tables.learn(ORDERS, "product STRING; amount INT", self._query("daily", "orders"))
        tables.learn(OTHER, "product STRING; amount INT", self._query("other", "orders"))
        tables.learn(DAILY, "product STRING; amount INT", self._query("best", "daily"))

    def _query(self, name, source):
        def evaluate(relations):
            if name in self.broken:
                raise self.broken[name]
            return list(relations[source])

        return evaluate

    def create(self, name: str, query: str, clauses: str = "") -> None:
        """Make a table."""
        self.tables.execute(f"CREATE MATERIALIZED TABLE {name} {clauses} AS {query}")

    def all(self) -> None:
        """Make them, such that the names' order is not that of what they read."""
        self.create("daily", ORDERS)
        self.create("other", OTHER)
        self.create("best", DAILY, "FRESHNESS = INTERVAL '1' HOUR")

    def sell(self) -> None:
        """Let the sources move."""
        self.tables.append("orders", [("cap", 3)])

    def wait(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)

    def _repairs(self, environment) -> Repairs:
        memory = self.tables.memory
        scan, corrections = MemoryScan(memory.catalog), MemoryCorrections(memory.log)
        return Repairs(environment, memory.log, scan, corrections)

    def local(self) -> LocalTables:
        """The tables through a session."""
        environment = replace(self.tables.environment, recent=Recent())
        return LocalTables(
            Session(
                environment=environment,
                registry=self.tables.memory.log,
                catalog="spark_catalog",
                forget=self.tables.forget,
                run=self._run,
                progress=lambda: StageProgress(1, 4),
                repair=lambda: self._repairs(environment).repair("spark_catalog"),
            )
        )

    def _run(self, statement: str, limit: int) -> Rows:
        self.asked.append(statement)
        found = tuple((number, f"row {number}") for number in range(3))
        return Rows(("n", "text"), found[:limit], len(found) > limit)

    def install(self, monkeypatch) -> None:
        """Let commands find this shop instead of starting Spark."""

        @contextmanager
        def open_tables(place):
            self.opened.append(place)
            yield self.local()

        monkeypatch.setattr(cli_spark, "open_tables", open_tables)
