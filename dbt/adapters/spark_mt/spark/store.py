"""Finds materialized tables in the catalog and reads what their commits say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.table_state import Found, Missing, Stranger
from dbt.adapters.spark_mt.execution.identification import (
    Table,
    identify,
    plain_table,
    published_definition,
)
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.table_details import NoTable, clustering_columns
from dbt.adapters.spark_mt.spark.types import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.table_state import PlainTable
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetail, TableDetails

_SPARK_CATALOG = "spark_catalog"
_CASE_SENSITIVE = "spark.sql.caseSensitive"


class SparkTableStore:
    """Looks at tables themselves, never at the registry."""

    def __init__(self, spark: SparkSession, log: DeltaLog, details: TableDetails) -> None:
        self._spark = spark
        self._log = log
        self._details = details

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the session's current catalog and schema.

        Spark's own catalog keeps names in lower case unless the session is case-sensitive.
        """
        catalog = name.catalog or self._spark.catalog.currentCatalog()
        schema = name.schema or self._spark.catalog.currentDatabase()
        if catalog.lower() != _SPARK_CATALOG:
            return TableName(name.name, schema, catalog)
        if self._spark.conf.get(_CASE_SENSITIVE) == "true":
            return TableName(name.name, schema, _SPARK_CATALOG)
        return TableName(name.name.lower(), schema.lower(), _SPARK_CATALOG)

    def find(self, name: TableName) -> Found:
        """Return what stands under the full name `name`."""
        try:
            return self._look(name)
        except Exception as error:
            if not (is_spark_error(error) and failure_of(error).is_missing_table):
                raise
        self._details.forget()  # somebody dropped it while we looked
        return self._look(name)

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest: a look at two files where Spark runs here."""
        detail = self._details.of(name)
        return not isinstance(detail, NoTable) and self._log.is_newest(detail.location, version)

    def forget(self) -> None:
        """Look at everything anew from now on."""
        self._details.forget()

    def _look(self, name: TableName) -> Found:
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            return Stranger(name, detail.kind) if detail.kind else Missing(name)
        if not detail.is_delta:
            return Stranger(name, f"{detail.format} table")
        return identify(self._seen(name, detail))

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain Delta table under the full name `name`, if it is one."""
        detail = self._details.of(name)
        if isinstance(detail, NoTable) or not detail.is_delta:
            return None
        if not isinstance(self.find(name), Stranger):
            return None
        seen = replace(self._seen(name, detail), columns=lambda: self._columns(name))
        layout = self._spark.sql(f"DESCRIBE DETAIL {name.sql}").collect()[0]
        return plain_table(seen, tuple(layout["partitionColumns"]))

    def _seen(self, name: TableName, detail: TableDetail) -> Table:
        properties = self._details.properties(name)
        return Table(
            name=name,
            identity=lambda: self._details.delta_id(name),
            properties=properties,
            clustered_by=clustering_columns(properties),
            commits=lambda: self._log.backwards(detail.location),
            columns=lambda: columns_of(self._spark.table(name.sql).schema),
        )

    def _columns(self, name: TableName) -> tuple[Column, ...]:
        """The columns with their nullability and comments."""
        schema = self._spark.table(name.sql).schema
        return tuple(
            replace(column, nullable=field.nullable, comment=field.metadata.get("comment"))
            for column, field in zip(columns_of(schema), schema.fields, strict=True)
        )

    def is_empty(self, name: TableName) -> bool:
        """Whether a table that is there has no rows."""
        return not self._spark.sql(f"SELECT 1 FROM {name.sql} LIMIT 1").collect()

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        query = f"SELECT try_cast({literal} AS {type_}) IS NOT NULL AS fits"
        try:
            return bool(self._spark.sql(query).collect()[0]["fits"])
        except Exception as error:
            if is_spark_error(error):  # no value of the literal's type is one of the other
                return False
            raise

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        detail = self._details.of(name)
        if isinstance(detail, NoTable) or not detail.is_delta:
            return None
        return published_definition(self._details.properties(name), name)
