"""One Spark whose warehouse, checkpoints and system tables are on S3; each test gets a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.functional.engine.conftest import schema, session, started
from tests.lake.object_store import running_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.lake.object_store import ObjectStore

__all__ = ["schema", "session"]

CONFIRMED = {"spark.materialized-table.single-driver": "true"}


@pytest.fixture(scope="session")
def store() -> Iterator[ObjectStore]:
    """S3 in a process of its own."""
    with running_store() as running:
        yield running


@pytest.fixture(scope="session")
def spark(store: ObjectStore) -> Iterator[SparkSession]:
    """A driver that is the only one, and that says so."""
    confs = store.confs("warehouse")
    warehouse = confs.pop("spark.sql.warehouse.dir")
    yield from started(warehouse, **confs, **CONFIRMED)
