"""Clients change and refresh one table at the same time, and are killed at random times."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from tests.behaviour.suite import SUMS, WIDER
from tests.faults.checks import assert_history, assert_nothing_is_left, attempt, look, rows_now
from tests.faults.victims import connect, dice, killed_after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLIENTS = 3
KILLS = 60
_LIVES_S = (0.3, 6.0)
_EXPECTED = frozenset(
    error.condition
    for error in (
        AlreadyResumedError,
        AlreadySuspendedError,
        CommitConflictError,
        UnfinishedChangeError,
    )
)
STATEMENTS = (
    "ALTER MATERIALIZED TABLE t REFRESH",
    f"CREATE OR REPLACE MATERIALIZED TABLE t COMMENT 'replaced' AS {SUMS}",
    f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'wider' CLUSTER BY (k) AS {WIDER}",
    f"CREATE OR REPLACE MATERIALIZED TABLE t (k INT COMMENT 'key', total BIGINT) AS {SUMS}",
    "ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' DAY",
    "ALTER MATERIALIZED TABLE t SUSPEND",
    "ALTER MATERIALIZED TABLE t RESUME",
)


def work(url: str, schema: str, seed: str, report: str) -> None:
    """Carry out statements until the end of the process; write down what must not happen."""
    tables = MaterializedTables(connect(url, schema))
    chance = dice(seed)
    while True:
        statement = chance.choice(STATEMENTS)
        try:
            tables.execute(statement)
        except MaterializedTableError as error:
            if error.condition not in _EXPECTED:
                _write(report, f"{statement}: {error}")
        except Exception as error:  # noqa: BLE001 - the test reads what it was
            _write(report, f"{statement}: {type(error).__name__}: {error}")


def _write(report: str, text: str) -> None:
    with open(report, "a", encoding="utf-8") as file:  # noqa: PTH123 - one write, appended whole
        file.write(text.replace("\n", " ") + os.linesep)


@dataclass
class Client:
    """One after the other, processes that work and are killed.

    Args:
        lives_s: How long each lives.
    """

    url: str
    schema: str
    seed: str
    report: Path
    lives_s: list[float]
    killed: int = 0
    thread: Thread = field(init=False)

    def start(self) -> None:
        """Begin in a thread."""
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        for number, life_s in enumerate(self.lives_s):
            arguments = (self.url, self.schema, f"{self.seed} {number}", str(self.report))
            self.killed += killed_after(life_s, work, arguments)


@pytest.fixture
def tables(session, schema, server) -> Iterator[MaterializedTables]:
    """Materialized tables with the table `t` over `orders`; nothing may be left in the end."""
    tables = MaterializedTables(session)
    tables.sql("CREATE TABLE orders (k INT, day STRING, amount INT) USING delta")
    tables.sql("INSERT INTO orders VALUES (1, 'a', 5), (2, 'a', -5)")
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    yield tables
    assert_nothing_is_left(tables, schema, server.warehouse / f"{schema}.db")


def test_clients_are_killed_at_random_times(tables, server, chance, tmp_path, kills):
    session, schema = tables._spark, tables._spark.catalog.currentDatabase()
    report = tmp_path / "report"
    lives = [chance.uniform(*_LIVES_S) for _ in range(KILLS)]
    clients = [
        Client(server.url, schema, f"{chance.random()}", report, lives[number::CLIENTS])
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    reads = 0
    while any(client.thread.is_alive() for client in clients):
        amount = chance.randrange(1, 100)
        session.sql(f"INSERT INTO orders VALUES (1, 'b', {amount}), (2, 'b', -{amount})")
        assert_whole(rows_now(session))
        reads += 1
    kills["storm", "random times"] += sum(client.killed for client in clients)
    problems = report.read_text() if report.exists() else ""
    assert not problems
    assert reads > KILLS / 10
    final = f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'wider' AS {WIDER}"
    assert attempt(tables, final) == ""
    assert attempt(tables, "ALTER MATERIALIZED TABLE t RESUME") in {"", *_EXPECTED}
    assert attempt(tables, "ALTER MATERIALIZED TABLE t REFRESH") == ""
    assert look(tables, schema).rows == sorted(tuple(r) for r in session.sql(WIDER).collect())
    assert tables.names(schema) == {"t"}
    assert assert_history(tables) > 1


def assert_whole(rows: list[tuple] | None) -> None:
    """Every state that the source ever had sums up to nothing, with one row for each key."""
    assert rows is not None
    assert [row[0] for row in rows] == [1, 2]
    assert sum(row[1] for row in rows) == 0
