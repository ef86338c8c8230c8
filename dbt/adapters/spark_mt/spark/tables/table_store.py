"""Store of materialized tables, read from the tables themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.definition import (
    FoundTable,
    InconsistentTable,
    Missing,
    UnmanagedTable,
)
from dbt.adapters.spark_mt.execution import table_loader
from dbt.adapters.spark_mt.spark.catalog import table_details as catalog
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors
from dbt.adapters.spark_mt.spark.session.types import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import PlainTable, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables

_CASE_SENSITIVE = "spark.sql.caseSensitive"

_VALID_NAME = re.compile(r"\w+", re.ASCII)


class SparkTableStore:
    """Store of tables, read from the tables themselves and never from the registry."""

    def __init__(
        self, spark: SparkSession, tables: SparkTables, details: catalog.TableDetails
    ) -> None:
        self._spark = spark
        self._tables, self._history = tables, tables.history
        self._details = details

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the session's current catalog and schema.

        Spark's own catalog keeps names in lower case unless the session is case-sensitive. A Hive
        Metastore keeps them so in any case.
        """
        catalog_name = name.catalog or self._spark.catalog.currentCatalog()
        schema = name.schema or self._spark.catalog.currentDatabase()
        if catalog_name.lower() != catalog.SPARK_CATALOG:
            full = TableName(name.name, schema, catalog_name)
            lower = TableName(name.name.lower(), schema.lower(), catalog_name)
            if full != lower and FORMATS.keeps_lower_case(catalog_name, self._conf):
                return lower
            return full
        if self._spark.conf.get(_CASE_SENSITIVE) == "true":
            return TableName(name.name, schema, catalog.SPARK_CATALOG)
        return TableName(name.name.lower(), schema.lower(), catalog.SPARK_CATALOG)

    def _conf(self, key: str) -> str | None:
        return self._spark.conf.get(key, None)

    def why_not_created(self, name: TableName) -> str:
        """Return why no table of the full name can be created, as Spark decides at the end."""
        if name.catalog == catalog.SPARK_CATALOG and not _VALID_NAME.fullmatch(name.name):
            return f"Spark's own catalog takes letters of ASCII, digits and _ only, not {name.name}"
        schema = f"{quote(name.catalog or catalog.SPARK_CATALOG)}.{quote(name.schema or '')}"
        with suppress_spark_errors():  # what else is wrong with the catalog shows at the next step
            if not self._spark.catalog.databaseExists(schema):
                return f"there is no schema {schema}"
        return ""

    def find(self, name: TableName) -> FoundTable:
        """Return what the catalog has under the full name `name`."""
        found = self._find(name)
        # Properties, commits and columns are read one after the other. A commit between two of
        # them, such as that of a client that was killed meanwhile, looks like an inconsistency.
        while isinstance(found, InconsistentTable) and found != (again := self._find(name)):
            found = again
        return found

    def _find(self, name: TableName) -> FoundTable:
        with suppress_spark_errors(lambda failure: failure.is_missing_table):
            return self._look(name)
        self._details.forget()  # another session dropped it during the read
        return self._look(name)

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest; a check of two files if Spark runs here."""
        table = self._details.table(name)
        return table is not None and self._history(table).is_newest(table, version)

    def forget(self) -> None:
        """Read everything again from now on."""
        self._details.forget()

    def _look(self, name: TableName) -> FoundTable:
        detail = self._details.of(name)
        if isinstance(detail, catalog.NoTable):
            return UnmanagedTable(name, detail.kind) if detail.kind else Missing(name)
        if isinstance(detail, catalog.OtherTable):
            return UnmanagedTable(name, f"{detail.format} table")
        return table_loader.identify(self._seen(detail))

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain table with versions under the full name `name`, if it is one."""
        table = self._details.table(name)
        if table is None or not isinstance(self.find(name), UnmanagedTable):
            return None
        seen = replace(self._seen(table), columns=lambda: self._columns(name))
        return table_loader.plain_table(seen, self._details.partition_columns(name))

    def _seen(self, table: TableRef) -> table_loader.Table:
        name = table.name
        version, properties = self._details.properties_at(name)
        return table_loader.Table(
            name=name,
            format=self._tables.of(table).format,
            identity=lambda: self._details.identity(name),
            properties=properties,
            clustered_by=catalog.clustering_columns(properties),
            commits=lambda: self._history(table).backwards(table, version),
            columns=lambda: columns_of(self._spark.table(name.sql).schema),
        )

    def _columns(self, name: TableName) -> tuple[Column, ...]:
        """Return the columns with their nullability and comments."""
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
        with suppress_spark_errors():
            return bool(self._spark.sql(query).collect()[0]["fits"])
        return False  # no value of the literal's type is one of the other

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        if self._details.table(name) is None:
            return None
        return table_loader.published_definition(self._details.properties(name), name)
