"""SUSPEND and RESUME (semantics 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import AlreadyResumedError, AlreadySuspendedError
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.execution.retry import retrying
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.planning.planner import plan_status
from dbt.adapters.spark_mt.resolution.run_options import check_run_options

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import Pairs, StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.refreshes import Refreshes
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome


class Lifecycle:
    """Stops the refresh of a table and lets it go on; both act on one table only."""

    def __init__(self, environment: Environment, refreshes: Refreshes) -> None:
        self._env = environment
        self._refreshes = refreshes

    def suspend(self, name: TableName) -> StatementOutcome:
        """Suspend a table: its rows and positions stay, and no schedule or run refreshes it.

        A refresh that is under way finishes: it plans again behind the suspension.

        Raises:
            AlreadySuspendedError: It is suspended.
            MaterializedTableError: There is no such table, or its definition cannot be read.
        """
        self._env.recent.forget()
        full = self._env.store.full_name(name)
        return retrying(lambda: self._suspend(full))

    def resume(self, name: TableName, run_options: Pairs = ()) -> StatementOutcome:
        """Let a suspended table go on: catch up with its sources once, then activate it.

        The catch-up comes first: where it fails, the table is still suspended, and the same
        statement does everything again.

        Args:
            name: The table.
            run_options: How its refreshes run from now on, until the next SUSPEND or RESUME.

        Raises:
            AlreadyResumedError: It is active.
            InvalidRunOptionsError: Some option is no run option.
            MaterializedTableError: The table cannot be refreshed; it stays suspended.
        """
        self._env.recent.forget()
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
