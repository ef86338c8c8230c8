"""Lists what a catalog holds, and corrects its registry in few commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName, quote
from dbt.adapters.spark_mt.spark.system_log import table_row
from dbt.adapters.spark_mt.spark.system_table import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.system_table import SystemTable, Value

MOST_ROWS = 500
"""How many rows go into one commit: they are literals of one statement."""


class SparkScan:
    """Lists what a catalog holds."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Return the schemas of a catalog, but for that of the registry itself."""
        rows = self._spark.sql(f"SHOW SCHEMAS IN {quote(catalog)}").collect()
        found = (_unquoted(row[0]) for row in rows)
        return tuple(schema for schema in found if schema != SCHEMA)

    def tables(self, catalog: str, schema: str) -> tuple[TableName, ...]:
        """Return the full names of the tables and views of a schema."""
        rows = self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()
        names = (row["tableName"] for row in rows if not row["isTemporary"])
        return tuple(TableName(name, schema, catalog) for name in names)


class SparkCorrections:
    """Writes many rows of the registry.

    Args:
        table: The registry.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(self, table: SystemTable, now_ms: Callable[[], int]) -> None:
        self._table = table
        self._now_ms = now_ms

    def correct(self, catalog: str, there: Sequence[Register], gone: Sequence[TableName]) -> None:
        """Write the rows of tables that are there and of those that are gone."""
        now = self._now_ms()
        rows = [*(table_row(step, now) for step in there), *(_dropped(name, now) for name in gone)]
        for start in range(0, len(rows), MOST_ROWS):
            self._table.append(catalog, rows[start : start + MOST_ROWS], now)


def _dropped(name: TableName, now_ms: int) -> dict[str, Value]:
    return {
        "kind": "TABLE",
        "schema_name": name.schema or "",
        "table_name": name.name,
        "recorded_at_ms": now_ms,
        "dropped": True,
    }


def _unquoted(name: str) -> str:
    """SHOW SCHEMAS quotes names where a statement would have to."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
