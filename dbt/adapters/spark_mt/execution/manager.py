"""Carries out statements: one method per kind, each returning the rows of semantics 11."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import about
from dbt.adapters.spark_mt.execution.alterations import Alterations
from dbt.adapters.spark_mt.execution.definitions import Definitions
from dbt.adapters.spark_mt.execution.inspection import Inspection, columns
from dbt.adapters.spark_mt.execution.job_inspection import JobInspection
from dbt.adapters.spark_mt.execution.lifecycle import Lifecycle
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.results import StatementOutcome, StatementResult
from dbt.adapters.spark_mt.planning.summary import explained
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    AlterQuery,
    CreateTable,
    DescribeJob,
    DescribeTable,
    DropTable,
    Explain,
    Refresh,
    ResetOptions,
    Resume,
    SetComment,
    SetFreshness,
    SetOptions,
    SetRefreshMode,
    ShowCreate,
    ShowJobs,
    ShowTables,
    Statement,
    Suspend,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.alterations import Alteration
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.results import Action, RefreshOutcome
    from dbt.adapters.spark_mt.planning.steps import Plan

_CHANGE = columns(
    ("operation", "STRING"),
    ("table", "STRING"),
    ("action", "STRING"),
    ("changes", "ARRAY<STRING>"),
    ("refresh_mode", "STRING"),
    ("refresh", "STRING"),
    ("message", "STRING"),
)
_REFRESH = columns(
    ("refresh_id", "STRING"),
    ("table", "STRING"),
    ("strategy", "STRING"),
    ("status", "STRING"),
    ("rows", "BIGINT"),
    ("partitions", "ARRAY<STRING>"),
    ("positions_from", "MAP<STRING, STRING>"),
    ("positions_to", "MAP<STRING, STRING>"),
    ("duration_ms", "BIGINT"),
)
_EXPLAIN = columns(
    ("step", "STRING"),
    ("change", "STRING"),
    ("effect", "STRING"),
    ("keeps", "STRING"),
    ("loses", "STRING"),
    ("reason", "STRING"),
)


class MaterializedTableManager:
    """The one entry of the engine: a statement in, rows and an outcome out."""

    def __init__(self, environment: Environment) -> None:
        self.definitions = Definitions(environment)
        self.refreshes = Refreshes(environment)
        self.alterations = Alterations(environment)
        self.lifecycle = Lifecycle(environment, self.refreshes)
        self.inspection = Inspection(environment)
        self.jobs = JobInspection(environment)

    def plan(self, statement: CreateTable | Alteration) -> tuple[Plan, Action]:
        """Plan a statement that would change a definition; nothing is changed.

        Raises:
            MaterializedTableError: It is not valid here; every violation is named.
        """
        if isinstance(statement, CreateTable):
            return self.definitions.plan(statement)
        return self.alterations.plan(statement)

    def execute(self, statement: Statement) -> StatementResult:
        """Carry out `statement`.

        Raises:
            MaterializedTableError: It is not valid here, or failed; it names the table.
        """
        inner = statement.statement if isinstance(statement, Explain) else statement
        if isinstance(inner, ShowTables | ShowJobs | DescribeJob):
            return self._execute(statement)
        with about(inner.name):
            return self._execute(statement)

    @singledispatchmethod
    def _execute(self, statement: Statement) -> StatementResult:
        raise TypeError(statement)

    @_execute.register
    def _(self, statement: CreateTable) -> StatementResult:
        outcome = self.definitions.create(statement)
        return _change_result(statement.form.value, outcome)

    @_execute.register
    def _(self, statement: DropTable) -> StatementResult:
        return _change_result("DROP", self.definitions.drop(statement))

    @_execute.register
    def _(self, statement: Refresh) -> StatementResult:
        refresh = self.refreshes.refresh(statement.name, statement.partition)
        return refresh_result(refresh)

    @_execute.register
    def _(self, statement: Suspend) -> StatementResult:
        return _change_result("SUSPEND", self.lifecycle.suspend(statement.name))

    @_execute.register
    def _(self, statement: Resume) -> StatementResult:
        outcome = self.lifecycle.resume(statement.name, statement.options)
        return _change_result("RESUME", outcome)

    @_execute.register(SetFreshness)
    @_execute.register(SetRefreshMode)
    @_execute.register(SetOptions)
    @_execute.register(ResetOptions)
    @_execute.register(SetComment)
    @_execute.register(AlterQuery)
    @_execute.register(AddQuery)
    def _(self, statement: Alteration) -> StatementResult:
        return _change_result("ALTER", self.alterations.alter(statement))

    @_execute.register
    def _(self, statement: ShowTables) -> StatementResult:
        return self.inspection.show_tables(statement)

    @_execute.register
    def _(self, statement: ShowCreate) -> StatementResult:
        return self.inspection.show_create(statement)

    @_execute.register
    def _(self, statement: DescribeTable) -> StatementResult:
        return self.inspection.describe(statement)

    @_execute.register
    def _(self, statement: ShowJobs) -> StatementResult:  # noqa: ARG002 - it says nothing more
        return self.jobs.show_jobs()

    @_execute.register
    def _(self, statement: DescribeJob) -> StatementResult:
        return self.jobs.describe_job(statement.job_id)

    @_execute.register
    def _(self, statement: Explain) -> StatementResult:
        plan, _ = self.plan(statement.statement)
        return StatementResult(_EXPLAIN, explained(plan))


def refresh_result(refresh: RefreshOutcome) -> StatementResult:
    """Return the row of a refresh."""
    row = (
        refresh.refresh_id,
        refresh.table,
        refresh.strategy,
        refresh.status.value,
        refresh.rows,
        list(refresh.partitions),
        dict(refresh.positions_from),
        dict(refresh.positions_to),
        refresh.duration_ms,
    )
    outcome = StatementOutcome(
        refresh.table, None, refresh=refresh, message=refresh.note, warnings=refresh.warnings
    )
    return StatementResult(_REFRESH, (row,), outcome)


def _change_result(operation: str, outcome: StatementOutcome) -> StatementResult:
    row = (
        operation,
        outcome.table,
        outcome.action.value if outcome.action else "",
        list(outcome.changes),
        outcome.refresh_mode,
        _refresh_text(outcome.refresh),
        outcome.message,
    )
    return StatementResult(_CHANGE, (row,), outcome)


def _refresh_text(refresh: RefreshOutcome | None) -> str:
    if refresh is None:
        return ""
    rows = "" if refresh.rows is None else f" {refresh.rows} rows"
    return f"{refresh.status.value}{rows} by {refresh.strategy} in {refresh.duration_ms} ms"
