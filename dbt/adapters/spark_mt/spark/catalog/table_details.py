"""Tables in Spark's catalog: details, options and newest versions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dbt.adapters.spark_mt.definition.table_format import CATALOG_PREFIX, TableRef
from dbt.adapters.spark_mt.execution.table_format import TableDescription
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.spark.catalog.objects import (
    describe_function,
    describe_view,
    keeps_versions,
)
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session import errors as spark_errors
from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.table_format import InstalledTables, VersionedTables

    SparkFormat: TypeAlias = VersionedTables[SparkSession, str]
    SparkTables: TypeAlias = InstalledTables[SparkFormat]
    TableDetail: TypeAlias = "TableRef | OtherTable | NoTable"


_FILES_GONE = "table whose files are gone"
_DETAILED = "# Detailed Table Information"
_CLUSTERING = "clusteringColumns"
_CATALOG_CLASS = f"{CATALOG_PREFIX}spark_catalog"
SPARK_CATALOG = "spark_catalog"
"""Spark's own catalog."""


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A table whose format keeps no versions.

    Args:
        format: The name of its provider, in lower case.
    """

    format: str


@dataclass(frozen=True, slots=True)
class NoTable:
    """Absence of a table of this name.

    Args:
        kind: What there is instead (`view`, `table whose files are gone`); empty for nothing.
    """

    kind: str = ""
    problem: str = ""


class TableDetails:
    """Details of tables, kept until they are forgotten.

    They are read from the catalog and from the log, where both can be read in the driver. Otherwise
    they are read by `DESCRIBE TABLE EXTENDED` and `SHOW TBLPROPERTIES`. For these, the state of a
    table with clustering columns is computed, which took 3.5 s the first time in a process. The
    statements of table formats need the state of every table.
    """

    def __init__(self, spark: SparkSession, tables: SparkTables) -> None:
        self._spark = spark
        self._tables = tables
        self._catalog = _DriverCatalog(spark, tables)
        self._known: dict[TableName, TableDetail] = {}

    def format_of(self, name: TableName) -> TableFormat:
        """Return the format of a table, or of one that would be made under a full name."""
        table = self.table(name)
        return self._made_in(name.catalog or "") if table is None else self._tables.of(table).format

    def written(self, name: TableName) -> SparkFormat:
        """Return what writes a materialized table that is made under a full name.

        Raises:
            MaterializedTableError: Tables of the format of its catalog are only read here.
        """
        return self._tables.written_by(self._made_in(name.catalog or ""), name)

    def _made_in(self, catalog: str) -> TableFormat:
        """Return the format of the tables that are made in a catalog."""
        class_ = self._spark.conf.get(f"{CATALOG_PREFIX}{catalog}", None) or ""
        return self._tables.made_in(class_).format

    def forget(self, name: TableName | None = None) -> None:
        """Read details again from now on, of one table or of all: the catalog may have changed."""
        if name is None:
            self._known.clear()
        else:
            self._known.pop(name, None)

    def of(self, name: TableName) -> TableDetail:
        """Return what the catalog has under the full name `name`."""
        known = self._known.get(name)  # another thread of the statement may forget at any moment
        if known is None:
            known = self._known[name] = self._ask(name)
        return known

    def table(self, name: TableName) -> TableRef | None:
        """Return the table with versions of a name; None where the catalog has none."""
        found = self.of(name)
        return found if isinstance(found, TableRef) else None

    def of_made(self, name: TableName) -> TableDetail:
        """Return the same of a table that may have been made since the catalog was asked."""
        found = self.of(name)
        if isinstance(found, NoTable):
            self.forget()
            found = self.of(name)
        return found

    def description(self, name: TableName) -> TableDescription:
        """Return a table's comment and its properties, redacted as `properties`."""
        _, found = self._described(name)
        if found is not None:
            return found
        return TableDescription(self._facts(name).get("Comment", ""), self._shown(name))

    def properties(self, name: TableName) -> Mapping[str, str]:
        """Return a table's properties; Spark redacts values that look like secrets."""
        return self.properties_at(name)[1]

    def properties_at(self, name: TableName) -> tuple[int | None, Mapping[str, str]]:
        """Return a table's newest version and its properties.

        Returns:
            None for the version where Spark was asked, of whose answer it is not known.
        """
        version, found = self._described(name)
        return (None, self._shown(name)) if found is None else (version, found.properties)

    def _shown(self, name: TableName) -> Mapping[str, str]:
        rows = self._spark.sql(f"SHOW TBLPROPERTIES {name.sql}").collect()
        return {row["key"]: row["value"] for row in rows}

    def definition_text(self, name: TableName, kind: SourceKind) -> str | None:
        """Return what defines a view or a function now; None where there is none of this name."""
        if kind is SourceKind.FUNCTION:
            function = describe_function(self._spark, name.parts)
            return None if function is None else function.definition
        with spark_errors.suppress_spark_errors(lambda failure: failure.is_missing_table):
            return describe_view(self._spark, name).fingerprint_text
        return None

    def identity(self, name: TableName) -> str:
        """Return the format's own identity of a table; slow where its newest commits lack it."""
        table = self.table(name)
        return "" if table is None else self._tables.of(table).identity(self._spark, table)

    def partition_columns(self, name: TableName) -> tuple[str, ...]:
        """Return the columns by which a table is partitioned."""
        table = self.table(name)
        return () if table is None else self._tables.of(table).partition_columns(self._spark, name)

    def _ask(self, name: TableName) -> TableDetail:
        table = self._catalog.table(name)
        if table is not None and self._tables.history(table).is_there(table):
            return table
        found = self._asked(name)
        if isinstance(found, NoTable) and found.kind == _FILES_GONE:
            # Another session may create the table between two of the questions.
            found = self._asked(name)
        return found

    def _described(self, name: TableName) -> tuple[int, TableDescription | None]:
        """Return newest version and description of a table.

        Returns:
            None for the description where Spark has to be asked for it.
        """
        table = self._catalog.table(name)
        if table is None:
            return -1, None
        history = self._tables.history(table)
        newest = history.newest(table)
        found = None if newest < 0 else history.description(table, newest)
        is_shown = found is not None and self._catalog.shows_all(found.properties)
        return newest, found if is_shown else None

    def _facts(self, name: TableName) -> dict[str, str]:
        return _detailed(self._spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql}").collect())

    def _asked(self, name: TableName) -> TableDetail:
        try:
            with spark_errors.unlogged():
                facts = self._facts(name)
        except Exception as error:
            if not spark_errors.is_spark_error(error):
                raise
            # Where nothing has the name, its reasons cost twenty times as much as this check. It
            # fails itself where a table's files are gone.
            with spark_errors.suppress_spark_errors():
                if not self._spark.catalog.tableExists(name.sql):
                    return NoTable()
            return self._why_not(name, error)
        return NoTable("view") if facts.get("Type") == "VIEW" else self._found(name, facts)

    def _found(self, name: TableName, facts: Mapping[str, str]) -> TableDetail:
        provider = facts.get("Provider", "").lower()
        tables = self._tables.named(provider)
        if tables is None or not keeps_versions(self._spark, name, tables.format):
            return OtherTable(provider)
        return tables.ref(name, facts["Location"])

    def _why_not(self, name: TableName, error: Exception) -> NoTable:
        failure = spark_errors.failure_of(error)
        try:
            with spark_errors.unlogged():
                kind = self._spark.catalog.getTable(name.sql).tableType
        except Exception as missing:
            if not (
                spark_errors.is_spark_error(missing)
                and spark_errors.failure_of(missing).is_missing_table
            ):
                raise
            # Spark's own conditions are about names that the catalog does not have.
            gone = spark_errors.failure_of(missing).main_condition in FORMATS.conditions.no_table
            return NoTable(_FILES_GONE, failure.message) if gone else NoTable()
        if kind == "VIEW":
            return NoTable("view", failure.message)
        return NoTable(_FILES_GONE, failure.message)


class _DriverCatalog:
    """Tables that are looked up without a statement, where the driver runs here.

    Those of Spark's own catalog are not opened. Those of a catalog that has tables of one format
    are found by the format.
    """

    def __init__(self, spark: SparkSession, tables: SparkTables) -> None:
        self._spark = spark
        self._tables = tables

    def table(self, name: TableName) -> TableRef | None:
        """Return a table of the format, with its location spelled as in DESCRIBE.

        Returns:
            None for anything else, and for a table to which the catalog adds options.
        """
        if name.catalog != SPARK_CATALOG:
            class_ = self._spark.conf.get(f"{CATALOG_PREFIX}{name.catalog}", None) or ""
            return self._tables.made_in(class_).find(name)
        if not is_connect(self._spark) and self._has_class_of_a_format():
            with spark_errors.suppress_spark_errors():  # the statements say why there is none
                return self._table(name)
        return None

    def _has_class_of_a_format(self) -> bool:
        """Whether the catalog adds nothing of its own, as that of another product may do."""
        found = self._spark.conf.get(_CATALOG_CLASS, None)
        return any(found == each.catalog_class for each in FORMATS.known)

    def _table(self, name: TableName) -> TableRef | None:
        option = self._java("scala.Option").apply
        named = self._java("org.apache.spark.sql.catalyst.TableIdentifier")
        identifier = named(name.name, option(name.schema), option(None))
        entry = self._state().catalog().getTableMetadata(identifier)
        provider, storage = entry.provider(), entry.storage()
        format_ = self._tables.named(provider.get().lower() if provider.isDefined() else "")
        if format_ is None or not storage.properties().isEmpty():
            return None
        path = self._java("org.apache.hadoop.fs.Path")(entry.location())
        return format_.ref(name, str(path.toString()))

    def shows_all(self, properties: Mapping[str, str]) -> bool:
        """Whether SHOW TBLPROPERTIES would redact no value of these properties."""
        found = self._java("java.util.HashMap")()
        for key, value in properties.items():
            found.put(key, value)
        mapped = self._java("org.apache.spark.api.python.PythonUtils").toScalaMap(found)
        return bool(self._state().conf().redactOptions(mapped).equals(mapped))

    def _java(self, name: str) -> Any:  # noqa: ANN401 - a class of the JVM
        return java_class(self._spark, name)

    def _state(self) -> Any:  # noqa: ANN401 - an object of the JVM
        java: Any = self._spark._jsparkSession  # noqa: SLF001 - no public way to it
        return java.sessionState()


def _detailed(rows: list[Row]) -> dict[str, str]:
    """Return the rows after the columns, whatever the columns are called."""
    names = [row["col_name"] for row in rows]
    start = len(names) - names[::-1].index(_DETAILED) if _DETAILED in names else len(names)
    return {row["col_name"]: row["data_type"] for row in rows[start:]}


def clustering_columns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the clustering columns among a table's properties."""
    columns = json.loads(properties.get(_CLUSTERING, "[]"))
    return tuple(".".join(parts) for parts in columns)


class NewestVersions:
    """Newest versions of tables, kept with their tables: a read without a new one is cheap.

    Args:
        details: What the catalog says about tables, for this object alone: it is forgotten only
            where a table is no longer at its location.
        tables: Reads commits.
    """

    def __init__(self, details: TableDetails, tables: SparkTables) -> None:
        self._details = details
        self._tables = tables
        self._found: set[TableName] = set()

    def __call__(self, name: TableName) -> int:
        """Return the newest version of a table; -1 where there is none."""
        if name in self._found:
            newest = self._look(name)
            if newest >= 0:
                return newest
        self._details.forget()
        return self._look(name)

    def previous(self, name: TableName, version: int) -> int | None:
        """Return the version of a table before one; None where the table does not have that one."""
        table = self.table(name)
        found = None if table is None else self._tables.history(table).commit(table, version)
        return None if found is None else found.previous

    def table(self, name: TableName) -> TableRef | None:
        """Return a table with versions; None without one."""
        detail = self._details.of_made(name)
        return detail if isinstance(detail, TableRef) else None

    def directory(self, name: TableName) -> str:
        """Return the directory of a table with versions; empty without one."""
        table = self.table(name)
        return "" if table is None else self._tables.of(table).directory(table)

    def _look(self, name: TableName) -> int:
        detail = self._details.of(name)
        newest = self._tables.history(detail).newest(detail) if isinstance(detail, TableRef) else -1
        if newest >= 0:
            self._found.add(name)
        else:
            self._found.discard(name)
        return newest
