"""What `dbt debug` and `spark-mt serve` answer where a second driver would lose commits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CONFIRMATION = "spark.materialized-table.single-driver: true"
LOG_STORE = "spark.delta.logStore.s3a.impl: io.delta.storage.S3DynamoDBLogStore"


@pytest.fixture
def project(tmp_path):
    """A dbt project whose warehouse is on S3."""
    confs = {"spark.sql.warehouse.dir": "s3a://lake/warehouse"}
    target = {
        "type": "spark_mt",
        "method": "session",
        "schema": "shop",
        "server_side_parameters": confs,
    }
    profiles = {"shop": {"target": "test", "outputs": {"test": target}}}
    project = {"name": "shop", "version": "1.0", "profile": "shop", "config-version": 2}
    (tmp_path / "profiles.yml").write_text(json.dumps(profiles))
    (tmp_path / "dbt_project.yml").write_text(json.dumps(project))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "dbt.cli.main", "debug"],
        ["-m", "dbt.adapters.spark_mt.cli.main", "serve", "--port", "0"],
        ["-m", "dbt.adapters.spark_mt.cli.main", "sql", "SELECT 1"],
    ],
    ids=["debug", "serve", "sql"],
)
def test_no_driver_is_started_and_the_lines_to_add_are_named(project, command):
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, *command],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    answer = " ".join((ended.stdout + ended.stderr).split())
    assert ended.returncode != 0
    assert "MATERIALIZED_TABLE_SINGLE_DRIVER_STORAGE" in answer
    assert CONFIRMATION in answer
    assert LOG_STORE in answer
    assert not (project / "metastore_db").exists()
