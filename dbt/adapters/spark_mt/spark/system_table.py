"""The one Delta table per catalog that rows about tables and refreshes are appended to."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.execution.holds import KEPT_MS, SILENCE_MS
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Row, SparkSession

    from dbt.adapters.spark_mt.spark.private_session import PrivateSession, PrivateSessions

    Value = str | int | bool | None

SCHEMA = "materialized_table_system"
TABLE = "registry"
VIEW = "jobs"
COLUMNS = {
    "kind": "STRING",
    "schema_name": "STRING",
    "table_name": "STRING",
    "status": "STRING",
    "refresh_mode": "STRING",
    "freshness": "STRING",
    "recorded_at_ms": "BIGINT",
    "table_id": "STRING",
    "generation": "INT",
    "seq": "BIGINT",
    "last_refresh_at_ms": "BIGINT",
    "lag_seconds": "BIGINT",
    "positions": "STRING",
    "dropped": "BOOLEAN",
    "job_id": "STRING",
    "job_kind": "STRING",
    "trigger": "STRING",
    "creates": "BOOLEAN",
    "started_at_ms": "BIGINT",
    "ended_at_ms": "BIGINT",
    "rows": "BIGINT",
    "error": "STRING",
    "owner_host": "STRING",
    "owner_pid": "BIGINT",
    "owner_process": "STRING",
    "owner_user": "STRING",
    "scheduled_at_ms": "BIGINT",
    "facts": "STRING",
}
"""All rows have all columns; `kind` says whether a row is about a TABLE, a JOB, a MANAGER, or the
refresh HANDLER of a table."""
COMPACT_EVERY = 64
_ATTEMPTS = 5
_DIRECTORY_THERE = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
_TAKEN = frozenset({"TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS"})
_CHEAP = {
    "spark.databricks.delta.history.metricsEnabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""A commit of a few rows then takes half the time; nobody needs the statistics of such files."""
_MANAGERS_KEPT_MS = 24 * 3600 * 1000
"""Words of managers matter for minutes; those of the last term for ever, as Delta never lets a term
pass again."""
_LAST_TERM = "SELECT coalesce(max(seq), 0) FROM {table} WHERE kind = 'MANAGER'"
_WITHOUT_SUPERSEDED = """
MERGE INTO {table} AS old USING (
  SELECT kind, schema_name, table_name, max(struct(recorded_at_ms, generation, seq)) AS newest
  FROM {table} WHERE kind IN ('TABLE', 'HANDLER') GROUP BY ALL
) AS kept
ON old.kind = kept.kind AND old.schema_name = kept.schema_name
  AND old.table_name = kept.table_name
  AND struct(old.recorded_at_ms, old.generation, old.seq) < kept.newest
WHEN MATCHED THEN DELETE
"""
_JOBS_VIEW = f"""
SELECT latest.job_id AS job_id, concat_ws('.', latest.schema_name, latest.table_name) AS `table`,
  latest.job_kind AS kind,
  CASE WHEN latest.status = 'RUNNING' AND latest.recorded_at_ms < now_ms - {SILENCE_MS}
    THEN 'FAILED' ELSE latest.status END AS status,
  timestamp_millis(latest.started_at_ms) AS start_time,
  timestamp_millis(latest.ended_at_ms) AS end_time,
  latest.rows AS `rows`, latest.error AS error, latest.trigger AS trigger,
  latest.owner_user AS owner_user, latest.owner_host AS owner_host, latest.owner_pid AS owner_pid,
  timestamp_millis(latest.recorded_at_ms) AS heard_at
FROM (
  SELECT max_by(struct(*), struct(recorded_at_ms, status <> 'RUNNING')) AS latest,
    unix_millis(current_timestamp()) AS now_ms
  FROM {{table}} WHERE kind = 'JOB' GROUP BY job_id
)
WHERE latest.recorded_at_ms >= now_ms - {KEPT_MS}
"""


class SystemTable:
    """Appends and reads rows; makes the table where it is not there, and completes an older one.

    Args:
        spark: The user's session, for reading.
        sessions: Private sessions of the log's own: interrupting a statement must not interrupt
            what is told about it.
        compact_every: After how many commits the small files are merged, and rows about old jobs
            go.
    """

    def __init__(
        self,
        spark: SparkSession,
        sessions: PrivateSessions,
        compact_every: int = COMPACT_EVERY,
    ) -> None:
        self._spark = spark
        self._sessions = sessions
        self._compact_every = compact_every

    def append(
        self, catalog: str, rows: Sequence[Mapping[str, Value]], now_ms: int, mark: str = ""
    ) -> None:
        """Append rows in one commit; a column that a row leaves out is NULL.

        Args:
            catalog: Whose table.
            rows: By column.
            now_ms: The current instant, milliseconds since the epoch, UTC.
            mark: What the commit's file says about the rows, to be found without reading them.
        """
        statement = _insertion(catalog, rows)
        with self._cheap_session() as session:
            write = partial(session.commit, mark, None, partial(session.spark.sql, statement))
            version = self._append(session, catalog, write)
            if version and version % self._compact_every == 0:
                _compact(session.spark, catalog, now_ms)

    def append_once(self, catalog: str, row: Mapping[str, Value], fence: str, number: int) -> bool:
        """Append a row unless one was appended under this number of the fence, or a higher one.

        Returns:
            Whether it was appended; of several that try at once, a single one succeeds.
        """
        statement = _insertion(catalog, [row])
        with self._cheap_session() as session:
            insert = partial(session.spark.sql, statement)
            write = partial(session.commit, "", number, insert, fence)
            return self._append(session, catalog, write) is not None

    @contextmanager
    def _cheap_session(self) -> Iterator[PrivateSession]:
        with self._sessions.open() as session:
            for key, value in _CHEAP.items():
                session.spark.conf.set(key, value)
            yield session

    def rows(self, catalog: str, query: str) -> list[Row]:
        """Run a query over `{table}`; without the table there are no rows."""
        statement = query.format(table=_name(catalog))
        try:
            return self._spark.sql(statement).collect()
        except Exception as error:
            if not is_spark_error(error):
                raise
            if failure_of(error).is_missing_table:
                return []
            with self._sessions.open() as session:
                if not _completed(session.spark, catalog):
                    raise
        return self._spark.sql(statement).collect()

    def _append(
        self,
        session: PrivateSession,
        catalog: str,
        commit: Callable[[], int | None],
        attempts: int = _ATTEMPTS,
    ) -> int | None:
        try:
            return commit()
        except Exception as error:
            ours = attempts > 1 and is_spark_error(error)
            if not (ours and _mended(session.spark, catalog, error)):
                raise
        return self._append(session, catalog, commit, attempts - 1)


def _mended(spark: SparkSession, catalog: str, error: Exception) -> bool:
    """Whether what made an append fail is gone now."""
    failure = failure_of(error)
    if failure.is_missing_table:
        _create(spark, catalog)
        return True
    return failure.is_conflict or _completed(spark, catalog)


def _create(spark: SparkSession, catalog: str) -> None:
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote(catalog)}.{SCHEMA}")
    try:
        _create_table(spark, catalog)
        _create_view(spark, catalog)
    except Exception as error:
        if not is_spark_error(error):
            raise
        failure = failure_of(error)
        if not (failure.is_conflict or failure.main_condition in _TAKEN):  # others make it as well
            raise


def _create_table(spark: SparkSession, catalog: str) -> None:
    """Make the table; where its directory is there already, wait for who makes it, or take it over.

    Delta fills the directory before the catalog knows the table, and who was killed in between
    leaves it behind.
    """
    columns = ", ".join(f"{quote(name)} {type_}" for name, type_ in COLUMNS.items())
    statement = f"CREATE TABLE IF NOT EXISTS {_name(catalog)}"
    properties = (
        "TBLPROPERTIES ('delta.checkpointInterval' = '100', "
        "'delta.logRetentionDuration' = 'interval 1 day', "
        "'delta.deletedFileRetentionDuration' = 'interval 1 day')"
    )
    try:
        spark.sql(f"{statement} ({columns}) USING delta {properties}")
    except Exception as error:
        if not (is_spark_error(error) and failure_of(error).main_condition == _DIRECTORY_THERE):
            raise
        location = failure_of(error).parameter("tableLocation")
        if not _appears(spark, catalog):
            spark.sql(f"{statement} USING delta LOCATION {quote_text(location)}")


def _appears(spark: SparkSession, catalog: str) -> bool:
    """Whether somebody else's table is there within two seconds."""
    for _ in range(20):
        if spark.catalog.tableExists(_name(catalog)):
            return True
        time.sleep(0.1)
    return False


def _create_view(spark: SparkSession, catalog: str) -> None:
    """Make the view for people; only Spark's own catalog surely has views."""
    if catalog == "spark_catalog":
        query = _JOBS_VIEW.format(table=_name(catalog))
        spark.sql(f"CREATE OR REPLACE VIEW {quote(catalog)}.{SCHEMA}.{VIEW} AS {query}")


def _completed(spark: SparkSession, catalog: str) -> bool:
    """Add the columns that an older release's table lacks; whether there were any."""
    there = {field.name.lower() for field in spark.table(_name(catalog)).schema.fields}
    missing = [f"{quote(n)} {t}" for n, t in COLUMNS.items() if n not in there]
    if missing:
        spark.sql(f"ALTER TABLE {_name(catalog)} ADD COLUMNS ({', '.join(missing)})")
        _create_view(spark, catalog)
    return bool(missing)


def _compact(spark: SparkSession, catalog: str, now_ms: int) -> None:
    """Merge the small files; somebody else who does the same at this moment is welcome to."""
    old, silent = now_ms - KEPT_MS, now_ms - _MANAGERS_KEPT_MS
    try:
        last_term = spark.sql(_LAST_TERM.format(table=_name(catalog))).collect()[0][0]
        spark.sql(
            f"DELETE FROM {_name(catalog)} WHERE (kind = 'JOB' AND recorded_at_ms < {old}) "
            f"OR (kind = 'MANAGER' AND recorded_at_ms < {silent} AND seq < {last_term})"
        )
        spark.sql(_WITHOUT_SUPERSEDED.format(table=_name(catalog)))
        spark.sql(f"OPTIMIZE {_name(catalog)}")
    except Exception as error:
        if not (is_spark_error(error) and failure_of(error).is_conflict):
            raise


def _name(catalog: str) -> str:
    return f"{quote(catalog)}.{SCHEMA}.{TABLE}"


def _insertion(catalog: str, rows: Sequence[Mapping[str, Value]]) -> str:
    values = ", ".join(_values(row) for row in rows)
    return f"INSERT INTO {_name(catalog)} ({', '.join(map(quote, COLUMNS))}) VALUES {values}"


def _values(row: Mapping[str, Value]) -> str:
    return "(" + ", ".join(_literals(row.get(column) for column in COLUMNS)) + ")"


def _literals(values: Iterable[Value]) -> Iterable[str]:
    for value in values:
        if value is None:
            yield "NULL"
        elif isinstance(value, str):
            yield quote_text(value)
        else:
            yield str(value).lower()
