"""A lane of the matrix tests the wheel, with the releases that it names."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path

from dbt.adapters.spark_mt import definition
from dbt.adapters.spark_mt.definition.releases import minor_of

LANE = json.loads(os.environ["SPARK_MT_LANE"])


def test_the_package_is_that_of_the_wheel():
    found = Path(definition.__file__)
    assert "site-packages" in found.parts
    assert found.parents[3] / "dbt_spark_mt" not in Path.cwd().parents
    assert metadata.version("dbt-spark-mt")


def test_installed_releases_are_those_of_the_lane():
    assert minor_of(platform.python_version()) == LANE["python"]
    for name in ("dbt-core", "pyspark"):
        assert metadata.version(name) == LANE[name]
