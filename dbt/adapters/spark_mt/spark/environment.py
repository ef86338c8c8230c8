"""The ports on one Spark session."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from dbt.adapters.spark_mt.execution import context, verification
from dbt.adapters.spark_mt.execution.environment import Environment
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.leases import LeaseCache, Managers
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from dbt.adapters.spark_mt.execution.up_to_date import UpToDateTables
from dbt.adapters.spark_mt.resolution.settings import PREFIX, Settings
from dbt.adapters.spark_mt.spark.catalog.commit import WriteErrors
from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions, TableDetails
from dbt.adapters.spark_mt.spark.delta.log import DeltaLog, DriverLog
from dbt.adapters.spark_mt.spark.delta.small_tables import SmallDeltaTables
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.iceberg.history import IcebergHistory
from dbt.adapters.spark_mt.spark.iceberg.metadata import DriverMetadata, SqlMetadata
from dbt.adapters.spark_mt.spark.iceberg.tables import ConnectTables, IcebergTables
from dbt.adapters.spark_mt.spark.query.query_rows import QueryRows
from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader
from dbt.adapters.spark_mt.spark.query.stored_queries import (
    DeclaredQueries,
    KnownQueries,
    SeenTables,
    StoredQueries,
)
from dbt.adapters.spark_mt.spark.registry import system_table
from dbt.adapters.spark_mt.spark.registry.leases import LAYOUT, SparkLeaseLog
from dbt.adapters.spark_mt.spark.registry.registry import SparkSystemLog
from dbt.adapters.spark_mt.spark.session import private_session
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles, listed_names
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.input_size import FEW_ROWS
from dbt.adapters.spark_mt.spark.session.outages import outage
from dbt.adapters.spark_mt.spark.streams.batches import BatchWriter, Checkpoints
from dbt.adapters.spark_mt.spark.streams.query import StreamQueries
from dbt.adapters.spark_mt.spark.streams.runner import SparkStreamRunner, StreamFiller, StreamParts
from dbt.adapters.spark_mt.spark.tables.observer import SparkTableObserver
from dbt.adapters.spark_mt.spark.tables.runner import SparkStepRunner
from dbt.adapters.spark_mt.spark.tables.source_states import SparkSourceStates
from dbt.adapters.spark_mt.spark.tables.stored_sums import SumsTables
from dbt.adapters.spark_mt.spark.tables.table_store import SparkTableStore
from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.errors import OutageError
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkFormat, SparkTables
    from dbt.adapters.spark_mt.spark.query.stream_sources import StreamableTables
    from dbt.adapters.spark_mt.spark.registry.system_table import RunInBackground


_SHOWN = ("spark.sql.session.timeZone", "spark.redaction.regex")


_READING: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()
_COMMITTED = context.CommittedRefreshes()
"""The refreshes of this process, whatever session committed them."""


def utc_now() -> datetime:
    """Return the current instant."""
    return datetime.now(tz=timezone.utc)


def described(error: Exception) -> str | None:
    """As `Environment.described`."""
    if not is_spark_error(error):
        return f"{type(error).__name__}: {problem_of(error)}"
    failure = failure_of(error)
    return None if failure.is_cancelled else f"[{failure.condition}] {failure.message}"


def outage_of(error: Exception) -> OutageError | None:
    """As `Environment.outage_of`."""
    return outage(failure_of(error)) if is_spark_error(error) else None


@dataclass(frozen=True, slots=True)
class SharedReads:
    """What several environments of one Spark read once.

    Args:
        session: Reads the catalog, logs and system tables.
        log: Reads the logs of tables, from where it found their ends before.
        known: What is known of stored queries.
        leases: What was read of managers' leases.
    """

    session: SparkSession
    log: DeltaLog
    known: KnownQueries
    leases: LeaseCache


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
        shared: What another environment has read; nothing by default.
        lease_cache: What was read of managers' leases, where sessions share only that.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        clock: Callable[[], datetime] = utc_now,
        in_background: RunInBackground = system_table.at_once,
        shared: SharedReads | None = None,
        lease_cache: LeaseCache | None = None,
    ) -> None:
        self._spark, self.sessions = spark, private_session.PrivateSessions(spark)
        files = None if private_session.is_connect(spark) else DriverFiles(spark)
        shared = self.shared = shared or _shared_reads(spark, files, lease_cache)
        reading = shared.session
        tables = self.tables = installed_tables(reading, files, shared.log)
        self.details = TableDetails(reading, tables)
        store = SparkTableStore(spark, tables, self.details)
        sources = SparkSourceReader(tables, self.details, self.sessions)
        now_ms, self.verifying = partial(_now_ms, clock), VerificationPorts(spark, clock)
        versions = NewestVersions(TableDetails(reading, tables), tables)
        made = partial(_system_table, spark, reading, tables, _small_tables(spark, files), versions)
        registry, leases = made(system_table.REGISTRY_LAYOUT, in_background), made(LAYOUT)
        log = self.log = SparkSystemLog(spark, registry, now_ms, versions)
        self.leases = SparkLeaseLog(leases, versions, _names(spark, files), files)
        settings = partial(_settings, spark)  # no method: a part must not refer to the environment
        parts = _stream_parts(spark, files, tables, self.details, sources, settings, now_ms)
        seen = SeenTables(tables, self.details, shared.known)
        stored = StoredQueries(self.sessions, settings, seen)
        rows = QueryRows(sources, tables, self.details, stored)
        filler = _filler(self.sessions, parts, WriteErrors(tables, self.details))
        content = ContentWriter(self.sessions, rows, tables, self.details, filler)
        self.value = Environment(
            format_of=self.details.format_of,
            store=store,
            upstream=store,
            sources=sources,
            states=SparkSourceStates(tables, self.details, sources),
            runner=SparkStepRunner(tables, self.sessions, content, log, self.details, parts),
            registry=log,
            analyzer=DeclaredQueries(spark, seen),
            stored_analyzer=stored,
            settings=settings,
            confs=partial(_shown_confs, spark),
            clock=clock,
            new_id=lambda: uuid.uuid4().hex,
            execution_context=_execution_context(log, now_ms),
            observer=SparkTableObserver(spark, self.sessions, rows, tables, self.details),
            owner=owner,
            managers=Managers(self.leases, context.LocalProcesses(), now_ms, shared.leases),
            handlers=log.handler,
            up_to_date=UpToDateTables(store, sources, now_ms),
            verifications=verification.QueuedVerifications(_VERIFICATIONS, self.verifying),
            storage=SparkStorage(tables, self.sessions, self.details, parts, now_ms),
            streams=SparkStreamRunner(self.sessions, parts, now_ms) if parts else None,
            described=described,
            outage_of=outage_of,
        )

    def cancel(self) -> None:
        """Interrupt what runs in the sessions of this environment, verifications included."""
        self.sessions.interrupt()
        _VERIFICATIONS.clear(self.verifying)
        self.verifying.interrupt()

    def set_confs(self, prefix: str) -> dict[str, str]:
        """Return the confs of the session whose keys begin so."""
        return _set_confs(self._spark, prefix)


class VerificationPorts:
    """Ports of their own for the verifications of a session, one of which runs at a time."""

    def __init__(self, spark: SparkSession, clock: Callable[[], datetime]) -> None:
        self._spark = spark
        self._clock = clock
        self._sessions: private_session.PrivateSessions | None = None

    def __call__(self) -> Environment:
        made = SparkEnvironment(self._spark, clock=self._clock)
        self._sessions = made.sessions
        return made.value

    def interrupt(self) -> None:
        """Interrupt the verification that runs, if one does."""
        if self._sessions is not None:
            self._sessions.interrupt()


def _in_thread(action: Callable[[], None]) -> None:
    """Run an action in a thread that the end of the process waits for."""
    Thread(target=action, name="materialized-table-verification").start()


_VERIFICATIONS = verification.VerificationQueue(_in_thread)
"""The verifications of this process, whatever session made the commits."""


def _stream_parts(
    spark: SparkSession,
    files: DriverFiles | None,
    tables: SparkTables,
    details: TableDetails,
    sources: SparkSourceReader,
    settings: Callable[[], Settings],
    now_ms: Callable[[], int],
) -> StreamParts | None:
    """Return the parts of streams; None over Connect: streams run in the driver's process."""
    if files is None:
        return None
    checkpoints = Checkpoints(spark, files, settings)
    queries = StreamQueries(sources, partial(_streamable, tables), settings)
    return StreamParts(checkpoints, queries, BatchWriter(tables, details, checkpoints, now_ms))


def _filler(
    sessions: private_session.PrivateSessions, parts: StreamParts | None, errors: WriteErrors
) -> StreamFiller | None:
    return None if parts is None else StreamFiller(sessions, parts, errors)


class SparkStorage:
    """Maintenance of tables by Spark; without the parts of streams there are no checkpoints."""

    def __init__(
        self,
        tables: SparkTables,
        sessions: private_session.PrivateSessions,
        details: TableDetails,
        parts: StreamParts | None,
        now_ms: Callable[[], int],
    ) -> None:
        self._tables = tables
        self._sessions = sessions
        self._details = details
        self._sums = SumsTables(tables, details)
        self._parts = parts
        self._now_ms = now_ms

    def compact(self, name: TableName, table_id: str) -> None:
        with self._sessions.open() as session:
            for each in name, *self._sums.names(session.spark, name.catalog, table_id):
                self._format(each).compact(session.spark, each)

    def vacuum(self, name: TableName, table_id: str, kept_ms: int) -> None:
        """Remove old files; nothing but refreshes reads partial sums."""
        with self._sessions.open() as session:
            for each in name, *self._sums.names(session.spark, name.catalog, table_id):
                self._format(each).vacuum(session.spark, each, kept_ms)

    def _format(self, name: TableName) -> SparkFormat:
        return self._tables.written_by(self._details.format_of(name), name)

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        if self._parts is not None:
            for table_id in table_ids:
                self._parts.checkpoints.remove_abandoned(table_id, self._now_ms())


def _shared_reads(
    spark: SparkSession, files: DriverFiles | None, lease_cache: LeaseCache | None
) -> SharedReads:
    session = _reading_session(spark)
    return SharedReads(session, _log(session, files), KnownQueries(), lease_cache or LeaseCache())


def _log(spark: SparkSession, files: DriverFiles | None) -> DeltaLog:
    return DeltaLog(spark) if files is None else DriverLog(spark, files)


def installed_tables(
    spark: SparkSession, files: DriverFiles | None = None, log: DeltaLog | None = None
) -> SparkTables:
    """Return the tables of all formats that there are.

    Args:
        spark: The session.
        files: The driver's file systems, by which logs are read without jobs; None for Connect.
        log: Reads the logs of tables; by default one of its own.
    """
    delta = DeltaTables(_log(spark, files) if log is None else log)
    reader = SqlMetadata(spark) if files is None else DriverMetadata(spark)
    history = IcebergHistory(reader)
    if files is None:
        return InstalledTables(delta, ConnectTables(spark, history))
    return InstalledTables(delta, IcebergTables(spark, history))


def _streamable(tables: SparkTables, provider: str) -> StreamableTables | None:
    """Return the format of a provider; None where its tables have no versions."""
    found = tables.named(provider)
    return None if found is None else cast("StreamableTables", found)


def _small_tables(spark: SparkSession, files: DriverFiles | None) -> SmallDeltaTables | None:
    return None if files is None else SmallDeltaTables(spark, files)


def _system_table(
    spark: SparkSession,
    reading: SparkSession,
    tables: SparkTables,
    small: SmallDeltaTables | None,
    versions: NewestVersions,
    layout: system_table.Layout,
    in_background: RunInBackground = system_table.at_once,
) -> system_table.SystemTable:
    reader = None if small is None else system_table.SmallReader(small, versions, layout)
    return system_table.SystemTable(
        reading,
        TableDetails(reading, tables).written,
        private_session.PrivateSessions(spark),
        layout,
        reader,
        in_background,
    )


def _reading_session(spark: SparkSession) -> SparkSession:
    """Return the session that reads for a session, the same each time."""
    if private_session.is_connect(spark):
        return spark
    if spark not in _READING:
        _READING[spark] = private_session.lasting_session(spark, FEW_ROWS)
    return _READING[spark]


def _names(spark: SparkSession, files: DriverFiles | None) -> Callable[[str], list[str]]:
    return partial(listed_names, spark) if files is None else files.names


def _settings(spark: SparkSession) -> Settings:
    return Settings.from_confs(_set_confs(spark, PREFIX))


def _shown_confs(spark: SparkSession) -> dict[str, str]:
    found = {key: spark.conf.get(key, None) for key in _SHOWN}
    return {key: value for key, value in found.items() if value is not None}


def _set_confs(spark: SparkSession, prefix: str) -> dict[str, str]:
    return private_session.confs_of(spark, lambda key: key.startswith(prefix))


def _execution_context(log: SparkSystemLog, now_ms: Callable[[], int]) -> context.ExecutionContext:
    return context.ExecutionContext(
        log=log,
        deferred=context.DeferredRows(log.append, now_ms),
        processes=context.LocalProcesses(),
        heartbeat=context.ThreadedHeartbeat(),
        run_both=context.run_parallel,
        committed=_COMMITTED,
        is_cancellation=_is_cancellation,
    )


def _now_ms(clock: Callable[[], datetime]) -> int:
    return int(clock().timestamp() * 1000)


def _is_cancellation(error: BaseException) -> bool:
    """Whether the statement was stopped, by Spark or by ending the process."""
    if isinstance(error, Exception):
        return is_spark_error(error) and failure_of(error).is_cancelled
    return True
