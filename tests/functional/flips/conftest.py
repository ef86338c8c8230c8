"""The engine's Spark with Delta, in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.functional.engine.conftest import SHORT, schema, session, started, warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["schema", "session", "warehouse"]


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    """The engine's Spark."""
    yield from started(warehouse, **SHORT)
