"""System tables of a catalog: their layouts, their rows and the view of jobs."""

from __future__ import annotations

import logging
import sqlite3
import time
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.errors import CommitConflictError, CommitNotMadeError
from dbt.adapters.spark_mt.definition.job import JobKind
from dbt.adapters.spark_mt.execution import jobs
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.catalog.table_details import SPARK_CATALOG
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session import errors as spark_errors
from dbt.adapters.spark_mt.spark.session.input_size import FEW_ROWS
from dbt.adapters.spark_mt.spark.session.outages import naming_outages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import SmallTables
    from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions, SparkFormat
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions

    Value = str | int | bool | None
    RunInBackground = Callable[[Callable[[], None]], object]

    class Values(Protocol):
        """A row of Spark or of SQLite, which has 1 and 0 for true and false."""

        def __getitem__(self, column: str, /) -> Any:  # noqa: ANN401 - the columns have several types
            """Return the value of a column."""


SCHEMA = "materialized_table_system"
_RETAINED_MS = 3600 * 1000
_LOOKS, _LOOK_EVERY_S = 20, 0.1
"""How often, and how long after each other, a table is looked for that another process makes."""


VIEW = "jobs"
TABLE, LEASES = "registry", "leases"
_WAITS = "get_json_object(latest.facts, '$.request') IS NOT NULL"
_SILENCE = (
    f"CASE WHEN {_WAITS} THEN {jobs.WAITING_MS} "
    f"WHEN latest.job_kind = '{JobKind.CONTINUOUS.value}' THEN {jobs.HOST_SILENCE_MS} "
    f"ELSE {jobs.SILENCE_MS} END"
)
_HELD = """
LEFT JOIN (
  SELECT max_by(struct(*), struct(seq, recorded_at_ms, status)) AS lease FROM {leases}
) ON lease.status = 'HELD' AND ({waits}
  OR lease.owner_host = latest.owner_host AND lease.owner_pid = latest.owner_pid
  AND lease.owner_process = latest.owner_process)
"""
"""The manager that holds the catalog writes heartbeats, which are no rows. So what it runs is
RUNNING here until it releases the lease, or loses it; any holder begins what waits."""
_QUERY = f"""
SELECT latest.job_id AS job_id, concat_ws('.', latest.schema_name, latest.table_name) AS `table`,
  latest.job_kind AS kind,
  CASE WHEN latest.status = 'RUNNING' AND {{gone}} AND latest.recorded_at_ms < now_ms - {_SILENCE}
    THEN IF({_WAITS}, 'CANCELED', 'FAILED') ELSE latest.status END AS status,
  timestamp_millis(latest.started_at_ms) AS start_time,
  timestamp_millis(latest.ended_at_ms) AS end_time,
  latest.rows AS `rows`, latest.error AS error, latest.trigger AS trigger,
  latest.owner_user AS owner_user, latest.owner_host AS owner_host, latest.owner_pid AS owner_pid,
  timestamp_millis(latest.recorded_at_ms) AS last_heartbeat_time
FROM (
  SELECT max_by(struct(*), struct(recorded_at_ms, status <> 'RUNNING')) AS latest,
    unix_millis(current_timestamp()) AS now_ms
  FROM {{registry}} WHERE kind = 'JOB' GROUP BY job_id
) {{held}}
WHERE latest.recorded_at_ms >= now_ms - {jobs.KEPT_MS}
"""
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
"""All rows have all columns; `kind` says whether a row is about a TABLE, a JOB, or the refresh
HANDLER of a table."""
COMPACT_EVERY = 64
_LOGGER = logging.getLogger(__name__)
_VACUUM_EVERY = 4
_ATTEMPTS = 5
_CHEAP = {**FORMATS.confs.small_commits, **FEW_ROWS, "spark.sql.leafNodeDefaultParallelism": "1"}
"""A commit of a few rows then takes half the time, and writes one file. No reader needs the
statistics of such files."""
_ORDER = (
    "struct({of}.recorded_at_ms, coalesce({of}.status <> 'RUNNING', true), "
    "{of}.generation, {of}.seq)"
)
_KEPT_ORDER, _OLD_ORDER = _ORDER.replace("{of}", "each"), _ORDER.replace("{of}", "old")
_SUPERSEDED = f"""
MERGE INTO {{table}} AS old USING (
  SELECT kind, schema_name, table_name, job_id, max({_KEPT_ORDER}) AS newest
  FROM {{table}} AS each WHERE kind IN ('TABLE', 'HANDLER', 'JOB') GROUP BY ALL
) AS kept
ON old.kind = kept.kind AND old.schema_name <=> kept.schema_name
  AND old.table_name <=> kept.table_name AND old.job_id <=> kept.job_id
  AND ({_OLD_ORDER} < kept.newest OR old.kind = 'JOB' AND old.recorded_at_ms < {{old}})
WHEN MATCHED THEN DELETE
"""
"""Of each table, handler and job the newest row stays."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A system table.

    Args:
        table: Its name in the system schema.
        columns: Types by name.
        superseded: Returns the statement that deletes the rows that no reader needs, from the
            table's full name and the current instant in milliseconds since the epoch, UTC.
    """

    table: str
    columns: Mapping[str, str]
    superseded: Callable[[str, int], str]

    def name(self, catalog: str) -> str:
        """Return the full name, quoted."""
        return f"{quote(catalog)}.{SCHEMA}.{self.table}"

    def table_name(self, catalog: str) -> TableName:
        """Return the full name."""
        return TableName(self.table, SCHEMA, catalog)


def _make_jobs_view(spark: SparkSession, catalog: str) -> None:
    """Make the view; only Spark's own catalog surely has views.

    A catalog has the table of leases once it had a manager.
    """
    if catalog != SPARK_CATALOG:
        return
    schema = f"{quote(catalog)}.{SCHEMA}"
    if not spark.catalog.tableExists(f"{schema}.{TABLE}"):
        return
    managed = spark.catalog.tableExists(f"{schema}.{LEASES}")
    query = _QUERY.format(
        registry=f"{schema}.{TABLE}",
        gone="lease IS NULL" if managed else "true",
        held=_HELD.format(leases=f"{schema}.{LEASES}", waits=_WAITS) if managed else "",
    )
    # Spark replaces a view by two calls of the catalog. Another process may make it meanwhile.
    with spark_errors.suppress_spark_errors(
        lambda other: other.is_existing_table or other.is_missing_table
    ):
        spark.sql(f"CREATE OR REPLACE VIEW {schema}.{VIEW} AS {query}")


def _superseded(name: str, now_ms: int) -> str:
    return _SUPERSEDED.format(table=name, old=now_ms - jobs.KEPT_MS)


def at_once(action: Callable[[], None]) -> None:
    """Run an action in the caller's thread."""
    action()


REGISTRY_LAYOUT = Layout(TABLE, COLUMNS, _superseded)


class SmallReader:
    """Reader of a system table that is small: SQLite answers the queries, and not Spark.

    Spark needs half a second of two cores for a query over a hundred tiny files, and four seconds
    for the first query of a process. Each data file is read once.

    Args:
        tables: Reads data files.
        versions: Knows where tables are.
        layout: Which table.
    """

    def __init__(self, tables: SmallTables, versions: NewestVersions, layout: Layout) -> None:
        self._tables = tables
        self._versions = versions
        self._layout = layout
        self._columns = tuple(layout.columns)
        self._databases: dict[str, sqlite3.Connection] = {}
        self._lock = Lock()

    def rows(
        self, catalog: str, query: str, parameters: Mapping[str, Value]
    ) -> list[Values] | None:
        """Run a query over `{table}`; None where Spark has to run it.

        Args:
            catalog: Whose table.
            query: In the SQL that Spark and SQLite have in common.
            parameters: What stands for other names in braces, such as `{schema}`.
        """
        name = self._layout.table_name(catalog)
        if self._versions(name) < 0:
            return None
        with self._lock:
            if catalog not in self._databases:
                self._databases[catalog] = self._made()
            database = self._databases[catalog]
            table = self._versions.table(name)
            if table is None or not self._update(database, table):
                return None
            names = {name: f":{name}" for name in parameters}
            return database.execute(query.format(table="stored", **names), parameters).fetchall()

    def _made(self) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:", check_same_thread=False)  # one at a time: the lock
        database.row_factory = sqlite3.Row
        columns = ", ".join(f'"{name}"' for name in self._columns)
        database.execute(f"CREATE TABLE stored (data_file, {columns})")
        return database

    def _update(self, database: sqlite3.Connection, table: TableRef) -> bool:
        """Take in the data files of the newest version; whether that was possible."""
        there = database.execute("SELECT DISTINCT data_file FROM stored").fetchall()
        known = {row["data_file"] for row in there}
        found = self._tables.read(table, self._columns, known)
        if found is None:
            return False
        gone = [(path,) for path in known - found.paths]
        marks = ", ".join("?" * (len(self._columns) + 1))
        rows = ((path, *row) for path, rows in found.rows.items() for row in rows)
        with database:  # all rows of a file or none: one that has a row is not read again
            database.executemany("DELETE FROM stored WHERE data_file = ?", gone)
            database.executemany(f"INSERT INTO stored VALUES ({marks})", rows)
        return True


class SystemTable:
    """Rows of a system table, which is made where it is missing.

    Args:
        spark: The user's session, for reading.
        format_of: Returns what writes the table, by its full name.
        sessions: Private sessions of the log's own: interrupting a statement must not interrupt
            what is written about it.
        layout: Which table.
        small: Reads the table while it is small; None where only Spark can read it.
        in_background: Runs compactions; a manager has a thread for it, a statement does it before
            it ends.
        compact_every: After how many commits the small files are merged, and rows that no reader
            needs are deleted.
    """

    def __init__(
        self,
        spark: SparkSession,
        format_of: Callable[[TableName], SparkFormat],
        sessions: PrivateSessions,
        layout: Layout = REGISTRY_LAYOUT,
        small: SmallReader | None = None,
        in_background: RunInBackground = at_once,
        *,
        compact_every: int = COMPACT_EVERY,
    ) -> None:
        self._spark = spark
        self._small = small
        self._format_of = format_of
        self._sessions = sessions
        self._layout = layout
        self._compact_every = compact_every
        self._in_background = in_background
        self._compactions = 0

    def append(self, catalog: str, rows: Sequence[Mapping[str, Value]], now_ms: int) -> int:
        """Append rows in one commit; a column that a row leaves out is NULL.

        Args:
            catalog: Whose table.
            rows: By column.
            now_ms: The current instant, milliseconds since the epoch, UTC.

        Returns:
            The version of the commit; -1 where Spark does not report it.
        """
        version = self._insert(catalog, rows)
        if version and version % self._compact_every == 0:
            self._in_background(partial(self._compact, catalog, version, now_ms))
        return -1 if version is None else version

    def append_once(self, catalog: str, row: Mapping[str, Value], fence: str, number: int) -> bool:
        """Append a row unless one was appended under this number of the fence, or a higher one.

        Returns:
            Whether it was appended; of several that try at once, a single one succeeds.
        """
        return self._insert(catalog, [row], number, fence) is not None

    def rows(
        self, catalog: str, query: str, parameters: Mapping[str, Value] | None = None
    ) -> Sequence[Values]:
        """Run a query over `{table}`; without the table there are no rows.

        Args:
            catalog: Whose table.
            query: In the SQL that Spark and SQLite have in common.
            parameters: What stands for other names in braces, such as `{schema}`.
        """
        values = dict(parameters or {})
        if self._small and (found := self._small.rows(catalog, query, values)) is not None:
            return found
        # Delta 4.4's parser leaves the parameters of Spark 4.2 unbound.
        literals = {key: _literal(value) for key, value in values.items()}
        statement = query.format(table=self._layout.name(catalog), **literals)
        try:
            with naming_outages(self._layout.table_name(catalog)), spark_errors.unlogged():
                return self._spark.sql(statement).collect()
        except Exception as error:
            if not spark_errors.is_spark_error(error):
                raise
            if not spark_errors.failure_of(error).is_missing_table:
                raise
            return []

    def _insert(
        self,
        catalog: str,
        rows: Sequence[Mapping[str, Value]],
        number: int | None = None,
        fence: str = "",
    ) -> int | None:
        """Append rows in one commit, with a fence where there is a number; return its version."""
        columns = tuple(self._layout.columns)
        values = ", ".join(f"({', '.join(_literal(row.get(c)) for c in columns)})" for row in rows)
        name = self._layout.table_name(catalog)
        format_ = self._format_of(name)
        with self._sessions.reused(_CHEAP) as spark:
            # Without a fence, a format may let rows of others come in between.
            names = ", ".join(map(quote, columns))
            statement = f"INSERT INTO {name.sql} ({names}) VALUES {values}"
            insert: Callable[[], object] = partial(spark.sql, statement)
            if number is not None:
                insert = partial(format_.append, spark, name, f"VALUES {values}", columns)
            commit = partial(format_.commit, spark, name, "", number, insert, fence)
            return self._attempt(spark, catalog, commit)

    def _attempt(
        self,
        spark: SparkSession,
        catalog: str,
        commit: Callable[[], int | None],
        attempts: int = _ATTEMPTS,
    ) -> int | None:
        try:
            with spark_errors.unlogged():
                return commit()
        except Exception as error:
            if attempts <= 1 or not self._mended(spark, catalog, error):
                raise
        return self._attempt(spark, catalog, commit, attempts - 1)

    def _mended(self, spark: SparkSession, catalog: str, error: Exception) -> bool:
        """Whether what made an append fail is gone now."""
        if isinstance(error, (CommitConflictError, CommitNotMadeError)):
            return True
        if not spark_errors.is_spark_error(error):
            return False
        failure = spark_errors.failure_of(error)
        if failure.is_missing_table:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote(catalog)}.{SCHEMA}")
            # another process may make the same at this moment
            with spark_errors.suppress_spark_errors(
                lambda other: other.is_conflict or other.is_existing_table
            ):
                self._create(spark, catalog)
                _make_jobs_view(spark, catalog)
            return True
        return failure.is_conflict

    def _create(self, spark: SparkSession, catalog: str) -> None:
        """Make the table; if its directory exists, wait for the other process, or take it over.

        The format may fill the directory before the catalog has the table. A process that was
        killed in between leaves it there.
        """
        format_ = self._format_of(self._layout.table_name(catalog)).format
        columns = ", ".join(
            f"{quote(name)} {type_}" for name, type_ in self._layout.columns.items()
        )
        properties = ", ".join(
            f"{quote_text(key)} = {quote_text(value)}"
            for key, value in format_.system_properties.items()
        )
        name = self._layout.name(catalog)
        statement = f"CREATE TABLE IF NOT EXISTS {name}"
        try:
            spark.sql(f"{statement} ({columns}) USING {format_.name} TBLPROPERTIES ({properties})")
        except Exception as error:
            if not (
                spark_errors.is_spark_error(error)
                and spark_errors.failure_of(error).is_taken_directory
            ):
                raise
            for _ in range(_LOOKS):
                if spark.catalog.tableExists(name):
                    return
                time.sleep(_LOOK_EVERY_S)
            location = spark_errors.failure_of(error).parameter("tableLocation")
            spark.sql(f"{statement} USING {format_.name} LOCATION {quote_text(location)}")

    def _compact(self, catalog: str, version: int, now_ms: int) -> None:
        """Delete superseded rows and merge files; another process may do the same meanwhile."""
        table = self._layout.table_name(catalog)
        name, format_ = self._layout.name(catalog), self._format_of(table)
        try:
            with self._sessions.reused(_CHEAP) as spark:
                spark.sql(self._layout.superseded(name, now_ms))
                format_.compact(spark, table)
                _make_jobs_view(spark, catalog)  # it may be the one of another release
                # By version for statements, whose processes end before the fourth compaction. By
                # count for a manager: compaction takes versions too, so that the versions of its
                # appends may never be multiples of the interval.
                self._compactions += 1
                by_version = version % (_VACUUM_EVERY * self._compact_every) == 0
                if by_version or self._compactions % _VACUUM_EVERY == 0:
                    format_.vacuum(spark, table, _RETAINED_MS)
        except Exception as error:  # noqa: BLE001 - the rows are written; the next time does it
            if not (
                spark_errors.is_spark_error(error) and spark_errors.failure_of(error).is_conflict
            ):
                _LOGGER.warning("%s was not compacted: %s", name, problem_of(error))


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return quote_text(value) if isinstance(value, str) else str(value).lower()
