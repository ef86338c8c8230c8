"""ALTER: a clause, the query, a second query, and modes derived again (semantics 2, 3, 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.added_query import with_added_query
from dbt.adapters.spark_mt.changes.alterations import altered
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.execution.errors import NotMaterializedError, TableNotFoundError
from dbt.adapters.spark_mt.execution.planned import Planned, carry_out, plan_change
from dbt.adapters.spark_mt.execution.precedence import going_first
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.planner import plan_status
from dbt.adapters.spark_mt.resolution.run_options import check_run_options
from dbt.adapters.spark_mt.statements.nodes import AddQuery, AlterQuery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.changes.alterations import ClauseAlteration
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.results import StatementOutcome
    from dbt.adapters.spark_mt.planning.steps import Plan
    from dbt.adapters.spark_mt.resolution.resolver import Resolution

    Alteration = ClauseAlteration | AlterQuery | AddQuery
    """The statements that change a definition and are no CREATE."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """What deriving a table's freshness and mode again came to.

    Args:
        outcome: What was done; None where it failed.
        error: Why it failed; None otherwise.
    """

    table: str
    outcome: StatementOutcome | None = None
    error: MaterializedTableError | None = None


class Alterations:
    """Changes tables that are there."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def alter(self, statement: Alteration) -> StatementOutcome:
        """Carry out an ALTER that changes the definition.

        It means: the definition as it was asked for, with that clause changed, enriched and
        compared as by CREATE OR ALTER.

        Raises:
            MaterializedTableError: The statement is not valid here, or could not be carried out;
                nothing has changed then, except where `UnfinishedChangeError` says so.
        """
        self._env.recent.forget()
        name = self._env.store.full_name(statement.name)
        return retrying(lambda: self._alter(name, statement), lambda: going_first(self._env, name))

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
        """Derive freshness and mode again where they were left open.

        For a manager that starts under other settings (semantics 3). Tables with an explicit mode
        keep it, tables that are gone are left out, and one that fails does not stop the others.

        Args:
            catalog: The catalog whose registry tells which tables there are.
            names: Only these tables, where somebody knows that the others would not change.

        Returns:
            The tables that changed and those that failed.
        """
        self._env.recent.forget()
        wanted = self._env.registry.known(catalog) if names is None else names
        found = (self._derived(name) for name in wanted)
        return tuple(derivation for derivation in found if derivation is not None)

    def _alter(self, name: TableName, statement: Alteration) -> StatementOutcome:
        table = stored_table(self._env, name)
        return carry_out(self._env, self._planned(table, statement), table)

    def _planned(self, table: StoredTable, statement: Alteration) -> Planned:
        if not isinstance(statement, AlterQuery) or not statement.options:
            return plan_change(self._env, table, self._resolved(table, statement))
        check_run_options(str(table.name), statement.options)
        definition = replace(table.definition, run_options=statement.options)
        running = replace(table, definition=definition)
        planned = plan_change(self._env, running, self._resolved(table, statement))
        if planned.action is not Action.UNCHANGED or definition == table.definition:
            return planned
        return Planned(plan_status(table, definition, "run options changed"), Action.ALTERED)

    def _resolved(self, table: StoredTable, statement: Alteration) -> Resolution:
        definition = table.definition
        if isinstance(statement, AddQuery):
            added = self._env.analyzer.analyze(statement.query)
            asked = with_added_query(definition, added)
            return self._env.resolve(table.name, asked, definition)
        asked = altered(statement, definition.asked)
        if isinstance(statement, AlterQuery):
            return self._env.resolve(table.name, asked, definition)
        return self._env.resolve_clauses(asked, definition)

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
        asked = table.definition.asked
        if asked.logical_refresh_mode is not LogicalRefreshMode.AUTOMATIC:
            return None
        resolution = self._env.resolve_clauses(asked, table.definition)
        planned = plan_change(self._env, table, resolution)
        if planned.action is Action.UNCHANGED:
            return None
        return carry_out(self._env, planned, table)
