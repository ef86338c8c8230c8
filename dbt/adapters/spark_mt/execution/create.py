"""CREATE, CREATE OR ALTER, CREATE OR REPLACE and DROP.

A changed query can continue with the state and rows of the query before. The new query applies to
later source rows. The state is checked against the new query before a stream stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import Changed
from dbt.adapters.spark_mt.changes.compatibility import raise_if_incompatible
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.changes.state_retention import not_retained
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    Missing,
    StoredTable,
    UnmanagedTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.positions import Baseline, positions_of
from dbt.adapters.spark_mt.execution import executor, lookup, retries
from dbt.adapters.spark_mt.execution.baseline import loss_of, refresh_outcome, with_origin
from dbt.adapters.spark_mt.execution.jobs import raise_if_initializing
from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.execution.start_modes import begin, begin_again, filling
from dbt.adapters.spark_mt.planning import planner, steps
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.resolution import validation
from dbt.adapters.spark_mt.resolution.resolver import StatementContext
from dbt.adapters.spark_mt.statements.clauses import Effect
from dbt.adapters.spark_mt.statements.nodes import CreateForm
from dbt.adapters.spark_mt.strategies.choice import choose, choose_for
from dbt.adapters.spark_mt.strategies.strategy import NONE
from dbt.adapters.spark_mt.strategies.stream_state import state_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import FoundTable, StoredDefinition
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution
    from dbt.adapters.spark_mt.statements.nodes import CreateTable, DropTable
    from dbt.adapters.spark_mt.strategies.strategy import Choice


_LOST = "Rows are lost that a log no longer has: {loss}."
_DROPPED = (
    "The baseline is dropped: the next refresh computes all rows from all source data, in the "
    "place of those that are there."
)


def plan_with_state(
    environment: Environment,
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
) -> steps.Plan | None:
    """Plan to store a changed query whose stream resumes from the existing checkpoint.

    Returns:
        None if the statement does not ask to keep state, or if there is none.

    Raises:
        InvalidDefinitionError: The state does not fit the changed query; every operator is named.
    """
    wanted, process, stream = resolution.definition, resolution.analyzed.process, table.stream
    keeps_all = (
        wanted.refresh_mode is RefreshMode.CONTINUOUS
        and wanted.keeps_state_of(process.name if process else None)
        and wanted.start_mode.mode.type.resumes
    )
    if not keeps_all or stream is None or table.positions is None:
        return None
    kept = choose_for(resolution)
    if not kept.keeps_checkpoint:
        return None
    streams, before = environment.streams, table.definition
    if streams is None or not streams.can_resume(before.table_id, stream):
        return None
    if problems := _state_problems(environment, table, resolution, kept):
        raise not_retained(str(table.name), wanted, problems)
    since = positions_of(kept.followed, table.positions)
    baseline = Baseline(since, table.version, f"START_MODE = {wanted.start_mode.mode.sql}")
    definition = replace(planner.next_definition(before, resolution), baseline=baseline)
    appended = definition.resolved.columns[len(before.resolved.columns) :]
    planned = (
        *planner.preparation(definition, before),
        *planner.verification(before, definition, appended),
        *steps.definition_steps(table, definition, table.positions, appended),
    )
    choice = choose_for(resolution, baseline)
    return steps.Plan(table.name, planned, planner.sentences(changes), resolution.warnings, choice)


def _state_problems(
    environment: Environment, table: StoredTable, resolution: Resolution, choice: Choice
) -> tuple[str, ...]:
    stored = table.definition.resolved
    before = environment.stored_analyzer.analyze_stored(stored)
    old = definition_tree(stored, before)
    new = definition_tree(resolution.definition, resolution.analyzed)
    was, now = before.process, resolution.analyzed.process
    if was != now:
        requirement = f"is asked for {now}" if now else "no process function is asked for now"
        kept = f"State was kept for {was}" if was else "No state was kept for a process function"
        return (f"{kept}, and {requirement}.",)
    return state_problems((old, choose(stored, before)), (new, choice))


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and its action on the table.

    Args:
        run: The refresh in it, if it fills rows.
        analyzed_table: The table, if its definition is the declared one.
    """

    plan: steps.Plan
    action: Action
    run: RefreshRun | None = None
    analyzed_table: AnalyzedTable | None = None


def plan_change(
    environment: Environment, table: StoredTable, resolution: Resolution, *, declares: bool = False
) -> Planned:
    """Plan the change of `table` to a definition; a plan without steps for the same definition.

    A statement that has the whole definition `declares` the table.

    Raises:
        InvalidDefinitionError: It cannot be done in place; every violation is named.
        MaterializedTableError: It would have to rewrite the rows of a suspended table.
    """
    definition = table.definition
    changes = diff(definition.resolved, resolution.definition)
    if not changes:
        return Planned(steps.Plan(table.name, ()), Action.UNCHANGED)
    raise_if_incompatible(table.name, definition, resolution.definition, changes)
    _check_replacement(environment, table, resolution)
    who = environment.owner()
    owner = who if declares and who else definition.owner
    definition = replace(definition, owner=owner, changed_by=None if who == owner else who)
    table = replace(table, definition=definition)
    if not any(change.effect is Effect.CONTENT for change in changes):
        return Planned(_plan_without_rows(table, resolution, changes), Action.ALTERED)
    return _plan_rows(environment, table, resolution, changes)


def _check_replacement(
    environment: Environment, table: StoredTable | InconsistentTable, resolution: Resolution
) -> None:
    """Refuse other columns or partitions of a table whose format cannot replace them."""
    before, after = table.definition.resolved, resolution.definition
    format_ = environment.format_of(table.name)
    validation.check_replacement(str(table.name), before, after, format_)


def _plan_rows(
    environment: Environment,
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
) -> Planned:
    """Plan a change that affects the rows: those of its start mode, or all of them.

    Raises:
        MaterializedTableError: Rows would be lost, and the statement has no explicit start mode.
    """
    definition = table.definition
    if (kept := plan_with_state(environment, table, resolution, changes)) is not None:
        return Planned(kept, Action.ALTERED)
    begun = begin_again(environment, table, resolution, changes)
    if begun is not None and begun.baseline is not None:
        choice = choose_for(begun.resolution, begun.baseline)
        plan = planner.plan_start(
            table, begun.resolution, changes, begun.run, begun.baseline, choice
        )
        run = None if definition.suspended_by_user else begun.run
        return Planned(plan, Action.ALTERED, run)
    wanted = begun.resolution if begun else resolution
    if definition.suspended_by_user:
        if widened := [c.describe() for c in changes if c.kind is Changed.TYPE_WIDENED]:
            raise conditions.WIDENED_WHILE_SUSPENDED(violations=widened, table=table.name)
        counted = replace(table, definition=replace(definition, baseline=None))
        choice = choose_for(wanted)
        return Planned(
            planner.plan_alter_suspended(counted, wanted, changes, choice), Action.ALTERED
        )
    run = begun.run if begun else filling(environment, "ALTER", resolution)
    run = with_origin(environment, wanted.definition, run)
    if loss := loss_of(table, run):
        if wanted.definition.declared.start_mode is None:
            raise conditions.LOG_HISTORY_LOST(table=table.name, loss=loss)
        wanted = replace(wanted, warnings=(*wanted.warnings, _LOST.format(loss=loss)))
    plan = planner.plan_alter(table, wanted, changes, run, choose_for(wanted))
    return Planned(plan, Action.ALTERED, run)


def _plan_without_rows(
    table: StoredTable, resolution: Resolution, changes: Sequence[Change]
) -> steps.Plan:
    """Plan a change that keeps the rows, and the baseline, if there is one.

    Raises:
        InvalidDefinitionError: The table could no longer follow its sources.
    """
    definition, wanted = table.definition, resolution.definition
    choice = choose_for(resolution, definition.baseline)
    if definition.baseline is None:
        return planner.plan_alter(table, resolution, changes, None, choice)
    if wanted.refresh_mode is RefreshMode.FULL:
        if definition.resolved.refresh_mode is RefreshMode.FULL:
            return planner.plan_alter(table, resolution, changes, None, choice)
        # The rows stay until the next refresh, and their positions no longer count.
        counted = replace(table, definition=replace(definition, baseline=None), positions=None)
        plan = planner.plan_alter(counted, resolution, changes, None, choose_for(resolution))
        return replace(plan, changes=(*plan.changes, _DROPPED))
    if choice.strategy == NONE:
        raise conditions.BASELINE_NOT_FOLLOWED(
            table=table.name, baseline=definition.baseline.describe(), problem=choice.reason
        )
    return planner.plan_alter(table, resolution, changes, None, choice)


def carry_out(environment: Environment, planned: Planned, found: FoundTable) -> StatementOutcome:
    """Execute a plan for the table that was found, and return its outcome.

    A plan without steps finishes an unfinished statement before it.
    """
    plan = planned.plan
    if isinstance(found, StoredTable) and found.unpublished and not plan.steps:
        plan = steps.plan_publish(found)
    result = executor.perform(plan, environment)
    run = planned.run
    before = found.positions if isinstance(found, StoredTable) else None
    refresh = refresh_outcome(environment, plan.table, run, before, result) if run else None
    stored = found.definition if isinstance(found, StoredTable) else None
    definition = next((d for s in plan.steps if (d := getattr(s, "definition", None))), stored)
    return StatementOutcome(
        table=str(plan.table),
        action=planned.action,
        changes=plan.changes,
        refresh_mode=definition.resolved.refresh_mode.value if definition else "",
        refresh=refresh,
        message=_message(planned.action, plan, definition),
        warnings=result.warnings,
        status=definition.status.value if definition else "",
    )


def _message(action: Action, plan: steps.Plan, definition: StoredDefinition | None) -> str:
    if action is Action.UNCHANGED:
        finished = "what a statement before left undone was finished"
        return f"the definition is the same; {finished if plan.steps else 'nothing was done'}"
    if action is Action.ADOPTED and definition is not None and definition.baseline is not None:
        return definition.baseline.describe()
    if definition is not None and definition.suspended_by_user:
        return "the table stays suspended; RESUME or REFRESH brings its rows up to date"
    return ""


@dataclass(slots=True)
class _Attempt:
    """State of one statement over its attempts."""

    started_ms: int
    saw_nothing: bool = False

    def is_orphan(self, found: FoundTable) -> bool:
        """Whether `found` was left by a CREATE that was killed.

        The format skips our first commit if the directory has a commit with the same number. By
        that, a table that was not visible before becomes visible. Its rows are older than this
        statement, but the statement did not find the table when it began.
        """
        if not self.saw_nothing or not isinstance(found, StoredTable):
            return False
        return found.last_refresh is None or found.last_refresh.committed_at_ms < self.started_ms


class Definitions:
    """Creates, changes, replaces and drops tables."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def create(
        self, statement: CreateTable, found: FoundTable | None = None
    ) -> tuple[StatementOutcome, AnalyzedTable | None]:
        """Carry out a CREATE statement.

        Args:
            statement: The statement.
            found: The table as the same statement loaded it; None to load it.

        Returns:
            The outcome, and the table with its analysis if the statement changed nothing.

        Raises:
            MaterializedTableError: The statement is not valid here, or could not be carried out;
                nothing has changed then, except where `UnfinishedChangeError` says so.
        """
        name = self._env.store.full_name(statement.name)
        attempt, first = _Attempt(self._env.now_ms()), [found]
        return retries.retrying(
            lambda: self._create(name, statement, attempt, first.pop() if first else None),
            lambda: retries.writer_priority(self._env, name),
        )

    def drop(self, statement: DropTable) -> StatementOutcome:
        """Carry out DROP MATERIALIZED TABLE.

        Raises:
            TableNotFoundError: There is no such table, and the statement has no IF EXISTS.
            MaterializedTableError: Another process is creating it at this moment.
            NotMaterializedError: Something else has the name.
        """
        name = self._env.store.full_name(statement.name)
        found = self._env.store.find(name)
        self._forget_if_gone(name, found)
        if isinstance(found, UnmanagedTable):
            raise conditions.EXPECTED(table=name, what=found.what)
        if isinstance(found, Missing):
            raise_if_initializing(self._env, name)
            if statement.if_exists:
                return StatementOutcome(str(name), Action.UNCHANGED, message="does not exist")
            raise conditions.NOT_FOUND(table=name)
        table_id = found.table_id if isinstance(found, Unreadable) else found.definition.table_id
        result = executor.perform(planner.plan_drop(name, table_id), self._env)
        return StatementOutcome(
            str(name), Action.DROPPED, ("table dropped",), warnings=result.warnings
        )

    def _forget_if_gone(self, name: TableName, found: FoundTable) -> None:
        """Remove a name from the registry if a DROP that was killed removed its table.

        Otherwise an unmanaged table that gets the name later would be listed as a materialized one.
        """
        if isinstance(found, Missing | UnmanagedTable) and self._env.registry.knows(name):
            executor.execute(steps.Plan(name, (steps.Unregister(name),)), self._env.runner)

    def plan(
        self, statement: CreateTable, found: FoundTable | None = None
    ) -> tuple[steps.Plan, Action]:
        """Plan a CREATE statement without carrying it out; arguments as for `create`.

        Raises:
            MaterializedTableError: The statement is not valid here; every violation is named.
        """
        name = self._env.store.full_name(statement.name)
        planned = self._planned(name, statement, found or self._env.store.find(name))
        return planned.plan, planned.action

    def _create(
        self, name: TableName, statement: CreateTable, attempt: _Attempt, found: FoundTable | None
    ) -> tuple[StatementOutcome, AnalyzedTable | None]:
        found = found or self._env.store.find(name)
        if isinstance(found, UnmanagedTable):
            self._forget_if_gone(name, found)
        if isinstance(found, StoredTable) and found.never_published:
            found = lookup.stored_table(self._env, name)
        orphan = attempt.is_orphan(found)
        if orphan:
            statement = replace(statement, form=CreateForm.CREATE_OR_REPLACE)
        planned = self._planned(name, statement, found)
        attempt.saw_nothing = isinstance(found, Missing)
        outcome = carry_out(self._env, planned, found)
        if orphan:
            outcome = replace(outcome, action=Action.CREATED)
        return outcome, planned.analyzed_table

    def _planned(self, name: TableName, statement: CreateTable, found: FoundTable) -> Planned:
        if isinstance(found, UnmanagedTable):
            raise conditions.EXPECTED(table=name, what=found.what)
        if isinstance(found, Missing):
            if problem := self._env.store.why_not_created(name):
                raise conditions.INVALID_NAME(table=name.sql, problem=problem)
            resolution = self._env.resolve(name, statement.declared, None)
            begun = begin(self._env, name, resolution, steps.CREATED)
            new, owner = self._env.new_id(), self._env.owner()
            choice = choose_for(begun.resolution, begun.baseline)
            plan = planner.plan_create(name, new, begun.resolution, begun.run, choice, owner)
            return Planned(begun.counted(plan), Action.CREATED, begun.run)
        if statement.form is CreateForm.CREATE_OR_REPLACE:
            return self._replaced(name, statement, found)
        if isinstance(found, Unreadable):
            raise found.error
        if isinstance(found, InconsistentTable):
            raise conditions.CHANGED_OUTSIDE(table=name, problem=found.problem)
        if statement.form is CreateForm.CREATE_OR_ALTER:
            return self._altered(name, statement, found)
        if statement.if_not_exists:
            return Planned(steps.Plan(name, ()), Action.UNCHANGED)
        raise conditions.ALREADY_EXISTS(table=name)

    def _replaced(
        self,
        name: TableName,
        statement: CreateTable,
        found: StoredTable | InconsistentTable | Unreadable,
    ) -> Planned:
        clustered = not isinstance(found, Unreadable) and found.definition.declared.clustered_by
        statement_context = StatementContext()
        if statement.declared.partitioned_by and clustered:
            statement_context = StatementContext(
                errors=(conditions.CANNOT_PARTITION_CLUSTERED(table=name),)
            )
        resolution = self._env.resolve(name, statement.declared, None, statement_context)
        if not isinstance(found, Unreadable):
            _check_replacement(self._env, found, resolution)
        begun = begin(self._env, name, resolution, "REPLACE")
        choice = choose_for(begun.resolution, begun.baseline)
        plan = planner.plan_replace(found, begun.resolution, begun.run, choice, self._env.owner())
        return Planned(begun.counted(plan), Action.REPLACED, begun.run)

    def _altered(self, name: TableName, statement: CreateTable, table: StoredTable) -> Planned:
        resolution = self._env.resolve(name, statement.declared, table.definition)
        planned = plan_change(self._env, table, resolution, declares=True)
        if planned.action is Action.UNCHANGED and not table.unpublished:
            return replace(planned, analyzed_table=AnalyzedTable(table, resolution.analyzed))
        return planned
