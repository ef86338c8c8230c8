"""When a dbt that runs a Spark of its own asks who manages a catalog."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt import connections
from dbt.adapters.spark_mt.connections import ConnectionMethod, SparkMTCredentials
from dbt.adapters.spark_mt.execution.leases import LeaseCache, Managers
from dbt.adapters.spark_mt.spark.launch import session

SERVICE = {"spark.hadoop.hive.metastore.uris": "thrift://metastore:9083"}


class Leases:
    """A log of leases that notes what is read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def newest(self, catalog: str) -> None:
        self.read.append(catalog)


@pytest.fixture
def read(monkeypatch, tmp_path):
    """Opens a connection; returns the catalogs whose leases are read then."""
    monkeypatch.chdir(tmp_path)
    names = ("SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
    for name in (*names, "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    spark = SimpleNamespace(newSession=SimpleNamespace)
    monkeypatch.setattr(session, "classic_spark", lambda *_: spark)
    monkeypatch.setattr(session, "apply_confs", lambda *_: ())

    def read(confs, *, is_running=False):
        monkeypatch.setattr(session, "is_running_here", lambda: is_running)
        credentials = SparkMTCredentials(
            schema="shop", method=ConnectionMethod.session, server_side_parameters=confs
        )
        leases, cache = Leases(), LeaseCache()
        connections._open_handle(credentials, cache)
        managers = Managers(leases, None, lambda: 2**50, cache)
        for catalog in ("spark_catalog", "lake"):
            assert managers.live(catalog) is None
        return leases.read

    return read


def test_derby_serves_one_process_so_its_catalog_has_no_manager(read):
    assert read({}) == ["lake"]


def test_a_metastore_service_may_serve_a_manager(read):
    assert read(SERVICE) == ["spark_catalog", "lake"]


def test_a_spark_that_ran_before_may_be_that_of_a_manager(read):
    assert read({}, is_running=True) == ["spark_catalog", "lake"]
