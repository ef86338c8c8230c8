"""Clients change and refresh one table at the same time, and are killed at random times."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    CommitConflictError,
    MaterializedTableError,
    UnfinishedChangeError,
)
from tests.behaviour.suite import SUMS, WIDER
from tests.faults.checks import (
    NOT_FOUND,
    assert_history,
    assert_nothing_is_left,
    attempt,
    look,
    rows_now,
)
from tests.faults.victims import connect, dice, killed_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

CLIENTS = 3
KILLS = 60
_LIVES_S = (0.3, 6.0)
EXPECTED = frozenset(
    error.condition
    for error in (
        AlreadyResumedError,
        AlreadySuspendedError,
        CommitConflictError,
        UnfinishedChangeError,
    )
)
_GONE = frozenset({NOT_FOUND, conditions.INITIALIZING.name, conditions.REFRESH_FAILED.name})
CHANGES = (
    "ALTER MATERIALIZED TABLE t REFRESH",
    f"CREATE OR REPLACE MATERIALIZED TABLE t COMMENT 'replaced' AS {SUMS}",
    f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'wider' CLUSTER BY (k) AS {WIDER}",
    f"CREATE OR REPLACE MATERIALIZED TABLE t (k INT COMMENT 'key', total BIGINT) AS {SUMS}",
    "ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' DAY",
    "ALTER MATERIALIZED TABLE t SUSPEND",
    "ALTER MATERIALIZED TABLE t RESUME",
)
COMING_AND_GOING = (
    "DROP MATERIALIZED TABLE IF EXISTS t",
    f"CREATE MATERIALIZED TABLE IF NOT EXISTS t AS {SUMS}",
    f"CREATE OR REPLACE MATERIALIZED TABLE t COMMENT 'wider' CLUSTER BY (k) AS {WIDER}",
    f"CREATE OR REPLACE MATERIALIZED TABLE t (k INT COMMENT 'key', total BIGINT) AS {SUMS}",
    "ALTER MATERIALIZED TABLE t REFRESH",
)


@dataclass(frozen=True)
class Work:
    """What a client does.

    Args:
        statements: What it chooses from.
        report: The file for what must not happen.
    """

    url: str
    schema: str
    statements: Sequence[str]
    report: Path

    def __call__(self, seed: str) -> None:
        """Carry out statements until the end of the process."""
        tables = MaterializedTables(connect(self.url, self.schema))
        chance = dice(seed)
        expected = EXPECTED if self.statements == CHANGES else EXPECTED | _GONE
        while True:
            statement = chance.choice(self.statements)
            try:
                tables.execute(statement)
            except MaterializedTableError as error:
                if error.condition not in expected:
                    self._write(f"{statement}: {error}")
            except Exception as error:  # noqa: BLE001 - the test reads what it was
                self._write(f"{statement}: {type(error).__name__}: {error}")

    def _write(self, text: str) -> None:
        with self.report.open("a", encoding="utf-8") as file:  # one write, appended whole
            file.write(text.replace("\n", " ") + os.linesep)


@dataclass
class Client:
    """One after the other, processes that work and are killed.

    Args:
        lives_s: How long each lives.
    """

    work: Work
    seed: str
    lives_s: list[float]
    killed: int = 0
    thread: Thread = field(init=False)

    def start(self) -> None:
        """Begin in a thread."""
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        for number, life_s in enumerate(self.lives_s):
            self.killed += killed_after(life_s, self.work, (f"{self.seed} {number}",))


@pytest.fixture
def tables(session, schema, server) -> Iterator[MaterializedTables]:
    """Materialized tables with the table `t` over `orders`; nothing may be left in the end."""
    tables = MaterializedTables(session)
    tables.sql("CREATE TABLE orders (k INT, day STRING, amount INT) USING delta")
    tables.sql("INSERT INTO orders VALUES (1, 'a', 5), (2, 'a', -5)")
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    yield tables
    assert_nothing_is_left(tables, schema, server.warehouse / f"{schema}.db")


@pytest.fixture
def clients_of(tables, server, chance, tmp_path) -> Callable[[Sequence[str]], list[Client]]:
    """Makes the clients that choose from some statements."""
    schema = tables._spark.catalog.currentDatabase()
    lives = [chance.uniform(*_LIVES_S) for _ in range(KILLS)]

    def clients(statements: Sequence[str]) -> list[Client]:
        return [
            Client(
                Work(server.url, schema, statements, tmp_path / "report"),
                f"{chance.random()}",
                lives[number::CLIENTS],
            )
            for number in range(CLIENTS)
        ]

    return clients


@pytest.mark.parametrize(
    "statements",
    [pytest.param(CHANGES, id="changes"), pytest.param(COMING_AND_GOING, id="coming and going")],
)
def test_clients_are_killed_at_random_times(tables, clients_of, statements, chance, kills):
    clients = clients_of(statements)
    for client in clients:
        client.start()
    reads = 0
    while any(client.thread.is_alive() for client in clients):
        amount = chance.randrange(1, 100)
        tables.sql(f"INSERT INTO orders VALUES (1, 'b', {amount}), (2, 'b', -{amount})")
        if statements == CHANGES:
            assert_whole(rows_now(tables._spark))
            reads += 1
    name = "changes" if statements == CHANGES else "coming and going"
    kills[f"storm of {name}", "random times"] += sum(client.killed for client in clients)
    report = clients[0].work.report
    assert (report.read_text() if report.exists() else "") == ""
    assert statements != CHANGES or reads > KILLS / 10
    settle(tables)


def settle(tables: MaterializedTables) -> None:
    """Whatever the clients left, a few statements lead to the wanted table with nothing else."""
    schema = tables._spark.catalog.currentDatabase()
    final = f"CREATE OR REPLACE MATERIALIZED TABLE t COMMENT 'final' AS {WIDER}"
    assert attempt(tables, f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'final' AS {WIDER}") == ""
    assert attempt(tables, "ALTER MATERIALIZED TABLE t RESUME") in {"", *EXPECTED}
    assert attempt(tables, "ALTER MATERIALIZED TABLE t REFRESH") == ""
    wanted = sorted(tuple(row) for row in tables.sql(WIDER).collect())
    assert look(tables, schema).rows == wanted
    assert tables.names(schema) == {"t"}
    assert assert_history(tables) > 0
    assert attempt(tables, final) == ""
    assert look(tables, schema).rows == wanted


def assert_whole(rows: list[tuple] | None) -> None:
    """Every state that the source ever had sums up to nothing, with one row for each key."""
    assert rows is not None
    assert [row[0] for row in rows] == [1, 2]
    assert sum(row[1] for row in rows) == 0
