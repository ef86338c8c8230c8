"""From a resolved definition and the table that is there to a plan for the difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import ColumnTypeWidened, Effect
from dbt.adapters.spark_mt.changes.compatibility import (
    BaselineNotFollowedError,
    raise_if_incompatible,
)
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.errors import WidenedWhileSuspendedError
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.execution.kept_state import plan_with_state
from dbt.adapters.spark_mt.execution.loss_guard import loss_of, with_origin
from dbt.adapters.spark_mt.execution.outcomes import refresh_outcome
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.execution.source_errors import LogHistoryLostError
from dbt.adapters.spark_mt.execution.starts import begin_again
from dbt.adapters.spark_mt.planning.planner import plan_alter, plan_alter_suspended, plan_publish
from dbt.adapters.spark_mt.planning.steps import Plan
from dbt.adapters.spark_mt.planning.window_plans import plan_start
from dbt.adapters.spark_mt.planning.windows import why_not_followed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.definition import Pairs, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_state import Found
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


_LOST = "Rows are lost that a log no longer has: {loss}."
_DROPPED = (
    "The baseline is dropped: the next refresh computes all rows from all source data, in the "
    "place of those that are there."
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, what it does to the table, and the refresh in it, if it fills rows."""

    plan: Plan
    action: Action
    run: RefreshRun | None = None


def plan_change(
    environment: Environment, table: StoredTable, resolution: Resolution, *, declares: bool = False
) -> Planned:
    """Plan what brings `table` in line with a definition; nothing for the same definition.

    Args:
        environment: The ports.
        table: The table as it is.
        resolution: The definition as wanted.
        declares: Whether the statement says the whole definition, and so declares the table.

    Raises:
        DefinitionChangeError: It cannot be done in place; every violation is named.
        WidenedWhileSuspendedError: It would have to rewrite the rows of a suspended table.
    """
    definition = table.definition
    changes = diff(definition.resolved, resolution.definition)
    if not changes:
        return Planned(Plan(table.name, ()), Action.UNCHANGED)
    raise_if_incompatible(table.name, definition, resolution.definition, changes)
    definition = _changed_by(environment.owner(), definition, declares=declares)
    table = replace(table, definition=definition)
    if not any(change.effect is Effect.CONTENT for change in changes):
        return Planned(_plan_beside_rows(table, resolution, changes), Action.ALTERED)
    return _plan_rows(environment, table, resolution, changes)


def _plan_rows(
    environment: Environment,
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
) -> Planned:
    """Plan a change that reaches the rows: what its start mode asks for, or all of them."""
    definition = table.definition
    if (kept := plan_with_state(environment, table, resolution, changes)) is not None:
        return Planned(kept, Action.ALTERED)
    begun = begin_again(environment, table, resolution, changes)
    if begun is not None and begun.start is not None:
        plan = plan_start(table, begun.resolution, changes, begun.run, begun.start)
        run = None if definition.suspended_by_user else begun.run
        return Planned(plan, Action.ALTERED, run)
    wanted = begun.resolution if begun else resolution
    if definition.suspended_by_user:
        _raise_if_rewriting(table, changes)
        counted = replace(table, definition=replace(definition, baseline=None))
        return Planned(plan_alter_suspended(counted, wanted, changes), Action.ALTERED)
    run = begun.run if begun else _run(environment, resolution)
    run = with_origin(environment, wanted.definition, run)
    wanted = _losing(table, wanted, run)
    return Planned(plan_alter(table, wanted, changes, run), Action.ALTERED, run)


def _losing(table: StoredTable, wanted: Resolution, run: RefreshRun) -> Resolution:
    """Warn of rows that are lost because somebody asked for the beginning.

    Raises:
        LogHistoryLostError: They would be lost, and nobody asked for it.
    """
    loss = loss_of(table, run)
    if not loss:
        return wanted
    if wanted.definition.asked.start_mode is None:
        raise LogHistoryLostError(table=table.name, loss=loss)
    return replace(wanted, warnings=(*wanted.warnings, _LOST.format(loss=loss)))


def _plan_beside_rows(
    table: StoredTable, resolution: Resolution, changes: Sequence[Change]
) -> Plan:
    """Plan a change that leaves the rows alone, and with them the baseline, if there is one.

    Raises:
        BaselineNotFollowedError: The table could not follow its sources any more.
    """
    definition, wanted = table.definition, resolution.definition
    if definition.baseline is None:
        return plan_alter(table, resolution, changes, None)
    if wanted.refresh_mode is RefreshMode.FULL:
        if definition.resolved.refresh_mode is RefreshMode.FULL:
            return plan_alter(table, resolution, changes, None)
        return _plan_without_baseline(table, resolution, changes)
    if problem := why_not_followed(definition.baseline, resolution):
        raise BaselineNotFollowedError(
            table=table.name, baseline=definition.baseline.describe(), problem=problem
        )
    return plan_alter(table, resolution, changes, None)


def _plan_without_baseline(
    table: StoredTable, resolution: Resolution, changes: Sequence[Change]
) -> Plan:
    """Mode FULL computes all rows: the rows stay until then, and their positions count no more."""
    definition = replace(table.definition, baseline=None)
    counted = replace(table, definition=definition, positions=None)
    plan = plan_alter(counted, resolution, changes, None)
    return replace(plan, changes=(*plan.changes, _DROPPED))


def carry_out(environment: Environment, planned: Planned, found: Found) -> StatementOutcome:
    """Execute a plan and tell what it did.

    Args:
        environment: The ports.
        planned: The plan; where it has no steps, what a statement before left undone is finished.
        found: What was under the name when the plan was made.
    """
    plan = planned.plan
    if isinstance(found, StoredTable) and found.unpublished and not plan.steps:
        plan = plan_publish(found)
    result = perform(plan, environment)
    run = planned.run
    definition = _definition_after(plan, found)
    return StatementOutcome(
        table=str(plan.table),
        action=planned.action,
        changes=plan.changes,
        refresh_mode=definition.resolved.refresh_mode.value if definition else "",
        refresh=refresh_outcome(plan.table, run, found, result, environment) if run else None,
        message=_message(planned.action, plan, definition),
        warnings=result.warnings,
        status=definition.status.value if definition else "",
    )


def _changed_by(who: Pairs, definition: StoredDefinition, *, declares: bool) -> StoredDefinition:
    owner = who if declares and who else definition.owner
    return replace(definition, owner=owner, changed_by=None if who == owner else who)


def _run(environment: Environment, resolution: Resolution) -> RefreshRun:
    return environment.run("ALTER", resolution.analyzed, resolution.definition)


def _raise_if_rewriting(table: StoredTable, changes: Sequence[Change]) -> None:
    widened = [c.describe() for c in changes if isinstance(c, ColumnTypeWidened)]
    if widened:
        raise WidenedWhileSuspendedError(violations=widened, table=table.name)


def _definition_after(plan: Plan, found: Found) -> StoredDefinition | None:
    for step in plan.steps:
        definition: StoredDefinition | None = getattr(step, "definition", None)
        if definition is not None:
            return definition
    return found.definition if isinstance(found, StoredTable) else None


def _message(action: Action, plan: Plan, definition: StoredDefinition | None) -> str:
    if action is Action.UNCHANGED:
        finished = "what a statement before left undone was finished"
        return f"the definition is the same; {finished if plan.steps else 'nothing was done'}"
    if action is Action.ADOPTED and definition is not None and definition.baseline is not None:
        return definition.baseline.describe()
    if definition is not None and definition.suspended_by_user:
        return "the table stays suspended; RESUME or REFRESH brings its rows up to date"
    return ""
