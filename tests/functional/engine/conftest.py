"""One Spark with Delta for all tests of the engine; each test gets a schema of its own."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.spark.launch.class_archive import archived_classes
from tests.support import jvm_options
from tests.support.delta_package import delta_confs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_CONFS = {
    **delta_confs(),
    "spark.buffer.pageSize": "1m",  # the least; tables have few rows
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    jvm_options.OPTIONS: jvm_options.SHORT,
    "spark.driver.memory": "3g",
    "spark.log.level": "OFF",
    "spark.sql.adaptive.enabled": "false",
    # tables have few rows: compiling classes for each query is a quarter of the time
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.ui.retainedExecutions": "10",  # Spark keeps the plans of the last 1,000 statements
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The absolute path of the directory that holds the tables of this test run."""
    return str(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    """A classic session with Delta and an in-memory catalog; starting it takes about 15 s."""
    yield from started(warehouse)


def started(warehouse: str, **more: str) -> Iterator[SparkSession]:
    """Start Spark with Delta, and stop it afterwards; `more` are confs besides the common ones."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).disabled = True
    builder = SparkSession.builder.master("local[2]").appName("dbt-spark-mt tests")
    confs = {**_CONFS, **more}
    for key, value in confs.items():
        builder = builder.config(key, value)
    with archived_classes(confs):
        session = builder.config("spark.sql.warehouse.dir", warehouse).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session whose temporary objects, confs and current schema no other test sees."""
    return spark.newSession()


@pytest.fixture
def schema(session: SparkSession) -> Iterator[str]:
    """A fresh schema that is the current one of `session`, dropped at the end."""
    name = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE spark_catalog.default")
    session.sql(f"DROP SCHEMA {name} CASCADE")
