"""Rows of tables at versions, in the columns of the end of a range of versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.positions import ChangeKind
from dbt.adapters.spark_mt.execution.table_format import is_comparable
from dbt.adapters.spark_mt.query.bags import BagColumn, difference_query, weighted_query
from dbt.adapters.spark_mt.query.relation_states import WEIGHT
from dbt.adapters.spark_mt.spark.session.types import ddl_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import StructField, StructType

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import VersionRange


class VersionRows:
    """Texts of queries for the rows of versions, and for how they differ as bags.

    Args:
        spark: A private session.
        as_of: Returns what a query reads for a table at a version.
        keeps_columns: As `TableHistory.keeps_columns`.
    """

    def __init__(
        self,
        spark: SparkSession,
        as_of: Callable[[TableRef, int], str],
        keeps_columns: Callable[[TableRef, int, int], bool],
    ) -> None:
        self._spark = spark
        self._as_of = as_of
        self._history_keeps_columns = keeps_columns
        self._schemas: dict[tuple[TableName, int], StructType] = {}
        self._kept_columns: dict[tuple[TableRef, int, int], bool] = {}

    def at(self, range_: VersionRange, version: int, where: str = "") -> str:
        """Return the rows of a version, or those that meet a condition."""
        there = {f.name.lower() for f in self.schema(range_, version)}
        query = f"SELECT {self.listed(range_, there)} FROM {self._as_of(range_.table, version)}"
        return f"{query} WHERE {where}" if where else query

    def listed(self, range_: VersionRange, there: Collection[str] | None = None) -> str:
        """Return the columns of the end of a range as SELECT items: NULL for what is not read."""
        read = {f.name.lower() for f in self.columns_read(range_)}
        return ", ".join(
            quote(f.name)
            if f.name.lower() in read and (there is None or f.name.lower() in there)
            else f"CAST(NULL AS {ddl_type(f.dataType)}) AS {quote(f.name)}"
            for f in self.schema(range_, range_.upto.version)
        )

    def completed(self, range_: VersionRange, rows: str, *more: str) -> str:
        """Return rows of the columns that are read with all columns of the end of a range."""
        if len(self.columns_read(range_)) == len(self.schema(range_, range_.upto.version)):
            return rows
        return f"SELECT {', '.join((self.listed(range_), *more))} FROM (\n{rows}\n)"

    def difference(self, range_: VersionRange, rows: str, others: str) -> str:
        """Return the rows of one query that another one lacks, each as often as it is missing."""
        return self.completed(range_, difference_query(self._compared(range_), rows, others))

    def weighted(self, range_: VersionRange, rows: str, weight: str) -> str:
        """Return rows with weights, each row once with the sum of its weights."""
        return self.completed(range_, weighted_query(self._compared(range_), rows, weight), weight)

    def kind(self, rows: str) -> ChangeKind:
        """Return what rows with their weights in `WEIGHT` say; it runs a job."""
        query = f"SELECT min({WEIGHT}) AS least, max({WEIGHT}) AS most FROM (\n{rows}\n)"
        return _kind_of(self._spark.sql(query).collect()[0])

    def is_comparable(self, range_: VersionRange) -> bool:
        """Whether Spark can compare the columns that are read."""
        return are_comparable(self.columns_read(range_))

    def columns_read(self, range_: VersionRange) -> list[StructField]:
        """Return the columns at the end of a range that are read."""
        return [f for f in self.schema(range_, range_.upto.version) if range_.reads(f.name)]

    def schema(self, range_: VersionRange, version: int) -> StructType:
        """Return the columns of a version, which never change; reading them costs 0.03 s."""
        if version == range_.after.version and self.keeps_columns(range_):
            version = range_.upto.version
        key = (range_.table.name, version)
        if key not in self._schemas:
            query = f"SELECT * FROM {self._as_of(range_.table, version)}"
            self._schemas[key] = self._spark.sql(query).schema
        return self._schemas[key]

    def keeps_columns(self, range_: VersionRange) -> bool:
        """Whether no commit of a range changes columns; it is asked for several times."""
        key = (range_.table, range_.after.version, range_.upto.version)
        if key not in self._kept_columns:
            self._kept_columns[key] = self._history_keeps_columns(*key)
        return self._kept_columns[key]

    def _compared(self, range_: VersionRange) -> tuple[BagColumn, ...]:
        fields = self.columns_read(range_)
        return tuple(BagColumn.of(quote(f.name), ddl_type(f.dataType)) for f in fields)


def are_comparable(columns: Iterable[StructField]) -> bool:
    """Whether Spark can compare columns; rows that come and go cancel out where it can."""
    return all(is_comparable(ddl_type(column.dataType)) for column in columns)


def _kind_of(weights: Row) -> ChangeKind:
    """Return what the least and the greatest weight show; both are NULL without a row."""
    if weights["least"] is None:
        return ChangeKind.NONE
    return ChangeKind.REMOVED if weights["least"] < 0 else ChangeKind.ADDED
