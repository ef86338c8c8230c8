"""One Spark in client mode on a standalone cluster; each test gets a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.functional.engine.conftest import schema, session, started, warehouse
from tests.lake.standalone import running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.lake.standalone import Cluster

__all__ = ["schema", "session", "warehouse"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def spark(warehouse: str, cluster: Cluster) -> Iterator[SparkSession]:
    """The engine's Spark, whose tasks run in the workers."""
    yield from started(warehouse, **cluster.confs())
