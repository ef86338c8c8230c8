"""The dbt package of macros with plain dbt-spark, over the manager's Spark Connect server."""

from __future__ import annotations

import sys

import pytest

from dbt.adapters.spark_mt.client import discovery
from tests.clients.shop import SPARK, project


@pytest.mark.conformance
def test_models_with_plain_dbt_spark(manager, tmp_path):
    """Seeds, models with their tests and a snapshot of them."""
    found = discovery.read(manager.file)
    remote = {"SPARK_REMOTE": f"{found.connect_url}/;token={found.connect_token}"}
    dbt = (sys.executable, "-m", "dbt.cli.main", "--no-use-colors")
    shop = project(tmp_path, dbt, {**SPARK, "schema": "packaged"}, remote)
    output = shop.succeeds("build", "--select", "+history")
    assert "PASS=11" in output, output
