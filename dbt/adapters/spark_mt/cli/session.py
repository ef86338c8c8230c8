"""Spark session of a command, and the views of tables that it has without a manager.

A command works in the manager's driver, on a Spark Connect server or in a session of its own.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.client.rest import relay_to
from dbt.adapters.spark_mt.client.target import automatic_target, server_url
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, MetastoreInUseError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.checks import lag_of
from dbt.adapters.spark_mt.execution.jobs import KEPT_MS, with_effective_status
from dbt.adapters.spark_mt.manager.table_views import unmeasured, verification_view, with_lag
from dbt.adapters.spark_mt.manager.views import RefreshPoint, TableView
from dbt.adapters.spark_mt.spark.launch import session
from dbt.adapters.spark_mt.spark.launch.class_archive import make_archive
from dbt.adapters.spark_mt.spark.launch.connect_server import start_serving
from dbt.adapters.spark_mt.spark.session.private_session import interrupt_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from subprocess import Popen

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.cli.options import Place
    from dbt.adapters.spark_mt.client.discovery import Discovered
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.spark.launch.session import StageProgress


LOG = "spark-mt.log"
_SERVER_PORT = 15002
RECENT = 30
"""How many refreshes a view has at most."""
_GOOD = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})


_FIRST = "FRESHNESS = INTERVAL '1' HOUR REFRESH_MODE = FULL AS SELECT k, count(*) AS n"
_LOADED_BY = (
    f"CREATE MATERIALIZED TABLE counts {_FIRST} FROM VALUES (1), (1), (2) AS rows (k) GROUP BY k",
    "CREATE MATERIALIZED TABLE many AS SELECT k FROM counts WHERE n > 1",
    "ALTER MATERIALIZED TABLE counts REFRESH",
    "ALTER MATERIALIZED TABLE many REFRESH",
    "SHOW MATERIALIZED TABLES",
)
"""Statements that load what a start and the first refreshes load."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned; without columns, nothing. `is_cut` if there are more rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    is_cut: bool = False


def rows_of(result: StatementResult, limit: int | None = None) -> Rows:
    """Return the rows of a statement about materialized tables, up to a limit."""
    rows = result.rows[:limit]
    return Rows(tuple(column.name for column in result.columns), rows, len(rows) < len(result.rows))


@dataclass(frozen=True, slots=True)
class Session:
    """The Spark session of a command.

    Args:
        tables: Its materialized tables.
        run: Runs a statement that is not about them; the number bounds the rows.
        progress: Returns how far the running stages are; None where that is unknown.
    """

    tables: MaterializedTables
    run: Callable[[str, int], Rows]
    progress: Callable[[], StageProgress | None] = lambda: None

    @property
    def catalog(self) -> str:
        """The current catalog."""
        return self.tables.environment.store.full_name(TableName("_")).catalog or ""

    def execute(self, statement: str, limit: int) -> Rows:
        """Run a statement, ours or Spark's, and return up to `limit` rows."""
        result = self.tables.execute(statement)
        if result is None:
            return self.run(statement, limit)
        return rows_of(result, limit)

    def views(
        self, wanted: Callable[[str], bool] = lambda _: True, *, measure: bool
    ) -> tuple[TableView, ...]:
        """Return the tables of the catalog whose full name is wanted, ordered by name.

        With `measure`, it looks at the logs of the tables and of their sources for lags.
        """
        environment = self.tables.environment
        environment.store.forget()
        jobs: dict[TableName, list[Job]] = {}
        for job in environment.execution_context.log.jobs(
            self.catalog, environment.now_ms() - KEPT_MS
        ):
            jobs.setdefault(job.table, []).append(with_effective_status(job, environment))
        shown = []
        for each in environment.registry.tables(self.catalog):
            if not wanted(str(each.name)):
                continue
            view = view_of(each, jobs.get(each.name, ()))
            try:
                shown.append(measured(view, lag_of(environment, each.name)) if measure else view)
            except MaterializedTableError as error:
                shown.append(replace(view, problem=view.problem or str(error)))
        return tuple(shown)


@contextmanager
def open_session(place: Place) -> Iterator[Session]:
    """Open a session where `place` says, and end it afterwards.

    Statements that change or refresh a table are carried out by the manager whose Spark this is.

    Raises:
        MetastoreInUseError: Another process holds the metastore, and serves no Spark Connect.
        MaterializedTableError: The profile does not say enough.
    """
    spark, manager = open_spark(place)
    relay = relay_to(spark, manager, say=_print_note)
    tables = MaterializedTables(spark, relay=relay)
    try:
        _enter(spark, place)
        yield Session(tables, partial(_run, spark), partial(session.stage_progress, spark))
    except KeyboardInterrupt:
        interrupt_session(spark)
        tables.cancel()
        raise
    finally:
        tables.environment.verifications.settle()
        spark.stop()


def archive_classes(place: Place) -> Path:
    """Archive the classes of Spark's JVM for later starts, and return the file.

    Starts a Spark that reaches none of the user's tables.

    Raises:
        MaterializedTableError: The JVM wrote none.
    """
    log = place.log_folder / LOG
    with TemporaryDirectory() as folder:
        return make_archive(partial(_load_classes, place.confs, Path(folder), log), log)


def _load_classes(confs: Mapping[str, str], home: Path, log: Path) -> Popen[bytes]:
    spark = start_serving(session.separate_confs(confs, home), home, log).spark
    try:
        tables = MaterializedTables(spark)
        for statement in _LOADED_BY:
            tables.execute(statement)
    except BaseException:
        session.end_spark(spark).wait()  # before its folders are removed
        raise
    return session.end_spark(spark)


def open_spark(place: Place) -> tuple[SparkSession, Discovered | None]:
    """Open a session as the method of a profile says, and return the manager whose Spark it is."""
    if place.method == "connect":
        return session.connect_spark(_server_url(place), place.confs), None
    why = f"the profile says `method: {place.method}`"
    if place.method == "auto":
        target = automatic_target(place.confs, place.home, _print_note)
        if target.is_connect:
            return session.connect_spark(target.url, place.confs, is_near=True), target.manager
        why = target.why
    log = place.log_folder / LOG
    try:
        return session.classic_spark(place.confs, place.home, log, _print_note), None
    except MetastoreInUseError as error:
        reasons = [f"The command was to run a Spark of its own: {why}."]
        raise conditions.METASTORE_IN_USE(violations=reasons, **error.parameters) from None


def _server_url(place: Place) -> str:
    server = place.server
    if not server.get("host"):
        raise conditions.PROFILE(problem=f"`method: connect` needs `host` ({place.origin})")
    port = int(server.get("port") or _SERVER_PORT)
    use_ssl = bool(server.get("use_ssl"))
    return server_url(str(server["host"]), port, server.get("token"), use_ssl=use_ssl)


def _print_note(sentence: str) -> None:
    click.echo(sentence, err=True)


def _enter(spark: SparkSession, place: Place) -> None:
    """Look names up where the profile's models are, once their schema exists."""
    if place.catalog:
        spark.catalog.setCurrentCatalog(place.catalog)
    if place.schema and spark.catalog.databaseExists(quote(place.schema)):
        spark.catalog.setCurrentDatabase(place.schema)


def _run(spark: SparkSession, statement: str, limit: int) -> Rows:
    frame = spark.sql(statement)
    rows = frame.take(limit + 1)
    return Rows(
        columns=tuple(frame.columns),
        rows=tuple(tuple(row) for row in rows[:limit]),
        is_cut=len(rows) > limit,
    )


def view_of(table: KnownTable, jobs: Sequence[Job]) -> TableView:
    """Return what is known of a table without looking at it.

    Its freshness needs the state of its sources: see `measured`.

    Args:
        table: Its row in the registry.
        jobs: Its refreshes, the newest first.
    """
    decided = (each for each in jobs if each.verification and each.status is not JobStatus.SKIPPED)
    verified = verification_view(table, next(decided, None))
    jobs = [job for job in jobs if job.verification is None]
    ended = [job for job in jobs if job.ended_at_ms is not None]
    failed = list(takewhile(lambda job: job.status is JobStatus.FAILED, ended))
    good = [job.started_at_ms for job in ended if job.status in _GOOD]
    refreshed = max([*good, *filter(None, [table.last_refresh_at_ms])], default=None)
    activity = "failing" if failed else "no manager"
    if any(job.status is JobStatus.RUNNING for job in jobs):
        activity = "refreshing"
    elif table.status is RefreshStatus.SUSPENDED:
        activity = "suspended"
    written = (job.rows for job in ended if job.status is JobStatus.FINISHED)
    return TableView(
        name=str(table.name),
        freshness=table.freshness.sql,
        freshness_seconds=table.freshness.seconds,
        refresh_mode=table.refresh_mode.value,
        declared_refresh_mode=table.declared_refresh_mode,
        status=table.status.value,
        status_reason=table.status_reason,
        engine="",
        strategy="",
        reason="",
        activity=activity,
        freshness_status=unmeasured(table),
        lag_seconds=None,
        rows=table.rows if table.rows is not None else next(written, None),
        last_refresh_at_ms=refreshed,
        next_run_at_ms=None,
        failures=len(failed),
        problem=failed[0].error if failed else "",
        refresh_handler="",
        reads=table.reads,
        recent=tuple(map(_point, reversed(jobs[:RECENT]))),
        verification=verified,
    )


def measured(view: TableView, lag: Lag) -> TableView:
    """Return a view with the lag that was measured just now."""
    return with_lag(view, lag, lag.measured_at_ms)


def _point(job: Job) -> RefreshPoint:
    lasted = None if job.ended_at_ms is None else job.ended_at_ms - job.started_at_ms
    return RefreshPoint(job.started_at_ms, lasted, job.status.value, job.rows, job.error)
