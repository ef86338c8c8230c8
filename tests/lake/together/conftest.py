"""A Spark Connect server on a cluster, whose tables are on S3 and in a Hive Metastore."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.faults.fixtures import (
    chance,
    kills,
    pytest_report_header,
    pytest_terminal_summary,
    warm_up,
)
from tests.faults.server import serving
from tests.lake.hive_metastore import running_metastore
from tests.lake.object_store import running_store
from tests.lake.standalone import running_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.faults.server import Server
    from tests.lake.object_store import Folder, ObjectStore
    from tests.lake.standalone import Cluster

    Confs = dict[str, str]

__all__ = ["chance", "kills", "pytest_report_header", "pytest_terminal_summary"]

_CONFS = {
    "spark.sql.catalogImplementation": "hive",
    "spark.log.level": "WARN",  # the log names a worker that is lost
    "spark.materialized-table.single-driver": "true",
}


@dataclass(frozen=True)
class Lake:
    """All of it.

    Args:
        server: The driver; it is the only one.
        cluster: Has its executors.
        warehouse: Its tables.
    """

    server: Server
    cluster: Cluster
    warehouse: Folder


@contextmanager
def driverless(folder: Callable[[str], Path]) -> Iterator[tuple[ObjectStore, Cluster, Confs]]:
    """Run S3, PostgreSQL, a metastore and a cluster; the confs are those of a driver on them."""
    with (
        running_store() as store,
        running_metastore(folder("metastore"), store.confs("warehouse")) as metastore,
        running_cluster(folder("cluster")) as cluster,
    ):
        yield store, cluster, {**metastore.confs, **cluster.confs(), **_CONFS}


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """All of it, warm and with a registry."""
    folder = tmp_path_factory.mktemp
    with (
        driverless(folder) as (store, cluster, confs),
        serving(folder("server"), confs) as server,
    ):
        warm_up(server)
        yield Lake(server, cluster, store.folder("warehouse"))
