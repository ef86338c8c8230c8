"""One Hive Metastore, and one Spark of the tests that uses it; each test gets a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.fixtures import chance, kills, pytest_report_header, pytest_terminal_summary
from tests.functional.engine.conftest import schema, session, started
from tests.lake.hive_metastore import running_metastore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.lake.hive_metastore import HiveMetastore

__all__ = [
    "chance",
    "kills",
    "pytest_report_header",
    "pytest_terminal_summary",
    "schema",
    "session",
]


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    """A metastore on PostgreSQL, as processes of their own."""
    with running_metastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


@pytest.fixture(scope="session")
def spark(metastore: HiveMetastore) -> Iterator[SparkSession]:
    """The engine's Spark over the metastore."""
    confs = {**metastore.confs, "spark.sql.catalogImplementation": "hive"}
    warehouse = confs.pop("spark.sql.warehouse.dir")
    yield from started(warehouse, **confs)
