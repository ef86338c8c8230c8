"""dbt's own adapter tests on one Spark: all classes of a pytest process share its JVM.

The catalog is in memory: Derby costs seconds a test and shows nothing of the adapter. What needs a
metastore has its own test.
"""

from __future__ import annotations

from getpass import getuser
from typing import TYPE_CHECKING

import pytest

from tests.support import jvm_options

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["dbt.tests.fixtures.project"]

_CONFS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "3g",
    jvm_options.OPTIONS: jvm_options.SHORT,
    # tables have few rows: compiling classes for each query is a quarter of the time
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": False,
    "spark.ui.retainedJobs": 10,
    "spark.ui.retainedStages": 10,
    "spark.sql.ui.retainedExecutions": 10,
    "spark.default.parallelism": 2,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.sources.default": "delta",
    "spark.databricks.delta.snapshotPartitions": 2,
}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tables of this test run lie."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="class")
def dbt_profile_target(warehouse: Path) -> dict[str, object]:
    """The target of every test's profile; dbt's fixture adds the schema."""
    confs = {**_CONFS, "spark.sql.warehouse.dir": str(warehouse)}
    return {"type": "spark_mt", "threads": 2, "server_side_parameters": confs}


@pytest.fixture(scope="class")
def profile_user() -> str:
    """The owner that docs tests expect."""
    return getuser()
