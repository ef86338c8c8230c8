"""What a session must have before materialized tables can work in it; `dbt debug` asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.session_confs import DELTA_CONFS
from dbt.adapters.spark_mt.spark.versions import DELTA_PACKAGES, minor_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DeltaMissingError(MaterializedTableError):
    """The session's Spark runs without Delta Lake."""

    condition = "MATERIALIZED_TABLE_DELTA_MISSING"
    text = "This Spark {version} runs without Delta Lake; its configuration lacks:"
    remedy = (
        "Add these lines where that Spark is started (its spark-defaults.conf or `--conf`, and the "
        "package {package} under spark.jars.packages) and start it again."
    )


def check_session(spark: SparkSession) -> None:
    """Make sure that a session has Delta Lake.

    Raises:
        DeltaMissingError: It has not; every line that it lacks is named.
    """
    lacking = [
        f"{key} {value}"
        for key, value in DELTA_CONFS.items()
        if value not in (spark.conf.get(key, None) or "")
    ]
    if lacking:
        package = DELTA_PACKAGES.get(minor_of(spark.version), "io.delta:delta-spark")
        raise DeltaMissingError(version=spark.version, package=package, violations=lacking)
