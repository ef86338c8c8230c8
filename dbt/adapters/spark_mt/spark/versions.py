"""Which Delta belongs to which PySpark.

Only pairs that were tried are listed: Delta compiles against one minor version of Spark, and a
wrong pair starts well and fails later (`NoSuchMethodError` in an UPDATE).
"""

from __future__ import annotations

from importlib import metadata

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

DELTA_PACKAGES = {
    "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
}


class UnsupportedSparkError(MaterializedTableError):
    """There is no Delta that is known to work with the installed PySpark."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_SPARK"
    text = "PySpark {pyspark} is installed, and no Delta Lake is known to work with it."
    remedy = (
        "Install one of the supported versions (pip install 'pyspark~={newest}.0'; supported: "
        "{supported}), or name your own Delta under `server_side_parameters` in the profile: "
        "`spark.jars.packages: io.delta:delta-spark_...`."
    )


def pyspark_version() -> str:
    """The installed PySpark's version, read without importing it."""
    return metadata.version("pyspark")


def minor_of(version: str) -> str:
    """The first two parts of a version."""
    return ".".join(version.split(".")[:2])


def delta_package(pyspark: str) -> str:
    """The Maven coordinates of the Delta that belongs to a PySpark.

    Args:
        pyspark: A full version such as `4.2.0`.

    Raises:
        UnsupportedSparkError: The pair table has no entry for it.
    """
    package = DELTA_PACKAGES.get(minor_of(pyspark))
    if package is None:
        raise UnsupportedSparkError(
            pyspark=pyspark, newest=max(DELTA_PACKAGES), supported=", ".join(DELTA_PACKAGES)
        )
    return package
