"""Environment of an operation: the ports, settings and clock of one connection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.compatibility import check
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.planning.steps import RefreshRun
from dbt.adapters.spark_mt.resolution.resolver import Resolver, StatementContext
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.strategies.checks import StrategyChecks
from dbt.adapters.spark_mt.strategies.choice import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import (
        DeclaredDefinition,
        ResolvedDefinition,
        StoredDefinition,
    )
    from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError, OutageError
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.context import ExecutionContext
    from dbt.adapters.spark_mt.execution.leases import Managers
    from dbt.adapters.spark_mt.execution.ports import (
        ManagedRegistry,
        SourceReader,
        StepRunner,
        Storage,
        StoredQueryAnalyzer,
        StreamRunner,
        TableObserver,
        TableStore,
        Verifications,
    )
    from dbt.adapters.spark_mt.execution.table_history import SourceStates
    from dbt.adapters.spark_mt.execution.up_to_date import UpToDateTables
    from dbt.adapters.spark_mt.query.analyzer import (
        AnalyzedQuery,
        QueryAnalyzer,
        UpstreamDefinitions,
    )
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {problem_of(error)}"


def _no_outage(_: Exception) -> OutageError | None:
    return None


@dataclass(frozen=True, slots=True)
class Environment:
    """The ports, the settings and the clock of one connection.

    Args:
        format_of: Returns the format of a table by its full name; where there is none, that of the
            tables that are made in its catalog.
        states: Reads the changes of sources that their readers have not read.
        settings: Reads the settings in force.
        confs: Reads Spark confs for the output of values (time zone, redaction).
        clock: Returns the current instant, aware.
        new_id: Returns a new random identity.
        owner: Returns the declaring node of the table of the running statement.
        execution_context: Execution and records of statements.
        observer: Compares tables with their queries.
        up_to_date: Tables that were up to date at the last check of a host or schedule.
        managers: Returns the manager that keeps a catalog fresh.
        handlers: Returns the serialized refresh handler that was recorded for a table.
        storage: Maintains tables.
        verifications: Verifies commits of refreshes after they were made.
        streams: Runs streams in this process; None if that is impossible.
        described: Returns the text of an error that no part of a statement expects; None for the
            error of a statement that was cancelled, which stays what it is.
        outage_of: Returns the error that a catalog of tables does not answer, where that is what
            an error of the engine means; None for another one.
    """

    format_of: Callable[[TableName], TableFormat]
    store: TableStore
    upstream: UpstreamDefinitions
    sources: SourceReader
    states: SourceStates
    runner: StepRunner
    registry: ManagedRegistry
    analyzer: QueryAnalyzer
    stored_analyzer: StoredQueryAnalyzer
    settings: Callable[[], Settings]
    confs: Callable[[], Mapping[str, str]]
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    execution_context: ExecutionContext
    observer: TableObserver
    managers: Managers
    handlers: Callable[[TableName], bytes]
    up_to_date: UpToDateTables
    storage: Storage
    verifications: Verifications
    owner: Callable[[], Pairs] = tuple
    streams: StreamRunner | None = None
    described: Callable[[Exception], str | None] = _described
    outage_of: Callable[[Exception], OutageError | None] = _no_outage

    def now_ms(self) -> int:
        """Return the current instant in milliseconds since the epoch, UTC."""
        return int(self.clock().timestamp() * 1000)

    def resolve(
        self,
        name: TableName,
        declared: DeclaredDefinition,
        stored: StoredDefinition | None,
        statement_context: StatementContext | None = None,
    ) -> Resolution:
        """Resolve a definition; raise every violation at once.

        If the definition is not valid, the error also has the reasons why it could not replace the
        stored one.
        """
        statement_context = statement_context or StatementContext()
        if stored is not None and statement_context.compare is None:
            statement_context = replace(
                statement_context, compare=partial(_incompatibilities, name, stored)
            )
        return self._resolver(name).resolve(name, declared, stored, statement_context)

    def resolve_clauses(self, declared: DeclaredDefinition, stored: StoredDefinition) -> Resolution:
        """Resolve other clauses with the stored query; raise every violation at once."""
        analyzed = self.stored_analyzer.analyze_stored(stored.resolved)
        resolver = self._resolver(stored.name)
        return resolver.resolve_clauses(stored.name, declared, stored, analyzed)

    def run(
        self,
        trigger: str,
        analyzed: AnalyzedQuery,
        definition: ResolvedDefinition | None = None,
        baseline: Baseline | None = None,
    ) -> RefreshRun:
        """Return a new run with the current positions of the sources of a query.

        With a definition it has a strategy. The baseline has the positions from which the table
        counts its sources.
        """
        started = self.now_ms()
        positions = self.sources.positions(analyzed.sources)
        is_cold = self.execution_context.committed.are_first
        run = RefreshRun(
            self.new_id(), trigger, positions, started, analyzed.sources, is_cold=is_cold
        )
        if definition is None:
            return run
        return replace(run, choice=choose(definition, analyzed, baseline))

    def _resolver(self, name: TableName) -> Resolver:
        """Return a resolver, with the settings of a live manager for what a definition leaves open.

        So dbt runs under other settings do not change a mode back and forth.
        """
        lease = self.managers.live(name.catalog or "")
        settings = self.settings()
        if lease is not None:
            settings = settings.derived_as(Settings.from_confs(dict(lease.settings)))
        return Resolver(
            self.analyzer, self.upstream, settings, self.clock, StrategyChecks(), self.format_of
        )


def _incompatibilities(
    name: TableName, stored: StoredDefinition, wanted: ResolvedDefinition
) -> tuple[InvalidDefinitionError, ...]:
    """Return why `wanted` cannot take the place of the stored definition; nothing if it can."""
    return check(name, stored, wanted, diff(stored.resolved, wanted))
