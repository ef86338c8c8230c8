"""Delta Lake in the sessions of tests: that of a lane of the matrix, or the default."""

from __future__ import annotations

from dbt.adapters.spark_mt.spark.delta.releases import with_delta
from dbt.adapters.spark_mt.spark.launch.jvm_launch import submitted


def delta_confs() -> dict[str, str]:
    """Return the confs that load Delta Lake, without the package that PYSPARK_SUBMIT_ARGS names."""
    return with_delta(submitted().known)
