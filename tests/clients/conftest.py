"""A manager, and clients in environments of their own, which `tests/clients/setup.sh` makes."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.client import discovery
from tests.faults.server import ROOT
from tests.functional.processes.serving import serving

ENVIRONMENTS = ROOT / ".work" / "clients"


@pytest.fixture(scope="session")
def manager(tmp_path_factory):
    """A manager with an empty warehouse."""
    with serving(tmp_path_factory.mktemp("home")) as manager:
        yield manager


@pytest.fixture(scope="session")
def remote(manager):
    """The address of its Spark Connect server, with the token."""
    return f"{manager.connect_url}/;token={discovery.read(manager.file).connect_token}"


@pytest.fixture(scope="session")
def spark(remote):
    """A session that looks at what clients made."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(remote).create()
    yield spark
    spark.client.close()
