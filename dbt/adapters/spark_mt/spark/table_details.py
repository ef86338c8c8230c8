"""What Spark's catalog says about a table, each asked once per statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.identifier import TableName

_FILES_GONE = "table whose files are gone"
_NO_FILES = frozenset(
    {"DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"}
)
"""What Spark says of a name that the catalog has; a name that it has not is no Delta table."""
_NOT_A_TABLE = frozenset({"EXPECT_TABLE_NOT_VIEW", "DELTA_TABLE_ONLY_OPERATION"})


@dataclass(frozen=True, slots=True)
class TableDetail:
    """A table.

    Args:
        format: `delta`, `parquet` …
        delta_id: Delta's identity of the table, empty for other formats.
        location: Where the table lives, as a path that Spark reads.
        properties: The table's properties, none of them redacted.
    """

    format: str
    delta_id: str
    location: str
    properties: dict[str, str]
    partition_columns: tuple[str, ...]
    clustering_columns: tuple[str, ...]
    comment: str

    @property
    def is_delta(self) -> bool:
        """Whether the table has versions."""
        return self.format == "delta"


@dataclass(frozen=True, slots=True)
class NoTable:
    """There is no table of this name.

    Args:
        kind: What there is instead (`view`, `table whose files are gone`); empty for nothing.
    """

    kind: str = ""
    problem: str = ""


class TableDetails:
    """Asks `DESCRIBE DETAIL`, and remembers the answer until told to forget it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._known: dict[TableName, TableDetail | NoTable] = {}

    def forget(self) -> None:
        """Ask again from now on; the catalog may have changed."""
        self._known.clear()

    def of(self, name: TableName) -> TableDetail | NoTable:
        """Return what the catalog has under the full name `name`."""
        if name not in self._known:
            self._known[name] = self._ask(name)
        return self._known[name]

    def _ask(self, name: TableName) -> TableDetail | NoTable:
        try:
            row = self._spark.sql(f"DESCRIBE DETAIL {name.sql}").collect()[0]
        except Exception as error:
            if not is_spark_error(error):
                raise
            return self._why_not(name, error)
        return TableDetail(
            format=row["format"],
            delta_id=row["id"] or "",
            location=row["location"],
            properties=dict(row["properties"] or {}),
            partition_columns=tuple(row["partitionColumns"] or ()),
            clustering_columns=tuple(row["clusteringColumns"] or ()),
            comment=row["description"] or "",
        )

    def _why_not(self, name: TableName, error: Exception) -> NoTable:
        failure = failure_of(error)
        if failure.main_condition in _NOT_A_TABLE:
            return NoTable("view", failure.message)
        try:
            kind = self._spark.catalog.getTable(name.sql).tableType
        except Exception as missing:
            if not (is_spark_error(missing) and failure_of(missing).is_missing_table):
                raise
            gone = failure_of(missing).main_condition in _NO_FILES
            return NoTable(_FILES_GONE, failure.message) if gone else NoTable()
        if kind == "VIEW":
            return NoTable("view", failure.message)
        return NoTable(_FILES_GONE, failure.message)
