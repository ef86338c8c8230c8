"""ALTER MATERIALIZED TABLE: clauses, query, second query, derived modes, SUSPEND, RESUME."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.alterations import altered, with_added_query
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.create import Definitions, Planned, carry_out, plan_change
from dbt.adapters.spark_mt.execution.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    NotMaterializedError,
    NotPlannableError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.execution.executor import (
    perform,
    retrying,
    stored_table,
    writer_priority,
)
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.execution.source_columns import with_source_columns
from dbt.adapters.spark_mt.planning.planner import plan_status
from dbt.adapters.spark_mt.resolution.options import check_run_options, run_option_problems
from dbt.adapters.spark_mt.resolution.resolver import StatementContext
from dbt.adapters.spark_mt.statements.nodes import (
    PLANNED,
    AddQuery,
    AlterQuery,
    CreateTable,
    Explain,
)
from dbt.adapters.spark_mt.statements.parser import parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.changes.alterations import ClauseAlteration
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import Pairs, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.refresh import Refreshes
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.planning.steps import Plan
    from dbt.adapters.spark_mt.resolution.resolver import Resolution

    Alteration = ClauseAlteration | AlterQuery | AddQuery
    """The statements that change a definition and are no CREATE."""


_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Derivation:
    """Result of deriving a table's freshness and mode again.

    Args:
        outcome: What was done; None after a failure.
        error: Why it failed; None otherwise.
    """

    table: str
    outcome: StatementOutcome | None = None
    error: MaterializedTableError | None = None


class Alterations:
    """Changes existing tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def alter(self, statement: Alteration) -> StatementOutcome:
        """Carry out an ALTER that changes the definition.

        The statement changes one clause of the declared definition. The result is enriched and
        compared as by CREATE OR ALTER.

        Raises:
            MaterializedTableError: The statement is not valid here, or could not be carried out;
                nothing has changed then, except where `UnfinishedChangeError` says so.
        """
        name = self._env.store.full_name(statement.name)
        return retrying(
            lambda: self._alter(name, statement), lambda: writer_priority(self._env, name)
        )

    def plan(self, statement: Alteration) -> tuple[Plan, Action]:
        """Plan an ALTER without carrying it out.

        Raises:
            MaterializedTableError: The statement is not valid here; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        planned = self._planned(stored_table(self._env, name), statement)
        return planned.plan, planned.action

    def derive_again(
        self, catalog: str, names: Iterable[TableName] | None = None
    ) -> tuple[Derivation, ...]:
        """Derive freshness and mode again if the definition has no explicit ones.

        For a manager that starts under other settings. Tables with an explicit mode keep it.
        Tables that are gone are left out. A failure of one table does not stop the others.

        Args:
            catalog: The catalog whose registry lists the tables.
            names: Only these tables, if the caller knows that the others would not change.

        Returns:
            The tables that changed and those that failed.
        """
        wanted = self._env.registry.known(catalog) if names is None else names
        found = (self._derived(name) for name in wanted)
        return tuple(derivation for derivation in found if derivation is not None)

    def _alter(self, name: TableName, statement: Alteration) -> StatementOutcome:
        table = stored_table(self._env, name)
        return carry_out(self._env, self._planned(table, statement), table)

    def _planned(self, table: StoredTable, statement: Alteration) -> Planned:
        resolution = self._resolved(table, statement)
        if not isinstance(statement, AlterQuery) or not statement.options:
            return plan_change(self._env, table, resolution)
        definition = replace(table.definition, run_options=statement.options)
        running = replace(table, definition=definition)
        planned = plan_change(self._env, running, resolution)
        if planned.action is not Action.UNCHANGED or definition == table.definition:
            return planned
        return Planned(plan_status(table, definition, "run options changed"), Action.ALTERED)

    def _resolved(self, table: StoredTable, statement: Alteration) -> Resolution:
        definition = table.definition
        if isinstance(statement, AddQuery):
            added = self._env.analyzer.analyze(statement.query)
            declared = with_added_query(definition, added)
            known = with_source_columns(self._env, table)
            # The first query keeps its meaning.
            statement_context = StatementContext(recorded=known.resolved.source_columns)
            return self._env.resolve(table.name, declared, known, statement_context)
        declared = altered(statement, definition.declared)
        if isinstance(statement, AlterQuery):
            known = with_source_columns(self._env, table)
            problems = run_option_problems(str(table.name), statement.options)
            statement_context = StatementContext(extends_list=True, errors=problems)
            return self._env.resolve(table.name, declared, known, statement_context)
        return self._env.resolve_clauses(declared, definition)

    def _derived(self, name: TableName) -> Derivation | None:
        try:
            outcome = retrying(lambda: self._derive(name))
        except (TableNotFoundError, NotMaterializedError):
            return None
        except MaterializedTableError as error:
            return Derivation(str(name), error=error)
        return None if outcome is None else Derivation(str(name), outcome)

    def _derive(self, name: TableName) -> StatementOutcome | None:
        table = stored_table(self._env, name)
        declared = table.definition.declared
        if declared.logical_refresh_mode is not LogicalRefreshMode.AUTOMATIC:
            return None
        resolution = self._env.resolve_clauses(declared, table.definition)
        planned = plan_change(self._env, table, resolution)
        if planned.action is Action.UNCHANGED:
            return None
        return carry_out(self._env, planned, table)


def plannable(statement: str) -> CreateTable | Alteration:
    """Parse a statement that can be planned; a leading EXPLAIN makes no difference.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
        NotPlannableError: It is another statement.
    """
    parsed = parse_statement(statement)
    inner = parsed.statement if isinstance(parsed, Explain) else parsed
    if not isinstance(inner, PLANNED):
        raise NotPlannableError(statement=statement.strip().partition("\n")[0][:_SHOWN])
    return inner


def planned_by(
    statement: CreateTable | Alteration, environment: Environment
) -> tuple[Plan, Action]:
    """Plan a statement that would change a definition, and change nothing.

    Raises:
        MaterializedTableError: It is not valid here; every violation is named.
    """
    if isinstance(statement, CreateTable):
        return Definitions(environment).plan(statement)
    return Alterations(environment).plan(statement)


class Lifecycle:
    """Suspends and resumes the refresh of a single table."""

    def __init__(self, environment: Environment, refreshes: Refreshes) -> None:
        self._env = environment
        self._refreshes = refreshes

    def suspend(self, name: TableName) -> StatementOutcome:
        """Suspend a table: its rows and positions stay, and no schedule or run refreshes it.

        A running refresh finishes: it plans again after the suspension.

        Raises:
            AlreadySuspendedError: It is suspended.
            MaterializedTableError: There is no such table, or its definition cannot be read.
        """
        full = self._env.store.full_name(name)
        return retrying(lambda: self._suspend(full))

    def resume(self, name: TableName, run_options: Pairs = ()) -> StatementOutcome:
        """Resume a suspended table: catch up with its sources once, then activate it.

        The catch-up comes first. If it fails, the table is still suspended, and the same statement
        repeats every step.

        Args:
            name: The table.
            run_options: Options of its refreshes from now on, until the next SUSPEND or RESUME.

        Raises:
            AlreadyResumedError: It is active.
            InvalidRunOptionsError: Some option is no run option.
            MaterializedTableError: The table cannot be refreshed; it stays suspended.
        """
        full = self._env.store.full_name(name)
        self._suspended(full)
        check_run_options(str(full), run_options)
        refresh = self._refreshes.refresh(full, trigger="RESUME", run_options=run_options)
        return retrying(lambda: self._resume(full, run_options, refresh))

    def _suspend(self, name: TableName) -> StatementOutcome:
        table = stored_table(self._env, name)
        definition = table.definition
        if definition.status is RefreshStatus.SUSPENDED:
            raise AlreadySuspendedError(table=name, reason=_reason(definition))
        after = replace(definition, status=RefreshStatus.SUSPENDED, run_options=())
        result = perform(plan_status(table, after, "suspended"), self._env)
        return _outcome(after, Action.SUSPENDED, "suspended", None, result.warnings)

    def _resume(
        self, name: TableName, run_options: Pairs, refresh: RefreshOutcome
    ) -> StatementOutcome:
        table = self._suspended(name)
        after = replace(
            table.definition,
            status=RefreshStatus.ACTIVATED,
            status_reason="",
            run_options=run_options,
        )
        result = perform(plan_status(table, after, "resumed"), self._env)
        return _outcome(after, Action.RESUMED, "resumed", refresh, result.warnings)

    def _suspended(self, name: TableName) -> StoredTable:
        table = stored_table(self._env, name)
        if table.definition.status is not RefreshStatus.SUSPENDED:
            raise AlreadyResumedError(table=name)
        return table


def _reason(definition: StoredDefinition) -> str:
    return f" ({definition.status_reason})" if definition.status_reason else ""


def _outcome(
    definition: StoredDefinition,
    action: Action,
    change: str,
    refresh: RefreshOutcome | None,
    warnings: tuple[str, ...],
) -> StatementOutcome:
    return StatementOutcome(
        table=str(definition.name),
        action=action,
        changes=(change,),
        refresh_mode=definition.resolved.refresh_mode.value,
        refresh=refresh,
        warnings=warnings,
        status=definition.status.value,
    )
