"""One Spark with Delta's catalog, a database as a second catalog, and Delta's catalog again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.functional.engine.conftest import schema, session, started, warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["schema", "session", "warehouse"]

CATALOGS = {
    "spark.sql.catalog.shop": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "spark.sql.catalog.shop.url": "jdbc:derby:memory:shop;create=true",
    "spark.sql.catalog.shop.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "spark.sql.catalog.second": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    yield from started(warehouse, **CATALOGS)
