"""Statements that a manager plans, or carries out in its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, about
from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
from dbt.adapters.spark_mt.planning.summary import refused, summarize
from dbt.adapters.spark_mt.service.errors import NotExecutableError, NotPlannableError
from dbt.adapters.spark_mt.service.views import ChangeView
from dbt.adapters.spark_mt.statements.nodes import PLANNED, Explain, Refresh, Resume, Suspend
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.service.requests import StatementRequest

_SHOWN = 200


def plan_statement(environment: Environment, statement: str) -> ChangeView:
    """Tell what a CREATE or ALTER statement would do; nothing is changed.

    Raises:
        NotPlannableError: The text is another statement.
        MaterializedTableError: The text is no statement.
    """
    parsed = parse_statement(statement)
    inner = parsed.statement if isinstance(parsed, Explain) else parsed
    if not isinstance(inner, PLANNED):
        raise NotPlannableError(statement=statement[:200])
    name = environment.store.full_name(inner.name)
    try:
        with about(name):
            summary = summarize(MaterializedTableManager(environment).plan(inner)[0])
    except MaterializedTableError as error:
        summary = refused(str(name), error)
    return ChangeView(
        table=summary.table,
        action=summary.verdict.value.upper(),
        changes=summary.changes,
        violations=summary.violations,
        message="; ".join(filter(None, (summary.strategy, summary.engine))),
        warnings=(*(f"loses {what}" for what in summary.loses), *summary.warnings),
    )


def execute_statement(
    environment_for: Callable[[StatementRequest], Environment], request: StatementRequest
) -> StatementResult:
    """Carry out a statement that makes, changes or refreshes a table.

    Raises:
        NotExecutableError: The text is another statement.
        MaterializedTableError: It failed, or is not valid.
    """
    parsed = parse_statement(request.statement)
    if not isinstance(parsed, (*PLANNED, Refresh, Resume, Suspend)):
        raise NotExecutableError(statement=request.statement[:_SHOWN])
    return MaterializedTableManager(environment_for(request)).execute(parsed)
