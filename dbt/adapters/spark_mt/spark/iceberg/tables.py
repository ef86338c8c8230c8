"""Tables on Apache Iceberg as sources of materialized tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import releases as iceberg_releases
from dbt.adapters.spark_mt.spark.iceberg.changes import RangeReader
from dbt.adapters.spark_mt.spark.iceberg.metadata import EMPTY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.spark.iceberg.history import IcebergHistory


class IcebergTables:
    """Implementation of `execution.table_format.SourceTables`; rows are the text of a query.

    Args:
        spark: The session whose catalogs have the tables.
        history: Reads their metadata.
    """

    format = iceberg_format.FORMAT

    def __init__(self, spark: SparkSession, history: IcebergHistory) -> None:
        self._spark = spark
        self.history = history

    def ref(self, name: TableName, location: str) -> TableRef:
        """As `SourceTables.ref`.

        Raises:
            MaterializedTableError: Its catalog keeps tables in a cache.
            MaterializedTableError: No Iceberg is tested with this Spark.
        """
        iceberg_releases.check_spark(self._spark.version)
        catalog = name.catalog or self._spark.catalog.currentCatalog()
        iceberg_format.check_cache(catalog, lambda key: self._spark.conf.get(key, None))
        return TableRef(name, self.format.name, location)

    def directory(self, table: TableRef) -> str:
        return table.handle

    def identity(self, session: SparkSession, table: TableRef) -> str:  # noqa: ARG002 - of the port
        found = self.history.metadata(table)
        return "" if found is None else found.uuid

    def partition_columns(
        self,
        session: SparkSession,  # noqa: ARG002 - of the port
        name: TableName,
    ) -> tuple[str, ...]:
        found = self.history.metadata(TableRef(name, self.format.name, ""))
        return () if found is None else found.partitioned_by

    def changes(self, session: SparkSession) -> RangeReader:
        return RangeReader(session, self.history, self.as_of)

    def opened(self, session: SparkSession, table: TableRef, version: int) -> str:  # noqa: ARG002 - of the port
        return self.as_of(table, version)

    def as_of(self, table: TableRef, version: int) -> str:
        """As `SourceTables.as_of`; the table before its first snapshot is a sample of no rows."""
        found = self.history.metadata(table)
        snapshot = None if found is None else found.at(version)
        if snapshot is not None:
            return f"{table.name.sql} VERSION AS OF {snapshot.id}"
        if found is not None and version == EMPTY:
            return f"{table.name.sql} TABLESAMPLE (0 ROWS)"
        problem = f"it has no snapshot of version {version}"
        raise conditions.SOURCE_NOT_FOUND(source=table.name, problem=problem)
