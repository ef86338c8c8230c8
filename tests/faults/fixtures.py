"""The server, the seed and the count of kills that the suites of killed processes share."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.faults.server import Server, serving
from tests.faults.victims import dice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from pyspark.sql import SparkSession

__all__ = [
    "chance",
    "kills",
    "pytest_report_header",
    "pytest_terminal_summary",
    "schema",
    "server",
    "server_confs",
    "session",
]

SEED = "FAULTS_SEED"
_WARM_UP = (
    "CREATE SCHEMA warm_up",
    "USE warm_up",
    "CREATE TABLE orders USING delta AS SELECT 1 AS k",
    "CREATE MATERIALIZED TABLE t AS SELECT k FROM orders",
    "DROP MATERIALIZED TABLE t",
)
_KILLS: Counter[tuple[str, str]] = Counter()


def _seed() -> str:
    """The seed of all random times; whoever asks first makes it, as `-q` prints no header."""
    return os.environ.setdefault(SEED, str(secrets.randbelow(10**6)))


def pytest_report_header() -> str:
    """Print the seed of all random times, and how to have them again."""
    return f"random times: {SEED}={_seed()}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the kills by plan and moment."""
    if not _KILLS:
        return
    terminalreporter.section("kills")
    for (plan, moment), count in sorted(_KILLS.items()):
        terminalreporter.write_line(f"{count:5}  {plan}: {moment}")
    plans = Counter[str]()
    for (plan, _), count in _KILLS.items():
        plans[plan] += count
    listed = ", ".join(f"{plan} {count}" for plan, count in sorted(plans.items()))
    total = sum(_KILLS.values())
    terminalreporter.write_line(f"{total} kills with {SEED}={_seed()}: {listed}")


@pytest.fixture(scope="session")
def kills() -> Counter[tuple[str, str]]:
    """Counts kills by plan and moment."""
    return _KILLS


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> Random:
    """Random numbers that depend on the seed and the test's name only."""
    return dice(f"{_seed()} {request.node.name}")


@pytest.fixture(scope="session")
def server_confs() -> Mapping[str, str]:
    """More confs of the server; a suite may have its own."""
    return {}


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, server_confs: Mapping[str, str]
) -> Iterator[Server]:
    """A server with Delta and an in-memory catalog, warm and with a registry."""
    with serving(tmp_path_factory.mktemp("server"), server_confs) as server:
        warm_up(server)
        yield server


def warm_up(server: Server) -> None:
    """Let a server make its registry, and load the classes of Delta."""
    session = server.session()
    for statement in _WARM_UP:
        MaterializedTables(session).sql(statement)


@pytest.fixture
def session(server: Server) -> SparkSession:
    """A session of the test's own."""
    return server.session()


@pytest.fixture
def schema(session: SparkSession) -> Iterator[str]:
    """A fresh schema that is the current one of `session`."""
    name = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql(f"DROP SCHEMA {name} CASCADE")
