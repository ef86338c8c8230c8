"""A small shop in memory, as a command sees it that has opened a session."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.cli import session
from dbt.adapters.spark_mt.cli.session import Rows, Session
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.execution.repair import Repairs
from dbt.adapters.spark_mt.spark.launch.session import StageProgress
from tests.behaviour.memory import MemoryTables
from tests.support.memory.repair import MemoryCorrections, MemoryScan

if TYPE_CHECKING:
    from tests.support.memory.environment import MemoryEnvironment

ORDERS = "SELECT product, amount FROM orders"
DAILY = "SELECT product FROM daily"
OTHER = "SELECT amount FROM orders"


class ShopTables(TableOperations):
    """The facade on tables in memory."""

    def __init__(self, memory: MemoryEnvironment) -> None:
        super().__init__(memory.value)
        self._memory = memory

    def repair(self):
        """Rebuild the registry."""
        scan, corrections = MemoryScan(self._memory.catalog), MemoryCorrections(self._memory.log)
        return Repairs(self.environment, self._memory.log, scan, corrections).repair(
            "spark_catalog"
        )


class Shop:
    """`orders`, and over it `daily` and `other`; `best` reads `daily`.

    Attributes:
        requested: The statements that went to Spark.
        opened: The places where sessions were opened.
        broken: Raised by the queries of these tables' names.
    """

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=timezone.utc)
        self.tables = MemoryTables(clock=lambda: self.now)
        self.requested: list[str] = []
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

    def local(self) -> Session:
        """A session with the tables."""
        tables = ShopTables(self.tables.memory)
        return Session(tables, self._run, lambda: StageProgress(1, 4))

    def _run(self, statement: str, limit: int) -> Rows:
        self.requested.append(statement)
        found = tuple((number, f"row {number}") for number in range(3))
        return Rows(("n", "text"), found[:limit], len(found) > limit)

    def install(self, monkeypatch) -> None:
        """Let commands find this shop instead of starting Spark."""

        @contextmanager
        def open_session(place):
            self.opened.append(place)
            yield self.local()

        monkeypatch.setattr(session, "open_session", open_session)
