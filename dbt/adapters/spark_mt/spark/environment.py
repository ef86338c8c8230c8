"""The ports on one Spark session."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.context import (
    ExecutionContext,
    ThreadedHeartbeat,
    run_parallel,
)
from dbt.adapters.spark_mt.execution.deferred_rows import DeferredRows
from dbt.adapters.spark_mt.execution.environment import Environment, QuietTables
from dbt.adapters.spark_mt.execution.jobs import LocalProcesses
from dbt.adapters.spark_mt.execution.leases import Managers
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION, processed
from dbt.adapters.spark_mt.resolution.settings import PREFIX, Settings
from dbt.adapters.spark_mt.spark.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.binding import accepted_text
from dbt.adapters.spark_mt.spark.catalog import NewestVersions, SparkTableStore, TableDetails
from dbt.adapters.spark_mt.spark.commit import WriteErrors
from dbt.adapters.spark_mt.spark.delta.log import DeltaLog, DriverLog
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.driver_files import DriverFiles, listed_names
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.leases import LAYOUT, SparkLeaseLog
from dbt.adapters.spark_mt.spark.observer import SparkTableObserver
from dbt.adapters.spark_mt.spark.private_session import PrivateSessions, is_connect
from dbt.adapters.spark_mt.spark.query_rows import QueryRows
from dbt.adapters.spark_mt.spark.registry import SparkSystemLog
from dbt.adapters.spark_mt.spark.runner import SparkStepRunner
from dbt.adapters.spark_mt.spark.source_states import SparkSourceStates
from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
from dbt.adapters.spark_mt.spark.streams.runner import SparkStreamRunner, StreamFiller, stream_parts
from dbt.adapters.spark_mt.spark.system_table import SystemTable, at_once
from dbt.adapters.spark_mt.spark.writer import ContentWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import Pairs, ResolvedDefinition
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.spark.catalog import SparkTables
    from dbt.adapters.spark_mt.spark.streams.batches import Checkpoints
    from dbt.adapters.spark_mt.spark.streams.runner import StreamParts
    from dbt.adapters.spark_mt.spark.streams.sources import StreamableTables
    from dbt.adapters.spark_mt.spark.system_table import RunInBackground


_STORED = "a table whose definition is stored"
_SHOWN = ("spark.sql.session.timeZone", "spark.redaction.regex")


def utc_now() -> datetime:
    """Return the current instant."""
    return datetime.now(tz=timezone.utc)


class SparkStoredQueryAnalyzer:
    """Analyzer of stored queries, in private sessions with the contexts of the definitions."""

    def __init__(self, sessions: PrivateSessions, settings: Callable[[], Settings]) -> None:
        self._sessions = sessions
        self._settings = settings

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query under its own catalog, schema and SQL confs.

        It reads the columns that its relations had when it was defined.
        """
        with self._sessions.open(definition.context) as session:
            bound = accepted_text(session.spark, definition)
            known = bound.source_columns() if definition.source_columns else None
            found = SparkQueryAnalyzer(session.spark, known=known).analyze(bound.text)
        options = definition.declared.options
        if PROCESS_FUNCTION not in dict(options):
            return found
        return processed(found, options, self._settings().process_functions, _STORED)


class SparkEnvironment:
    """Environment of a session, and what to interrupt and to forget in it.

    It is released with its session when the operation is over, without a garbage collector: no part
    of it refers to it.

    Args:
        spark: The session.
        owner: Returns who declares tables.
        clock: Returns the current instant, aware.
        in_background: Runs the compaction of the registry after a commit; a manager must not wait
            for it.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        clock: Callable[[], datetime] = utc_now,
        in_background: RunInBackground = at_once,
    ) -> None:
        self._spark = spark
        self.sessions = PrivateSessions(spark)
        files = None if is_connect(spark) else DriverFiles(spark)
        tables = self.tables = versioned_tables(spark, files)
        self.details = TableDetails(spark, tables)
        store = SparkTableStore(spark, tables.log, self.details)
        sources = SparkSourceReader(tables, self.details, self.sessions)
        now_ms = partial(_now_ms, clock)
        log, self.leases = self.log, _ = _system(spark, tables, files, now_ms, in_background)
        settings = partial(_settings, spark)  # no method: a part must not refer to the environment
        parts = self.parts = _parts(spark, (sources, tables, self.details), settings, now_ms)
        rows = QueryRows(sources, tables, self.details)
        errors = WriteErrors(tables, self.details)
        filler = StreamFiller(self.sessions, parts, errors) if parts else None
        content = ContentWriter(self.sessions, rows, tables, self.details, filler)
        self.value = Environment(
            format=tables.format,
            store=store,
            upstream=store,
            sources=sources,
            states=SparkSourceStates(tables.log, self.details, sources),
            runner=SparkStepRunner(tables, self.sessions, content, log, self.details, parts),
            registry=log,
            analyzer=SparkQueryAnalyzer(spark),
            stored_analyzer=SparkStoredQueryAnalyzer(self.sessions, settings),
            settings=settings,
            confs=partial(_shown_confs, spark),
            clock=clock,
            new_id=lambda: uuid.uuid4().hex,
            execution_context=_execution_context(log, now_ms),
            observer=SparkTableObserver(spark, self.sessions, rows, tables.log, self.details),
            owner=owner,
            managers=Managers(self.leases, LocalProcesses(), now_ms),
            handlers=log.handler,
            quiet=QuietTables(store, sources, now_ms),
            streams=SparkStreamRunner(self.sessions, parts, now_ms) if parts else None,
        )

    def set_confs(self, prefix: str) -> list[tuple[str, str]]:
        """Return the confs of the session whose keys begin so."""
        return _set_confs(self._spark, prefix)


class SparkMaintenance:
    """Maintenance of tables: merges files, and removes what no reader needs any more.

    Args:
        tables: Maintains tables.
        sessions: Private sessions.
        checkpoints: Of streams; None where there are none.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        tables: SparkTables,
        sessions: PrivateSessions,
        checkpoints: Checkpoints | None,
        now_ms: Callable[[], int],
    ) -> None:
        self._tables = tables
        self._sessions = sessions
        self._checkpoints = checkpoints
        self._now_ms = now_ms

    def compact(self, table: TableName) -> None:
        """Merge a table's small files, which changes no row."""
        with self._sessions.open() as session:
            self._tables.compact(session.spark, table)

    def vacuum(self, table: TableName, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that."""
        with self._sessions.open() as session:
            self._tables.vacuum(session.spark, table, kept_ms)

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        """Remove the checkpoints in which no stream of these tables ran for a week."""
        if self._checkpoints is not None:
            for table_id in table_ids:
                self._checkpoints.remove_abandoned(table_id, self._now_ms())


def versioned_tables(spark: SparkSession, files: DriverFiles | None = None) -> DeltaTables:
    """Return the tables of the one format that there is.

    Args:
        spark: The session.
        files: The driver's file systems, by which logs are read without jobs; None for Connect.
    """
    return DeltaTables(DeltaLog(spark) if files is None else DriverLog(spark, files))


def _parts(
    spark: SparkSession,
    reading: tuple[SparkSourceReader, StreamableTables, TableDetails],
    settings: Callable[[], Settings],
    now_ms: Callable[[], int],
) -> StreamParts | None:
    """Return what streams are made of; none over Connect, as they run in the driver's process."""
    return None if is_connect(spark) else stream_parts(spark, reading, settings, now_ms)


def _settings(spark: SparkSession) -> Settings:
    return Settings.from_confs(dict(_set_confs(spark, PREFIX)))


def _shown_confs(spark: SparkSession) -> dict[str, str]:
    found = {key: spark.conf.get(key, None) for key in _SHOWN}
    return {key: value for key, value in found.items() if value is not None}


def _set_confs(spark: SparkSession, prefix: str) -> list[tuple[str, str]]:
    rows = spark.sql("SET").collect()
    return [(row["key"], row["value"]) for row in rows if row["key"].startswith(prefix)]


def _execution_context(log: SparkSystemLog, now_ms: Callable[[], int]) -> ExecutionContext:
    return ExecutionContext(
        log=log,
        deferred=DeferredRows(log.append, now_ms),
        processes=LocalProcesses(),
        heartbeat=ThreadedHeartbeat(),
        run_both=run_parallel,
        is_cancellation=is_cancellation,
    )


def _system(
    spark: SparkSession,
    tables: SparkTables,
    files: DriverFiles | None,
    now_ms: Callable[[], int],
    in_background: RunInBackground,
) -> tuple[SparkSystemLog, SparkLeaseLog]:
    """Return the registry and the leases of a session's catalogs."""
    versions = NewestVersions(TableDetails(spark, tables), tables.log)
    registry = SystemTable(spark, tables, PrivateSessions(spark), in_background=in_background)
    leases = SystemTable(spark, tables, PrivateSessions(spark), LAYOUT)
    log = SparkSystemLog(spark, registry, now_ms, versions)
    names = partial(listed_names, spark) if files is None else files.names
    return log, SparkLeaseLog(leases, registry, versions, names, files)


def _now_ms(clock: Callable[[], datetime]) -> int:
    return int(clock().timestamp() * 1000)


def is_cancellation(error: BaseException) -> bool:
    """Whether the statement was stopped, by Spark or by ending the process."""
    if isinstance(error, Exception):
        return is_spark_error(error) and failure_of(error).is_cancelled
    return True
