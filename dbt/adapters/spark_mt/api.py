"""Python API of materialized tables: notebooks, jobs, the command line and the dbt adapter.

from dbt.adapters.spark_mt.api import MaterializedTables
MaterializedTables(spark).sql("CREATE OR ALTER MATERIALIZED TABLE hourly AS SELECT …").show()
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.drift import Drift, DriftKind
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, TableName
from dbt.adapters.spark_mt.definition.definition import InconsistentTable, StoredTable
from dbt.adapters.spark_mt.definition.errors import (
    HookOverConnectError,
    HostingOverConnectError,
    MaterializedTableError,
    NotFreshError,
    NotHostedError,
    NotPlannableError,
    QueryError,
    TemporaryObjectError,
    UnusableHookError,
    WaitTimeoutError,
)
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus, LagStage, SourceActivity
from dbt.adapters.spark_mt.definition.modes import Wait
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    FollowedPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
    left_positions,
)
from dbt.adapters.spark_mt.definition.verification import RowDifference, Side
from dbt.adapters.spark_mt.definition.watermark import Watermark
from dbt.adapters.spark_mt.execution import checks
from dbt.adapters.spark_mt.execution.alter import Adoptions, Alterations, Derivation
from dbt.adapters.spark_mt.execution.checks import Difference, Lag
from dbt.adapters.spark_mt.execution.leases import LeaseCache
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.execution.operations import TableOperations, netted
from dbt.adapters.spark_mt.execution.refresh import Refreshes
from dbt.adapters.spark_mt.execution.repair import RepairAction, Repaired, Repairs
from dbt.adapters.spark_mt.execution.results import (
    Action,
    AdoptionTerms,
    Declared,
    KeptConfiguration,
    RefreshOutcome,
    RefreshResult,
    Relay,
    ResultColumn,
    StatementOutcome,
    StatementResult,
)
from dbt.adapters.spark_mt.execution.show import Figure, figures_of
from dbt.adapters.spark_mt.hosting.host import Host, Wanted
from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
from dbt.adapters.spark_mt.hosting.policy import HostPhase, HostProgress, Turns
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict
from dbt.adapters.spark_mt.planning.steps import Unregister, plan_registration
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment, utc_now
from dbt.adapters.spark_mt.spark.launch.task_log import TaskLog
from dbt.adapters.spark_mt.spark.parser import hook
from dbt.adapters.spark_mt.spark.registry.registry import SparkCorrections, SparkScan
from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable
from dbt.adapters.spark_mt.spark.session.errors import of_the_user, unlogged, unlogged_methods
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from dbt.adapters.spark_mt.statements.parser import ParsedStatement, parse_name
from dbt.adapters.spark_mt.statements.values import query_text
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import Choice, Cost, OutputMode, Refusal, Write

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.positions import Positions


__all__ = [
    "Action",
    "AdoptionTerms",
    "Choice",
    "Column",
    "Cost",
    "Declared",
    "DefinitionPosition",
    "Derivation",
    "Difference",
    "Drift",
    "DriftKind",
    "Figure",
    "FreshnessStatus",
    "HookOverConnectError",
    "HostPhase",
    "HostProgress",
    "HostingOverConnectError",
    "KeptConfiguration",
    "Lag",
    "LagStage",
    "LeaseCache",
    "MaterializedTableError",
    "MaterializedTables",
    "NotFreshError",
    "NotHostedError",
    "NotPlannableError",
    "OffsetPosition",
    "OutputMode",
    "ParsedStatement",
    "PlanSummary",
    "QueryError",
    "Reason",
    "RefreshOutcome",
    "RefreshResult",
    "Refusal",
    "Relay",
    "RepairAction",
    "Repaired",
    "ResultColumn",
    "RowDifference",
    "Side",
    "SourceActivity",
    "StatementOutcome",
    "StatementResult",
    "TableName",
    "TemporaryObjectError",
    "UnknownPosition",
    "UnusableHookError",
    "Verdict",
    "VersionedPosition",
    "Wait",
    "WaitTimeoutError",
    "Watermark",
    "Write",
]


class _SqlEngine:
    """An `SqlEngine` for the sessions of this process; each statement has ports of its own."""

    def __init__(
        self,
        shared: SparkEnvironment,
        task_log: TaskLog,
        done: Callable[[StatementOutcome], StatementOutcome],
    ) -> None:
        self._shared = shared
        self._task_log = task_log
        self._done = done
        self._running: dict[str, PrivateSessions] = {}

    def carry_out(
        self, spark: SparkSession, text: str, request_id: str, owner: Pairs
    ) -> StatementResult:
        """As `SqlEngine.carry_out`."""
        shared = self._shared.value
        made = SparkEnvironment(
            spark,
            owner=lambda: owner or shared.owner(),
            clock=shared.clock,
            shared=self._shared.shared,
        )
        self._running[request_id] = made.sessions
        try:
            with unlogged(), self._task_log.off():
                result = TableOperations(made.value).execute(text)
        finally:
            del self._running[request_id]
        if result is None:
            raise TypeError(text)
        if result.outcome is not None:
            self._done(result.outcome)
        return result

    def interrupt(self, request_id: str) -> None:
        """As `SqlEngine.interrupt`."""
        found = self._running.get(request_id)
        if found is not None:
            found.interrupt()


@unlogged_methods(lambda tables: tables._task_log.off())  # noqa: SLF001 - of this class
@netted
class MaterializedTables(TableOperations):
    """Materialized tables of one Spark session.

    Args:
        spark: A classic or a Connect session. Statements are analysed in it, and never change its
            settings.
        owner: Returns who declares the table of the statement that runs; stored with a new one.
        clock: Returns the current instant, aware.
        relay: Executes statements that change or refresh a table in the driver whose session this
            is. Without it, a statement that needs a stream raises an error over Spark Connect.
        lease_cache: What was read of managers' leases, where several sessions share it.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        clock: Callable[[], datetime] | None = None,
        relay: Relay | None = None,
        lease_cache: LeaseCache | None = None,
    ) -> None:
        self._spark = spark
        self._task_log = TaskLog(spark)
        self._engine = SparkEnvironment(
            spark, owner=owner, clock=clock or utc_now, lease_cache=lease_cache
        )
        self._host: Host | None = None
        self._making_host = Lock()
        super().__init__(self._engine.value, relay)

    @of_the_user
    def sql(self, statement: str) -> DataFrame:
        """Run any SQL: ours here, everything else in Spark, byte for byte.

        Raises:
            MaterializedTableError: A statement about materialized tables is not valid or failed.
            TemporaryObjectError: The query of a table uses something that only this session knows.
        """
        result = self.execute(statement)
        if result is None:
            return self._spark.sql(statement)
        schema = ", ".join(f"`{column.name}` {column.type}" for column in result.columns)
        return self._spark.createDataFrame([tuple(row) for row in result.rows], schema)

    def enable_sql(self) -> SparkSession:
        """Let `spark.sql()` of this session run statements about materialized tables, too.

        So do sessions that are made from it from now on. It takes a second, once, and holds until
        Spark stops. Errors are Spark's `AnalysisException` with our condition and text.

        Returns:
            The session.

        Raises:
            HookOverConnectError: The session is one of Spark Connect; its server decides.
            UnusableHookError: This release of Spark does not take the hook.
        """
        engine = _SqlEngine(self._engine, self._task_log, self._done)
        hook.enter(hook.install(self._spark, engine, is_of_connect=False), self._spark)
        return self._spark

    def derive_again(self, catalog: str | None = None) -> tuple[Derivation, ...]:
        """Derive freshness and refresh mode again where definitions left them open.

        Use it after a setting such as the threshold between the modes was changed. It reads the
        registry once and looks at each table; one that changes costs a small commit.

        Args:
            catalog: The catalog of the tables; None for the current one.

        Returns:
            The tables that changed, with what was done, and those that failed, with the error.
        """
        place, _ = self._schema(catalog)
        return Alterations(self._current()).derive_again(place)

    def release(self, name: str) -> StatementOutcome:
        """Make a plain table of a materialized one, which keeps rows, files and history.

        Args:
            name: The table's name, in backticks where it needs them.

        Raises:
            MaterializedTableError: There is no such table.
        """
        return self._done(Adoptions(self._current()).release(parse_name(name)))

    def drift(self, name: str) -> tuple[Drift, ...]:
        """Return what was changed about a table by other means than its definition.

        Args:
            name: The table's name, in backticks where it needs them.
        """
        return checks.drift_of(self._current(), parse_name(name))

    def health(self, name: str) -> tuple[str, ...]:
        """Return why a table is not healthy, one sentence each; nothing for a healthy one.

        Args:
            name: As for `drift`.
        """
        return checks.health_problems(self._current(), parse_name(name))

    def lag(self, name: str) -> Lag:
        """Measure the lag of a table to its base tables now.

        Args:
            name: As for `drift`.

        Raises:
            MaterializedTableError: There is no such table, or a source cannot be looked at.
        """
        return checks.lag_of(self._current(), parse_name(name))

    def loaded_at(self, name: str) -> datetime | None:
        """Return up to when a table has what was loaded, from its commits; no rows are read.

        For a materialized table these are the changes of its base tables, by the positions that
        its commits record. For any other table it is the newest commit that changed rows.

        Args:
            name: As for `drift`.

        Returns:
            The instant, in UTC; None for a table to which no rows were ever written.

        Raises:
            MaterializedTableError: The relation has no commits, or is not there.
        """
        at_ms = checks.loaded_at(self._current(), parse_name(name))
        return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)

    def difference(self, name: str, *, limit: int = 100) -> Difference:
        """Compare a table with its query over the state of the sources that its rows reflect.

        It costs what the query costs. Rows are compared as bags: each as often as it occurs.

        Args:
            name: As for `drift`.
            limit: How many differing rows to name at most.

        Raises:
            MaterializedTableError: There is no such table, or its query is refused now.
        """
        return checks.difference(self._current(), parse_name(name), limit)

    def names(self, schema: str, catalog: str | None = None) -> frozenset[str]:
        """Return the names of a schema's materialized tables, as the registry has them."""
        place = self._schema(catalog, schema)
        if self._relay is not None:
            return self._relay.names(place[1], place[0])
        return frozenset(entry.name.name for entry in self.environment.registry.entries(*place))

    def declared(self, schema: str, catalog: str | None = None) -> tuple[Declared, ...]:
        """Return the materialized tables of a schema with who declares them.

        Args:
            schema: The schema; one that does not exist has none.
            catalog: Its catalog; None for the current one.
        """
        environment = self._current()
        entries = environment.registry.entries(*self._schema(catalog, schema))
        looked = ((entry.name, environment.store.find(entry.name)) for entry in entries)
        return tuple(
            Declared(name, found.definition.owner)
            for name, found in looked
            if isinstance(found, StoredTable | InconsistentTable)
        )

    def figures(
        self, schema: str, catalog: str | None = None, *, name: str | None = None
    ) -> dict[str, tuple[Figure, ...]]:
        """Return what is known of each table of a schema, by its name in lower case.

        One read of the registry, and for each table its properties and newest commits, and those
        of its sources.

        Args:
            schema: The schema.
            catalog: Its catalog; None for the current one.
            name: The only table to look at; None for all.
        """
        environment = self._current()
        confs = environment.confs()
        shown = {}
        for entry in environment.registry.entries(*self._schema(catalog, schema)):
            if name is not None and entry.name.name.lower() != name.lower():
                continue
            found = environment.store.find(entry.name)
            if isinstance(found, StoredTable):
                lag = checks.lag_if_known(environment, found)
                shown[entry.name.name.lower()] = figures_of(found, lag, confs)
        return shown

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns that a query of a materialized table would have; nothing is computed.

        Args:
            query: Its text, which a semicolon may end.

        Raises:
            QueryError: Spark refuses the query.
            MaterializedTableError: Another statement follows the query.
        """
        text = query_text(query)
        if self._relay is not None:
            return self._relay.columns(text)
        return self.environment.analyzer.columns(text)

    def register(self, name: TableName) -> None:
        """Write a table's row in the registry, which did not know the table under this name.

        It costs one small commit of the registry; there is none when `name` is not ours.
        """
        environment = self._current()
        found = environment.store.find(environment.store.full_name(name))
        if isinstance(found, StoredTable):
            environment.runner.run(plan_registration(found))

    def forget(self, name: TableName) -> None:
        """Take a name out of the registry, whose table was renamed or dropped by other means."""
        self.environment.runner.run(Unregister(self.environment.store.full_name(name)))

    def repair(self, catalog: str | None = None) -> tuple[Repaired, ...]:
        """Rebuild the registry of a catalog by looking at every table of every schema.

        Rows that are missing or wrong are written, those of tables that are gone taken out; no
        table is changed. It takes a few tenths of a second per table, also for plain ones.

        Args:
            catalog: Its name; None for the session's current one.

        Returns:
            The tables whose rows were changed, and those that could not be read.
        """
        environment = self._current()
        table = SystemTable(self._spark, self._engine.details.written, PrivateSessions(self._spark))
        corrections = SparkCorrections(table, environment.now_ms)
        repairs = Repairs(environment, self._engine.log, SparkScan(self._spark), corrections)
        return repairs.repair(self._schema(catalog)[0])

    def cancel(self) -> None:
        """Interrupt what this object runs, in every session that it has opened."""
        self._engine.cancel()
        if self._relay is not None:
            self._relay.cancel()

    def start(self, name: str) -> None:
        """Refresh a table from now on, in threads of this process.

        Args:
            name: The table's name, in backticks where it needs them.

        Raises:
            MaterializedTableError: There is no such table.
            HostingOverConnectError: The session is one of Spark Connect.
        """
        table = self._full_name(name)
        existing_table(self.environment, table)
        self._hosting().start(table)

    def stop(self, name: str) -> None:
        """Stop refreshing a table, between two batches.

        Raises:
            NotHostedError: This process does not refresh it.
        """
        self._hosting().stop(self._full_name(name))

    def stop_all(self) -> None:
        """Stop refreshing every table."""
        if self._host is not None:
            self._host.close()

    def progress(self, name: str) -> HostProgress:
        """Return the progress of a table that this process refreshes, or did.

        Raises:
            NotHostedError: This process never did.
        """
        return self._hosting().progress(self._full_name(name))

    def await_fresh(self, name: str, timeout: float) -> HostProgress:
        """Wait until a table reflects everything that its sources have now.

        Args:
            name: The table's name, in backticks where it needs them.
            timeout: The longest time to wait, in seconds.

        Raises:
            NotHostedError: This process does not refresh it.
            NotFreshError: It is not fresh by then, or cannot become it; the error says why.
        """
        table = self._full_name(name)
        environment = self._current()
        resolved = existing_table(environment, table).definition.resolved
        analyzed = environment.stored_analyzer.analyze_stored(resolved)
        before = self._hosting().progress(table).positions
        followed = row_shape(resolved, analyzed).followed
        now = environment.sources.positions(analyzed.sources)
        positions = {s: at for s in followed if isinstance(at := now[s], FollowedPosition)}
        since_ms = environment.now_ms() if len(positions) < len(followed) else 0
        names = {source.name for source in analyzed.sources if str(source.name) in positions}

        def are_of_these_sources(reached: Positions) -> bool:
            return all(
                environment.sources.is_readable(source, position)
                for source in names
                if isinstance(position := reached[str(source)], FollowedPosition)
            )

        left = left_positions(before, positions)
        wanted = Wanted(positions, left, are_of_these_sources, since_ms)
        return self._hosting().await_fresh(table, wanted, timeout)

    def _done(self, outcome: StatementOutcome) -> StatementOutcome:
        """Let the host look at a table that a statement changed."""
        if self._host is not None and outcome.action is not None:
            for name in self._host.hosted():
                if str(name) == outcome.table:
                    self._host.notice(name)
        return outcome

    def _full_name(self, name: str) -> TableName:
        return self.environment.store.full_name(parse_name(name))

    def _hosting(self) -> Host:
        with self._making_host:
            if self._host is None:
                if self.environment.streams is None:
                    raise conditions.HOSTING_OVER_CONNECT()
                turns = Turns(self._spark.sparkContext.defaultParallelism, self.environment.now_ms)
                self._host = Host(partial(self._hosted, turns=turns))
            return self._host

    def _hosted(self, name: TableName, turns: Turns) -> HostedTable:
        """A hosted table with ports of its own, which log rows about streams together."""
        value = SparkEnvironment(self._spark).value
        execution_context = replace(
            value.execution_context, deferred=self.environment.execution_context.deferred
        )
        value = replace(value, execution_context=execution_context)
        return HostedTable(name, value, Refreshes(value), turns=turns)
