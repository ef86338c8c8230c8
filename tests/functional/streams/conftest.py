"""One Spark with Delta and Kafka's connector, one broker; each test gets schema and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.releases import minor_of
from dbt.adapters.spark_mt.spark.delta.releases import pyspark_version
from tests.functional.engine.conftest import schema, session, started, warehouse
from tests.kafka.broker import running_broker
from tests.kafka.jars import CONNECTOR_FOR, connector_jars
from tests.kafka.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["schema", "session", "warehouse"]


@pytest.fixture(scope="session")
def spark(warehouse: str) -> Iterator[SparkSession]:
    """The engine's Spark with Kafka's connector, where the connector is made for this Spark."""
    has_connector = minor_of(pyspark_version()) == CONNECTOR_FOR
    jars = {"spark.jars": ",".join(connector_jars())} if has_connector else {}
    yield from started(warehouse, **jars)


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
