"""One manager for all tests, in one Spark; each test gets a schema of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.reconciler import ManagerPolicy
from dbt.adapters.spark_mt.manager.views import Role
from tests.functional.engine.conftest import schema, session, started, warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.manager.service import Manager
    from dbt.adapters.spark_mt.manager.views import TableView

__all__ = ["schema", "session", "warehouse"]

QUICK = ManagerPolicy(tick=500, suspend_after=3, compact_after=2)
_PATIENCE_S = 300
_POLL_S = 0.25
"""Polls are queries on the same cores as what they wait for."""


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    """The engine's Spark."""
    yield from started(warehouse)


@pytest.fixture(scope="session")
def manager(spark: SparkSession) -> Iterator[Manager]:
    """A manager that keeps everything fresh for as long as the tests run."""
    running = assemble(spark, QUICK, Identity(version="test"))
    running.start()
    until(lambda: running.manager.about().role is Role.ACTIVE)
    yield running.manager
    assert running.stop(60)
    assert running.manager.about().role is Role.STOPPING


def until(holds: Callable[[], object], patience_s: float = _PATIENCE_S) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(_POLL_S)


@dataclass(frozen=True)
class Shop:
    """A schema with a source table, and a manager."""

    manager: Manager
    session: SparkSession
    schema: str

    def execute(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Carry out a statement in a connection that knows nothing of the manager."""
        result = MaterializedTables(self.session).execute(statement)
        return result.rows if result else ()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query, sorted."""
        return sorted(tuple(row) for row in self.session.sql(query).collect())

    def view(self, name: str) -> TableView:
        """Return what the manager shows of a table, as soon as it knows of it."""
        full = f"spark_catalog.{self.schema}.{name}"
        found: list[TableView] = []
        until(lambda: found.extend(v for v in self.manager.tables() if v.name == full) or found)
        return found[0]

    def until_rows(self, query: str, rows: list[tuple[object, ...]]) -> None:
        """Wait until a query has these rows."""
        until(lambda: self.rows(query) == rows)


@pytest.fixture
def shop(manager: Manager, session: SparkSession, schema: str) -> Iterator[Shop]:
    """A source table `orders` of three rows; what was made of it is dropped at the end."""
    session.sql("CREATE TABLE orders (id INT, k INT, v INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)")
    shop = Shop(manager, session, schema)
    yield shop
    tables = MaterializedTables(session)
    for name in tables.names(schema):
        tables.execute(f"DROP MATERIALIZED TABLE {name}")
    manager.wake()
    until(lambda: not any(f".{schema}." in view.name for view in manager.tables()))
