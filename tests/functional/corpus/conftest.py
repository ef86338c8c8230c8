"""One Spark that plans as a user's does, and a share of the corpora that runs in it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.corpus.corpora import CONFS, Run, Selection
from tests.corpus.jars import tests_jar
from tests.corpus.results import report
from tests.functional.engine.conftest import schema, session, started, warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.corpus.results import Result

__all__ = ["schema", "session", "warehouse"]

SHARE_OF_TPCDS = 0.01
SHARE_OF_SQL_TESTS = 0.0003
"""What CI runs; CORPUS_SHARE replaces both."""

_RESULTS: list[Result] = []


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    """As the Spark of the tests of the engine, with adaptive execution."""
    yield from started(warehouse, **CONFS)


@pytest.fixture(scope="session")
def results(spark: SparkSession) -> list[Result]:
    """What was seen of the queries that the seed draws."""
    jar, found = tests_jar(), _RESULTS
    tpcds = Run(spark, jar, Selection.of_environment(SHARE_OF_TPCDS), frozenset(), found.append)
    tests = Run(spark, jar, Selection.of_environment(SHARE_OF_SQL_TESTS), frozenset(), found.append)
    tpcds.run((*tpcds.tpcds(), *tests.sql_tests()))
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how the tables were refreshed."""
    if _RESULTS:
        terminalreporter.section("corpora")
        for line in report(_RESULTS):
            terminalreporter.write_line(line)
