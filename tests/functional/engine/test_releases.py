"""The releases of Spark and Delta Lake that a session runs with, and the refusal of others."""

from __future__ import annotations

import json
import os

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.releases import UNTESTED
from dbt.adapters.spark_mt.spark.delta import releases
from dbt.adapters.spark_mt.spark.delta.releases import (
    Pair,
    check_loaded,
    delta_package,
    pyspark_version,
)
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from tests.support.errors import raises

LANE = "SPARK_MT_LANE"
"""The variable in which a lane of the matrix says which releases it is for."""


def test_a_session_runs_with_the_releases_that_were_asked_for(session):
    lane = json.loads(os.environ.get(LANE, "{}"))
    assert session.version == lane.get("pyspark", pyspark_version())
    loaded = session.sql("SELECT java_method('io.delta.package', 'VERSION')").first()[0]
    default = None if lane else delta_package(session.version).rpartition(":")[2]
    assert loaded == lane.get("delta", default)
    check_loaded(session)


def test_a_running_spark_with_another_delta_is_refused(session, monkeypatch):
    monkeypatch.delenv(UNTESTED, raising=False)
    here = ".".join(session.version.split(".")[:2])
    monkeypatch.setattr(releases, "PAIRS", (Pair(here, "io.delta:delta-spark:8.8.0", ("8.8",)),))
    with raises(delta_format.UNSUPPORTED_DELTA) as raised:
        check_loaded(session)
    assert raised.value.parameters["spark"] == session.version
    assert raised.value.parameters["package"] == "io.delta:delta-spark:8.8.0"
    monkeypatch.setattr(releases, "PAIRS", (Pair("9.9", "io.delta:delta-spark:8.8.0", ("8.8",)),))
    with raises(conditions.UNSUPPORTED_SPARK) as raised:
        check_loaded(session)
    assert raised.value.parameters["spark"] == session.version
    monkeypatch.setenv(UNTESTED, "true")
    check_loaded(session)
