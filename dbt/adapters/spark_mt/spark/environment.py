"""The ports on one Spark session."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.conduct import Conduct, ThreadedHeartbeat, together
from dbt.adapters.spark_mt.execution.environment import Environment
from dbt.adapters.spark_mt.execution.managers import Managers
from dbt.adapters.spark_mt.execution.processes import LocalProcesses
from dbt.adapters.spark_mt.resolution.process_functions import PROCESS_FUNCTION, processed
from dbt.adapters.spark_mt.resolution.settings import PREFIX, Settings
from dbt.adapters.spark_mt.spark.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.content import ContentWriter
from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
from dbt.adapters.spark_mt.spark.driver_files import DriverFiles
from dbt.adapters.spark_mt.spark.driver_log import DriverLog
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.leases import SparkLeaseLog
from dbt.adapters.spark_mt.spark.newest_versions import NewestVersions
from dbt.adapters.spark_mt.spark.observer import SparkTableObserver
from dbt.adapters.spark_mt.spark.private_session import PrivateSessions, is_connect
from dbt.adapters.spark_mt.spark.query_rows import QueryRows
from dbt.adapters.spark_mt.spark.runner import SparkStepRunner
from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
from dbt.adapters.spark_mt.spark.store import SparkTableStore
from dbt.adapters.spark_mt.spark.streams.parts import stream_parts
from dbt.adapters.spark_mt.spark.streams.runner import SparkStreamRunner
from dbt.adapters.spark_mt.spark.system_log import SparkSystemLog
from dbt.adapters.spark_mt.spark.system_table import SystemTable
from dbt.adapters.spark_mt.spark.table_details import TableDetails

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import Pairs, ResolvedDefinition
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery
    from dbt.adapters.spark_mt.spark.streams.parts import StreamParts

_STORED = "a table whose definition is stored"
_SHOWN = ("spark.sql.session.timeZone", "spark.redaction.regex")


class SparkStoredQueryAnalyzer:
    """Analyses a stored query in a private session that stands where the query was defined."""

    def __init__(self, sessions: PrivateSessions, settings: Callable[[], Settings]) -> None:
        self._sessions = sessions
        self._settings = settings

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query under its own catalog, schema and SQL confs."""
        with self._sessions.open(definition.context) as session:
            found = SparkQueryAnalyzer(session.spark).analyze(definition.expanded_query)
        options = definition.asked.options
        if PROCESS_FUNCTION not in dict(options):
            return found
        return processed(found, options, self._settings().process_functions, _STORED)


class SparkEnvironment:
    """Builds the environment of a session, and knows what to interrupt and to forget."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        clock: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc),
    ) -> None:
        self._spark = spark
        self.sessions = PrivateSessions(spark)
        log = DeltaLog(spark) if is_connect(spark) else DriverLog(spark, DriverFiles(spark))
        self.details = TableDetails(spark, log)
        store = SparkTableStore(spark, log, self.details)
        sources = SparkSourceReader(log, self.details, self.sessions)
        system = SystemTable(spark, PrivateSessions(spark))
        now_ms = partial(_now_ms, clock)
        told = self.log = SparkSystemLog(spark, system, now_ms, _versions(spark, log))
        self.leases = SparkLeaseLog(system, told)
        parts = self.parts = self._parts((sources, log, self.details), now_ms)
        content = ContentWriter(self.sessions, sources, log, self.details, parts)
        self.value = Environment(
            store=store,
            upstream=store,
            sources=sources,
            runner=SparkStepRunner(self.sessions, content, told, self.details, parts),
            registry=told,
            analyzer=SparkQueryAnalyzer(spark),
            stored_analyzer=SparkStoredQueryAnalyzer(self.sessions, self._settings),
            settings=self._settings,
            confs=self._confs,
            clock=clock,
            new_id=lambda: uuid.uuid4().hex,
            conduct=Conduct(told, LocalProcesses(), ThreadedHeartbeat(), together, is_cancellation),
            observer=SparkTableObserver(
                spark, self.sessions, QueryRows(sources, log, self.details), log, self.details
            ),
            owner=owner,
            managers=Managers(self.leases, LocalProcesses(), now_ms),
            handlers=told.handler,
            streams=SparkStreamRunner(self.sessions, parts, now_ms) if parts else None,
        )

    def _parts(
        self, reading: tuple[SparkSourceReader, DeltaLog, TableDetails], now_ms: Callable[[], int]
    ) -> StreamParts | None:
        """What streams are made of; none over Connect, as they run in the driver's process."""
        if is_connect(self._spark):
            return None
        return stream_parts(self._spark, reading, self._settings, now_ms)

    def _settings(self) -> Settings:
        return Settings.from_confs(dict(self.set_confs(PREFIX)))

    def _confs(self) -> dict[str, str]:
        found = {key: self._spark.conf.get(key, None) for key in _SHOWN}
        return {key: value for key, value in found.items() if value is not None}

    def set_confs(self, prefix: str) -> list[tuple[str, str]]:
        """Return the confs of the session whose keys begin so."""
        rows = self._spark.sql("SET").collect()
        return [(row["key"], row["value"]) for row in rows if row["key"].startswith(prefix)]


def _versions(spark: SparkSession, log: DeltaLog) -> NewestVersions:
    return NewestVersions(TableDetails(spark, log), log)


def _now_ms(clock: Callable[[], datetime]) -> int:
    return int(clock().timestamp() * 1000)


def is_cancellation(error: BaseException) -> bool:
    """Whether somebody stopped the statement, by Spark or by ending the process."""
    if isinstance(error, Exception):
        return is_spark_error(error) and failure_of(error).is_cancelled
    return True
