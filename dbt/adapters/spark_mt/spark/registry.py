"""Registry of materialized tables and log of refreshes, in one append-only table.

Neither is authoritative: the tables are. Losing them costs the speed of listings and the history of
refreshes, and `repair` rebuilds the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.job import Job, JobStatus
from dbt.adapters.spark_mt.spark.system_rows import (
    RowReader,
    entry_of,
    job_of,
    job_row,
    known_of,
    named,
    table_row,
)
from dbt.adapters.spark_mt.spark.system_table import SCHEMA, TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.execution.ports import RegistryEntry
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.catalog import NewestVersions
    from dbt.adapters.spark_mt.spark.system_table import SystemTable, Value


_IS_TABLE = "coalesce(kind, 'TABLE') = 'TABLE'"
"""A row without a kind is older than the log of refreshes."""
_LATEST_TABLE = "max_by(struct(*), struct(recorded_at_ms, generation, seq))"
_LATEST_JOB = "max_by(struct(*), struct(recorded_at_ms, status <> 'RUNNING'))"


class SparkSystemLog:
    """Rows of `<catalog>.materialized_table_system.registry`."""

    def __init__(
        self,
        spark: SparkSession,
        table: SystemTable,
        now_ms: Callable[[], int],
        versions: NewestVersions,
    ) -> None:
        self._spark = spark
        self._table = table
        self._now_ms = now_ms
        self._versions = versions
        self._reader = RowReader()

    def record(self, step: Register) -> None:
        """Append a table's row, and that of the refresh which made its newest commit."""
        self.append(*([step.job] if step.job else []), tables=[step])

    def remove(self, name: TableName) -> None:
        """Append the row that says that a table is gone."""
        now = self._now_ms()
        row: dict[str, Value] = {**named("TABLE", name, now), "dropped": True}
        self._table.append(name.catalog or "", [row], now)

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Append a row about each job and each table, all in one commit; they are of one catalog.

        A row of a table has the time of its state: of two rows, a reader takes the later one.
        """
        names = [*(job.table for job in jobs), *(step.definition.name for step in tables)]
        if not names:
            return -1
        now = self._now_ms()
        rows = [*(table_row(step, step.at_ms or now) for step in tables), *map(job_row, jobs)]
        return self._table.append(names[0].catalog or "", rows, now)

    def version(self, catalog: str) -> int:
        """Return the newest version of the registry's own table."""
        return self._versions(TableName(TABLE, SCHEMA, catalog))

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_TABLE} AS latest FROM {{table}} "
            f"WHERE {_IS_TABLE} GROUP BY schema_name, table_name) "
            "WHERE NOT latest.dropped AND latest.facts IS NOT NULL "
            "ORDER BY latest.schema_name, latest.table_name"
        )
        return self._reader.each(self._table.rows(catalog, query), catalog, known_of)

    def record_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:
        """Append a row for the refresh handler of each table, all in one commit."""
        now = self._now_ms()
        rows: list[dict[str, Value]] = [
            {**named("HANDLER", name, now), "facts": handler.decode()}
            for name, handler in handlers.items()
        ]
        if rows:
            self._table.append(catalog, rows, now)

    def handler(self, name: TableName) -> bytes:
        """Return the serialized refresh handler of a table; empty without one."""
        query = (
            "SELECT max_by(facts, recorded_at_ms) AS facts FROM {table} WHERE kind = 'HANDLER' "
            f"AND schema_name = {_text(name.schema or '')} AND table_name = {_text(name.name)}"
        )
        rows = self._table.rows(name.catalog or "", query)
        return (rows[0]["facts"] or "").encode() if rows else b""

    def handlers(self, catalog: str) -> Mapping[TableName, bytes]:
        """Return the refresh handlers that were written last, by table."""
        query = (
            "SELECT schema_name, table_name, max_by(facts, recorded_at_ms) AS facts FROM {table} "
            "WHERE kind = 'HANDLER' GROUP BY schema_name, table_name"
        )
        return {
            TableName(row["table_name"], row["schema_name"], catalog): row["facts"].encode()
            for row in self._table.rows(catalog, query)
            if row["facts"]
        }

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_TABLE} AS latest FROM {{table}} "
            f"WHERE {_IS_TABLE} AND schema_name = {_text(schema)} GROUP BY table_name) "
            "WHERE NOT latest.dropped ORDER BY latest.table_name"
        )
        rows = self._table.rows(catalog, query)
        there = {row["tableName"] for row in self._tables(catalog, schema)} if rows else set()
        return tuple(entry_of(row, catalog) for row in rows if row["table_name"] in there)

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog with a row that was not dropped, ordered by name."""
        query = (
            f"SELECT latest.schema_name, latest.table_name FROM (SELECT {_LATEST_TABLE} AS latest "
            f"FROM {{table}} WHERE {_IS_TABLE} GROUP BY schema_name, table_name) "
            "WHERE NOT latest.dropped ORDER BY 1, 2"
        )
        rows = self._table.rows(catalog, query)
        return tuple(TableName(row["table_name"], row["schema_name"], catalog) for row in rows)

    def knows(self, name: TableName) -> bool:
        """Whether there is a row for `name`, also where no such table exists any more."""
        query = (
            f"SELECT 1 FROM (SELECT {_LATEST_TABLE} AS latest FROM {{table}} WHERE {_IS_TABLE} "
            f"AND schema_name = {_text(name.schema or '')} AND table_name = {_text(name.name)}) "
            "WHERE NOT latest.dropped"
        )
        return bool(self._table.rows(name.catalog or "", query))

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs with a heartbeat since an instant, the newest start first."""
        return self._jobs(catalog, f"recorded_at_ms >= {since_ms}")

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        return next(iter(self._jobs(catalog, f"job_id = {_text(job_id)}")), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables with a heartbeat since, which have not ended."""
        condition = f"recorded_at_ms >= {since_ms} AND schema_name = {_text(schema)}"
        found = self._jobs(catalog, condition)
        return tuple(job for job in found if job.status is JobStatus.RUNNING)

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table with a heartbeat since an instant."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_JOB} AS latest FROM {{table}} "
            f"WHERE kind = 'JOB' AND recorded_at_ms >= {since_ms} GROUP BY job_id) "
            "QUALIFY row_number() OVER (PARTITION BY latest.schema_name, latest.table_name "
            f"ORDER BY latest.started_at_ms DESC) <= {per_table}"
        )
        return self._reader.each(self._table.rows(catalog, query), catalog, job_of)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        condition = f"schema_name = {_text(name.schema or '')} AND table_name = {_text(name.name)}"
        return self._jobs(name.catalog or "", condition, f"LIMIT {limit}")

    def last_scheduled(self, catalog: str) -> dict[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        query = (
            "SELECT schema_name, table_name, max(scheduled_at_ms) AS at FROM {table} "
            "WHERE kind = 'JOB' AND status IN ('FINISHED', 'SKIPPED') "
            "AND scheduled_at_ms IS NOT NULL GROUP BY schema_name, table_name"
        )
        return {
            TableName(row["table_name"], row["schema_name"], catalog): row["at"]
            for row in self._table.rows(catalog, query)
        }

    def _jobs(self, catalog: str, condition: str, limit: str = "") -> tuple[Job, ...]:
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_JOB} AS latest FROM {{table}} "
            f"WHERE kind = 'JOB' AND {condition} GROUP BY job_id) "
            f"ORDER BY latest.started_at_ms DESC {limit}"
        )
        return self._reader.each(self._table.rows(catalog, query), catalog, job_of)

    def _tables(self, catalog: str, schema: str) -> list[Row]:
        return self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()


def _text(value: str) -> str:
    """Return a literal inside a template of `str.format`."""
    return quote_text(value).replace("{", "{{").replace("}", "}}")


MOST_ROWS = 500
"""How many rows go into one commit: they are literals of one statement."""


class SparkScan:
    """Schemas, tables and views of a catalog."""

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
    """Writer of many rows of the registry.

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
