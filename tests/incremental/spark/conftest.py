"""One Spark with Delta, as that of the tests of the engine; sources of any size may be changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.spark.tables import result_changes
from dbt.adapters.spark_mt.strategies import differential
from tests.functional.engine.conftest import schema, session, spark, warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.incremental.spark.benchmark import Benchmark

__all__ = ["schema", "session", "spark", "warehouse"]


@pytest.fixture(scope="session", autouse=True)
def any_size() -> Iterator[None]:
    """Derive changes where computing all rows is faster: tables of tests have few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differential, "SMALLEST_SOURCES", 0)
        patch.setattr(differential, "slower", lambda *_: None)
        patch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
        patch.setattr(result_changes, "SMALLEST_RATIO", 0)
        yield


_SUMMARIES: dict[str, list[str]] = {}


@pytest.fixture(scope="session")
def finished() -> Callable[[Benchmark], Iterator[Benchmark]]:
    """Keeps the summary of a benchmark for the end of the run."""

    def of(benchmark: Benchmark) -> Iterator[Benchmark]:
        yield benchmark
        _SUMMARIES[benchmark.title] = list(benchmark.summary())

    return of


@pytest.fixture(scope="session")
def counts() -> Iterator[Counter[str]]:
    """How random queries were created and refreshed, for the end of the run."""
    found: Counter[str] = Counter()
    yield found
    _SUMMARIES["random queries"] = [f"{number:5} {what}" for what, number in found.most_common()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how the tables of each benchmark were refreshed."""
    for title, lines in _SUMMARIES.items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)
