"""The index of materialized tables: an append-only Delta table, the latest row of a name wins.

It is never the truth about a definition (design section 3): losing it loses nothing but the speed
of listings.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_facts import encode_positions
from dbt.adapters.spark_mt.definition.identifier import TableName, quote, quote_text
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions

SCHEMA = "materialized_table_system"
TABLE = "registry"
_COLUMNS = """
    schema_name STRING, table_name STRING, table_id STRING, generation INT, seq BIGINT,
    refresh_mode STRING, freshness STRING, status STRING, last_refresh_at_ms BIGINT,
    lag_seconds BIGINT, positions STRING, recorded_at_ms BIGINT, dropped BOOLEAN
"""
_COMPACT_EVERY = 64
_LATEST = "max_by(struct(*), recorded_at_ms)"


class SparkRegistry:
    """Reads and appends rows of `<catalog>.materialized_table_system.registry`."""

    def __init__(
        self, spark: SparkSession, sessions: PrivateSessions, now_ms: Callable[[], int]
    ) -> None:
        self._spark = spark
        self._sessions = sessions
        self._now_ms = now_ms

    def record(self, step: Register) -> None:
        """Append a table's row."""
        definition = step.definition
        resolved = definition.resolved
        refreshed = step.refresh.started_at_ms if step.refresh else None
        positions = json.dumps(encode_positions(step.positions or {}))
        self._append(
            definition.name,
            [
                _text(definition.table_id),
                str(definition.generation),
                str(step.seq),
                _text(resolved.refresh_mode.value),
                _text(resolved.freshness.sql),
                _text(definition.status.value),
                "NULL" if refreshed is None else str(refreshed),
                "NULL" if refreshed is None else "0",
                _text(positions),
            ],
            dropped=False,
        )

    def remove(self, name: TableName) -> None:
        """Append the row that says that a table is gone."""
        self._append(name, ["NULL"] * 9, dropped=True)

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        rows = self._rows(catalog, schema)
        there = {row["tableName"] for row in self._tables(catalog, schema)} if rows else set()
        return tuple(
            RegistryEntry(
                name=TableName(row["table_name"], schema, catalog),
                table_id=row["table_id"],
                refresh_mode=row["refresh_mode"],
                freshness=row["freshness"],
                status=row["status"],
                last_refresh_at_ms=row["last_refresh_at_ms"],
                lag_seconds=row["lag_seconds"],
                recorded_at_ms=row["recorded_at_ms"],
            )
            for row in rows
            if row["table_name"] in there
        )

    def _rows(self, catalog: str, schema: str) -> list[Row]:
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST} AS latest FROM {_table(catalog)} "
            f"WHERE schema_name = {_text(schema)} GROUP BY table_name) "
            "WHERE NOT latest.dropped ORDER BY latest.table_name"
        )
        try:
            return self._spark.sql(query).collect()
        except Exception as error:
            if is_spark_error(error) and failure_of(error).is_missing_table:
                return []
            raise

    def _tables(self, catalog: str, schema: str) -> list[Row]:
        return self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()

    def _append(self, name: TableName, values: list[str], *, dropped: bool) -> None:
        table = _table(name.catalog or "")
        literals = [_text(name.schema or ""), _text(name.name), *values]
        literals += [str(self._now_ms()), "true" if dropped else "false"]
        statement = f"INSERT INTO {table} VALUES ({', '.join(literals)})"
        with self._sessions.open() as session:
            try:
                version = session.commit("", None, lambda: session.spark.sql(statement))
            except Exception as error:
                if not (is_spark_error(error) and failure_of(error).is_missing_table):
                    raise
                self._create(session.spark, name.catalog or "")
                version = session.commit("", None, lambda: session.spark.sql(statement))
            if version and version % _COMPACT_EVERY == 0:
                self._compact(session.spark, table)

    def _compact(self, spark: SparkSession, table: str) -> None:
        """Merge the small files; somebody else who does the same at this moment is welcome to."""
        try:
            spark.sql(f"OPTIMIZE {table}")
        except Exception as error:
            if not (is_spark_error(error) and failure_of(error).is_conflict):
                raise

    def _create(self, spark: SparkSession, catalog: str) -> None:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote(catalog)}.{SCHEMA}")
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {_table(catalog)} ({_COLUMNS}) USING delta "
            "TBLPROPERTIES ('delta.checkpointInterval' = '100')"
        )


def _table(catalog: str) -> str:
    return f"{quote(catalog)}.{SCHEMA}.{TABLE}"


def _text(value: str) -> str:
    return quote_text(value)
