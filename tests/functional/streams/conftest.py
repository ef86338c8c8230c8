"""One Spark with Delta and Kafka's connector, one broker; each test gets schema and topics."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.kafka.broker import running_broker
from tests.kafka.jars import connector_jars
from tests.kafka.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_CONFS = {
    "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.driver.memory": "2g",
    "spark.log.level": "OFF",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session with an in-memory catalog."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).disabled = True
    builder = SparkSession.builder.master("local[2]").appName("dbt-spark-mt streams")
    for key, value in _CONFS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.jars", ",".join(connector_jars()))
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    session = builder.config("spark.sql.warehouse.dir", warehouse).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Kafka broker that all tests share."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as servers:
        yield servers


@pytest.fixture(scope="session")
def topics(spark: SparkSession, broker: str) -> Iterator[Topics]:
    """What makes and fills topics; tests name theirs after their schema."""
    made = Topics(spark, broker)
    yield made
    made.close()


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
