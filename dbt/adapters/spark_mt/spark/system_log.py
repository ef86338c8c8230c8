"""The registry of materialized tables and the log of refreshes, in one append-only table.

Neither is the truth about a table (design section 3): losing them loses nothing but the speed of
listings and the memory of refreshes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_facts import encode_positions
from dbt.adapters.spark_mt.definition.identifier import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.known_tables import facts_of_known, known_table
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.spark.known_rows import known_of
from dbt.adapters.spark_mt.spark.system_table import SCHEMA, TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.newest_versions import NewestVersions
    from dbt.adapters.spark_mt.spark.system_table import SystemTable, Value

_IS_TABLE = "coalesce(kind, 'TABLE') = 'TABLE'"
"""A row without a kind is older than the log of refreshes."""
_LATEST_TABLE = "max_by(struct(*), struct(recorded_at_ms, generation, seq))"
_LATEST_JOB = "max_by(struct(*), struct(recorded_at_ms, status <> 'RUNNING'))"


class SparkSystemLog:
    """Reads and appends rows of `<catalog>.materialized_table_system.registry`."""

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

    def record(self, step: Register) -> None:
        """Append a table's row, and that of the refresh which made its newest commit."""
        now = self._now_ms()
        rows = [table_row(step, now)]
        if step.job is not None:
            rows.append(_job_row(step.job))
        self._table.append(step.definition.name.catalog or "", rows, now)

    def remove(self, name: TableName) -> None:
        """Append the row that says that a table is gone."""
        now = self._now_ms()
        row: dict[str, Value] = {**_named("TABLE", name, now), "dropped": True}
        self._table.append(name.catalog or "", [row], now)

    def append(self, *jobs: Job) -> None:
        """Append a row about each job, all in one commit; they are of one catalog."""
        if jobs:
            rows = [_job_row(job) for job in jobs]
            self._table.append(jobs[0].table.catalog or "", rows, self._now_ms())

    def version(self, catalog: str) -> int:
        """Return the newest version of the registry's own table."""
        return self._versions(TableName(TABLE, SCHEMA, catalog))

    def may_mention(self, catalog: str, word: str, versions: Iterable[int]) -> bool:
        """Whether a commit of the registry's own table may have a word; asked without a job."""
        return self._versions.may_mention(TableName(TABLE, SCHEMA, catalog), word, versions)

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_TABLE} AS latest FROM {{table}} "
            f"WHERE {_IS_TABLE} GROUP BY schema_name, table_name) "
            "WHERE NOT latest.dropped AND latest.facts IS NOT NULL "
            "ORDER BY latest.schema_name, latest.table_name"
        )
        return tuple(known_of(row, catalog) for row in self._table.rows(catalog, query))

    def tell_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:
        """Append a row for the refresh handler of each table, all in one commit."""
        now = self._now_ms()
        rows: list[dict[str, Value]] = [
            {**_named("HANDLER", name, now), "facts": handler.decode()}
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

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_TABLE} AS latest FROM {{table}} "
            f"WHERE {_IS_TABLE} AND schema_name = {_text(schema)} GROUP BY table_name) "
            "WHERE NOT latest.dropped ORDER BY latest.table_name"
        )
        rows = self._table.rows(catalog, query)
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

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog that was told and not dropped, ordered by name."""
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
        """Return the jobs that were heard of since an instant, the newest start first."""
        return self._jobs(catalog, f"recorded_at_ms >= {since_ms}")

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        return next(iter(self._jobs(catalog, f"job_id = {_text(job_id)}")), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that were heard of since, and have not ended."""
        condition = f"recorded_at_ms >= {since_ms} AND schema_name = {_text(schema)}"
        found = self._jobs(catalog, condition)
        return tuple(job for job in found if job.status is JobStatus.RUNNING)

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table that were heard of since an instant."""
        query = (
            f"SELECT latest.* FROM (SELECT {_LATEST_JOB} AS latest FROM {{table}} "
            f"WHERE kind = 'JOB' AND recorded_at_ms >= {since_ms} GROUP BY job_id) "
            "QUALIFY row_number() OVER (PARTITION BY latest.schema_name, latest.table_name "
            f"ORDER BY latest.started_at_ms DESC) <= {per_table}"
        )
        return tuple(_job(row, catalog) for row in self._table.rows(catalog, query))

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
        return tuple(_job(row, catalog) for row in self._table.rows(catalog, query))

    def _tables(self, catalog: str, schema: str) -> list[Row]:
        return self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()


def _named(kind: str, name: TableName, now_ms: int) -> dict[str, Value]:
    return {
        "kind": kind,
        "schema_name": name.schema or "",
        "table_name": name.name,
        "recorded_at_ms": now_ms,
    }


def table_row(step: Register, now_ms: int) -> dict[str, Value]:
    """Return what the registry is told of a table.

    Args:
        step: What was committed.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    definition = step.definition
    return {
        **_named("TABLE", definition.name, now_ms),
        "table_id": definition.table_id,
        "generation": definition.generation,
        "seq": step.seq,
        "refresh_mode": definition.resolved.refresh_mode.value,
        "freshness": definition.resolved.freshness.sql,
        "status": definition.status.value,
        "last_refresh_at_ms": step.refresh.started_at_ms if step.refresh else None,
        "lag_seconds": 0 if step.refresh else None,
        "positions": json.dumps(encode_positions(step.positions or {})),
        "dropped": False,
        "facts": json.dumps(facts_of_known(known_table(step, now_ms))),
    }


def _job_row(job: Job) -> dict[str, Value]:
    return {
        **_named("JOB", job.table, job.heard_at_ms),
        "status": job.status.value,
        "refresh_mode": job.refresh_mode,
        "freshness": job.freshness,
        "job_id": job.job_id,
        "job_kind": job.kind.value,
        "trigger": job.trigger,
        "creates": job.creates,
        "started_at_ms": job.started_at_ms,
        "ended_at_ms": job.ended_at_ms,
        "rows": job.rows,
        "error": job.error,
        "owner_host": job.owner.host,
        "owner_pid": job.owner.pid,
        "owner_process": job.owner.process,
        "owner_user": job.owner.user,
        "scheduled_at_ms": job.scheduled_at_ms,
    }


def _job(row: Row, catalog: str) -> Job:
    return Job(
        job_id=row["job_id"],
        table=TableName(row["table_name"], row["schema_name"], catalog),
        kind=JobKind(row["job_kind"]),
        status=JobStatus(row["status"]),
        started_at_ms=row["started_at_ms"],
        heard_at_ms=row["recorded_at_ms"],
        owner=Owner(row["owner_host"], row["owner_pid"], row["owner_process"], row["owner_user"]),
        trigger=row["trigger"],
        creates=row["creates"],
        refresh_mode=row["refresh_mode"],
        freshness=row["freshness"],
        ended_at_ms=row["ended_at_ms"],
        rows=row["rows"],
        error=row["error"],
        scheduled_at_ms=row["scheduled_at_ms"],
    )


def _text(value: str) -> str:
    """A literal inside a template of `str.format`."""
    return quote_text(value).replace("{", "{{").replace("}", "}}")
