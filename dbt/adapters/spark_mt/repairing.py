"""Rebuilding the registry; a part of `api`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.repair import Repairs
from dbt.adapters.spark_mt.spark.private_session import PrivateSessions
from dbt.adapters.spark_mt.spark.repair import SparkCorrections, SparkScan
from dbt.adapters.spark_mt.spark.system_table import SystemTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.repair import Repaired
    from dbt.adapters.spark_mt.spark.environment import SparkEnvironment


class TableRepair:
    """Compares what one Spark session's catalogs hold with their registries."""

    _spark: SparkSession
    _environment: SparkEnvironment

    def repair(self, catalog: str | None = None) -> tuple[Repaired, ...]:
        """Rebuild the registry of a catalog by looking at every table of every schema.

        Rows that are missing or wrong are written, those of tables that are gone taken out; no
        table is changed. It takes a few tenths of a second per table, also for plain ones.

        Args:
            catalog: Its name; None for the session's current one.

        Returns:
            The tables whose rows were changed, and those that could not be read.
        """
        return repairs_of(self._spark, self._environment).repair(
            catalog or self._spark.catalog.currentCatalog()
        )


def repairs_of(spark: SparkSession, environment: SparkEnvironment) -> Repairs:
    """Return what repairs the registries of a session's catalogs."""
    table = SystemTable(spark, PrivateSessions(spark))
    corrections = SparkCorrections(table, environment.value.now_ms)
    return Repairs(environment.value, environment.log, SparkScan(spark), corrections)
